// The order by tap: neighbouring channels lie side by side, as in channels-last tensors.
#include "backends/cuda/kernels/depthwise/depthwise_weights.h"

#include <algorithm>
#include <cstring>

namespace tenon::backends::cuda {

bool allFinite(const TensorView& w) {
  const auto none = [&](auto ones) {
    const auto values = std::span(w.as<decltype(ones)>(), static_cast<size_t>(w.dims.count()));
    return std::none_of(values.begin(), values.end(), [&](auto bits) { return (bits & ones) == ones; });
  };
  if (w.dtype == DataType::kF32) return none(uint32_t{0x7f800000});
  return w.dtype == DataType::kF16 ? none(uint16_t{0x7c00}) : none(uint16_t{0x7f80});
}

WeightsByTap::WeightsByTap(const runtime::KernelLoad& load, std::string_view kernel) {
  if (load.constants.size() < 2 || load.constants[1].data == nullptr)
    throw Unsupported("cuda.{}: the weights are no constant", kernel);
  const auto& w = load.constants[1];
  checkUser(w.dims.rank >= 2 && bits(w.dtype) % 8 == 0, "cuda.{}: weights of {} {}", kernel, name(w.dtype),
            w.dims.text());
  weights_ = {nullptr, w.dtype, w.dims};
  isFinite_ = allFinite(w);
}

std::vector<runtime::PackedForm> WeightsByTap::packedForms(Layout) const {
  return {{{1}, fmt::format("by_tap {} {}", bits(weights_.dtype), weights_.dims.text()), weights_.bytes(), false}};
}

void WeightsByTap::pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const {
  const int64_t channels = weights_.dims[0];
  const int64_t taps = weights_.dims.count(1, weights_.dims.rank);
  const auto size = static_cast<size_t>(bits(weights_.dtype) / 8);
  const auto* const from = static_cast<const std::byte*>(sources[0]);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      std::memcpy(static_cast<std::byte*>(to) + static_cast<size_t>(t * channels + c) * size,
                  from + static_cast<size_t>(c * taps + t) * size, size);
    }
  }
}

}  // namespace tenon::backends::cuda
