// A transposition, element by element.
#include "backends/cuda/kernels/common/channels_last_weights.h"

#include <cstring>

#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

template <size_t Bytes>
void transpose(const std::byte* from, std::byte* to, int64_t outer, int64_t channels, int64_t plane) {
  for (int64_t k = 0; k < outer; ++k) {
    for (int64_t p = 0; p < plane; ++p) {
      for (int64_t c = 0; c < channels; ++c) {
        std::memcpy(to, from + static_cast<size_t>((k * channels + c) * plane + p) * Bytes, Bytes);
        to += Bytes;
      }
    }
  }
}

}  // namespace

void packChannelsLast(const TensorView& weights, void* to) {
  const auto& dims = weights.dims;
  const int64_t plane = dims.count(2, dims.rank);
  const auto* const from = static_cast<const std::byte*>(weights.data);
  auto* const result = static_cast<std::byte*>(to);
  switch (bits(weights.dtype)) {
    case 32: return transpose<4>(from, result, dims[0], dims[1], plane);
    case 16: return transpose<2>(from, result, dims[0], dims[1], plane);
    case 8: return transpose<1>(from, result, dims[0], dims[1], plane);
    default: throw Unsupported("weights of {} with their channels innermost", name(weights.dtype));
  }
}

std::string channelsLastRecipe(DataType dtype, const Dims& dims) {
  return fmt::format("channels_last {} {}", bits(dtype), dims.text());
}

}  // namespace tenon::backends::cuda
