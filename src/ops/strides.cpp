// Broadcast strides and element copies.
#include "ops/strides.h"

#include <cstring>

namespace tenon::ops {

Strides broadcastStrides(const Dims& input, const Dims& output) {
  Strides result{};
  const auto strides = input.strides();
  const int offset = output.rank - input.rank;
  for (int axis = 0; axis < input.rank; ++axis) {
    if (input[axis] != 1) result[static_cast<size_t>(axis + offset)] = strides[static_cast<size_t>(axis)];
  }
  return result;
}

void ElementCopy::operator()(int64_t fromIndex, int64_t toIndex) const noexcept {
  if (bits_ < 8) {
    const auto source = from_.as<const uint8_t>()[fromIndex / 2];
    const int value = fromIndex % 2 == 0 ? source & 0xf : source >> 4;
    auto& target = to_.as<uint8_t>()[toIndex / 2];
    target = static_cast<uint8_t>(toIndex % 2 == 0 ? (target & 0xf0) | value : (target & 0x0f) | (value << 4));
    return;
  }
  const auto bytes = static_cast<size_t>(bits_) / 8;
  std::memcpy(to_.as<char>() + static_cast<size_t>(toIndex) * bytes,
              from_.as<const char>() + static_cast<size_t>(fromIndex) * bytes, bytes);
}

void copyAll(const TensorView& from, const TensorView& to) noexcept {
  if (from.data != to.data && to.bytes() > 0) std::memcpy(to.data, from.data, to.bytes());
}

std::vector<double> toDoubles(const TensorView& tensor) {
  std::vector<double> result(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = tensor.loadDouble(static_cast<int64_t>(i));
  return result;
}

}  // namespace tenon::ops
