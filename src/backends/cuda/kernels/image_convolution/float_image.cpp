// Tile shapes of convolutions of f32 images.
#include "backends/cuda/kernels/image_convolution/float_image.h"

#include <cmath>
#include <cstring>

#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/image_convolution/image_convolution_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostChannels = 4;
constexpr int64_t kMostTaps = 16;
constexpr int64_t kMostParts = 8, kMostExactParts = 4;  // whose sums are in registers
constexpr int64_t kPack = 4;                            // channels that a lane writes at once
constexpr size_t kSharedBytes = 56 << 10;               // of four blocks side by side
constexpr size_t kMostSharedBytes = 96 << 10;           // where one part of the channels needs more

// To the 11 bits that tensor cores take of a TF32 number, ties away from zero.
float roundedToTf32(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace

std::string floatImageTypes(std::span<const DataType> inputs, bool hasBias) {
  if (inputs.size() > (hasBias ? 3u : 2u)) return "the epilogue has tensor operands";
  for (const auto type : inputs) {
    if (type != DataType::kF32) return fmt::format("operands of {}", name(type));
  }
  return {};
}

FloatImageForm::FloatImageForm(const ops::Convolution& op, const Dims& w, bool exact) : isExact(exact) {
  if (w.rank != 4) refusal = fmt::format("{} spatial dimensions; only 2 are supported", w.rank - 2);
  else if (w[1] > kMostChannels) refusal = fmt::format("{} channels; at most {} are supported", w[1], kMostChannels);
  else if (op.groups != 1) refusal = fmt::format("{} groups", op.groups);
  else if (w.count() == 0) refusal = "the weights are empty";
  else if (w[0] % kPack != 0)
    refusal = fmt::format("{} output channels; only multiples of {} are supported", w[0], kPack);
  if (!refusal.empty()) return;
  outputs = w[0];
  channels = w[1];
  rows = w[2];
  columns = w[3];
  for (size_t i = 0; i < 2; ++i) {
    if (!op.strides.empty()) stride[i] = op.strides[i];
    if (!op.dilations.empty() && op.dilations[i] != 1) refusal = "dilations";
  }
  taps = (columns + 3) / 4 * 4;
  if (taps > kMostTaps) refusal = fmt::format("windows of {} columns are not supported", columns);
  // As many channels as there are, or fewer where their weights and the image do not fit.
  constexpr int64_t kLeast = kFloatImageGroup;
  for (parts = isExact ? kMostExactParts : kMostParts;
       parts > kLeast && (outputs <= 4 * parts || sharedBytes() > kSharedBytes);)
    parts /= 2;
  if (refusal.empty() && sharedBytes() > kMostSharedBytes)
    refusal = fmt::format("the windows and tiles need {} bytes of shared memory, more than a block has", sharedBytes());
}

size_t FloatImageForm::sharedBytes() const {
  const int64_t patch =
      channels * ((kImageTileRows - 1) * stride[0] + rows) * ((kImageTileColumns - 1) * stride[1] + taps);
  return static_cast<size_t>(weightBytes() + patch * 4);
}

std::vector<float> FloatImageForm::pack(const TensorView& w) const {
  std::vector<float> result;
  result.reserve(packedBytes() / sizeof(float));
  const auto* from = w.as<float>();
  // Of column `place` of a part: a lane of the result has columns 2 t and 2 t + 1 of each.
  const auto weight = [&](int64_t block, int64_t part, int64_t place, int64_t k) {
    constexpr int64_t kGroup = kFloatImageGroup;
    const int64_t output =
        (block * parts + part / kGroup * kGroup) * 8 + place / 2 * 2 * kGroup + part % kGroup * 2 + place % 2;
    const int64_t line = k / taps;
    const bool exists = output < outputs && line < channels * rows && k % taps < columns;
    return exists ? from[(output * channels * rows + line) * columns + k % taps] : 0.f;
  };
  for (int64_t i = 0; i < groups() * steps() * parts * 32; ++i) {
    const int64_t lane = i % 32, part = i / 32 % parts, step = i / 32 / parts % steps(),
                  block = i / 32 / parts / steps();
    const float low = weight(block, part, lane / 4, step * 8 + lane % 4);
    const float high = weight(block, part, lane / 4, step * 8 + lane % 4 + 4);
    const float seen[2] = {roundedToTf32(low), roundedToTf32(high)};
    result.insert(result.end(), {seen[0], seen[1]});
    if (isExact) result.insert(result.end(), {roundedToTf32(low - seen[0]), roundedToTf32(high - seen[1])});
  }
  return result;
}

Code FloatImageForm::code(const ops::Convolution& op, const Types& types) const {
  auto code = directCode("float_image_convolution.cuh", "convolveFloatImage", "ImageParameters", op.epilogue, types,
                         types.inputs.size());
  const auto define = [&](const char* macro, int64_t value) {
    code.defines.push_back(fmt::format("{}={}", macro, value));
  };
  define("CHANNELS", channels);
  define("ROWS", rows);
  define("TAPS", taps);
  define("STRIDE_H", stride[0]);
  define("STRIDE_W", stride[1]);
  define("PARTS", parts);
  define("EXACT", isExact ? 1 : 0);
  return code;
}

}  // namespace tenon::backends::cuda
