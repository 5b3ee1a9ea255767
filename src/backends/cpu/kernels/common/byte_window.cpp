// Packing of quantized weights, and padded copies of quantized images.
#include "backends/cpu/kernels/common/byte_window.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kSlack = 64;  // bytes behind a copy that whole quads may read

int64_t valueOf(const std::vector<int64_t>& list, size_t axes, size_t axis, int64_t otherwise) {
  return list.empty() || axis + axes < 3 ? otherwise : list[axis + axes - 3];
}

int64_t dilationOf(const ops::ByteConvolution& op, size_t axes, size_t axis) {
  return valueOf(op.dilations, axes, axis, 1);
}

}  // namespace

ByteWeights::ByteWeights(const ops::ByteConvolution& op, const Dims& w, bool isSigned)
    : outputs(w[0]), channels(w[1]), groups(op.groups), isSigned(isSigned) {
  const auto axes = static_cast<size_t>(w.rank - 2);
  if (axes < 1 || axes > 3 || groups < 1 || outputs % groups != 0)
    throw Unsupported("cpu.byte_convolution: weights {} in {} groups", w.text(), groups);
  for (size_t i = 0; i < axes; ++i) kernel[i + 3 - axes] = w[static_cast<int>(i) + 2];
  isDepthwise = channels == 1 && outputs == groups;
  isJoined = !isDepthwise && groups == 1 && kernel[2] > 1 && dilationOf(op, axes, 2) == 1;
  tapCount = kernel[0] * kernel[1] * (isJoined ? 1 : kernel[2]);
  depth = channels * (isJoined ? kernel[2] : 1);
  if (isDepthwise && outputs > 0) repeats = std::max<int64_t>(1, byteChannels().channels / outputs);
}

int64_t ByteWeights::channelAt(int64_t chunk, int64_t place) const {
  const int64_t width = byteChannels().channels;
  const int64_t k = chunk * width + byteChannelAt(place, width);
  return k < repeats * outputs ? k % outputs : -1;
}

int64_t ByteWeights::sumsAt() const {
  const int64_t width = byteChannels().channels;
  return isDepthwise ? (outputs + width - 1) / width * chunkBytes() : groups * groupPanels() * panelBytes();
}

std::string ByteWeights::recipe() const {
  return fmt::format("byte windows, {} by {} by {}x{}x{} in {} groups of {} taps{}{}", outputs, channels, kernel[0],
                     kernel[1], kernel[2], groups, tapCount, isSigned ? "" : ", unsigned",
                     isDepthwise ? fmt::format(", {} at a time", byteChannels().channels) : "");
}

int64_t ByteWeights::weight(const void* from, int64_t output, int64_t tap, int64_t at) const {
  const int64_t window = kernel[0] * kernel[1] * kernel[2];
  const int64_t place = isJoined ? tap * kernel[2] + at / channels : tap;
  const int64_t index = (output * channels + at % std::max<int64_t>(channels, 1)) * window + place;
  return isSigned ? static_cast<const int8_t*>(from)[index] : static_cast<const uint8_t*>(from)[index] - 128;
}

void ByteWeights::packPanels(const void* from, int8_t* to) const {
  auto* const sums = reinterpret_cast<int32_t*>(to + sumsAt());
  const int64_t perGroup = groupPanels();
  runJobs(groups * perGroup, outputs * tapCount * depth, [&](int64_t panel) {
    int8_t* out = to + panel * panelBytes();
    const int64_t first = panel % perGroup * kBytePanel;
    const int64_t width = std::min(kBytePanel, columns() - first);
    const int64_t output = panel / perGroup * columns() + first;
    int32_t own[kBytePanel] = {};
    for (int64_t tap = 0; tap < tapCount; ++tap) {
      for (int64_t quad = 0; quad < depth; quad += kByteQuad) {
        for (int64_t i = 0; i < kBytePanel * kByteQuad; ++i) {
          const int64_t c = i / kByteQuad;
          const int64_t at = quad + i % kByteQuad;
          const auto value = static_cast<int8_t>(c < width && at < depth ? weight(from, output + c, tap, at) : 0);
          own[c] += value;
          *out++ = value;
        }
      }
    }
    std::memset(out, 0, kBytePanel * sizeof(int32_t));  // nothing is taken away
    std::copy_n(own, width, sums + output);
  });
}

void ByteWeights::packChannels(const void* from, int8_t* to) const {
  auto* const sums = reinterpret_cast<int32_t*>(to + sumsAt());
  const int64_t width = byteChannels().channels;
  for (int64_t i = 0; i < sumsAt(); ++i) {
    const int64_t chunk = i / chunkBytes();
    const int64_t k = channelAt(chunk, i / kByteQuad % width);
    const int64_t tap = i % chunkBytes() / (width * kByteQuad) * kByteQuad + i % kByteQuad;
    to[i] = static_cast<int8_t>(k >= 0 && tap < tapCount ? weight(from, k, tap, 0) : 0);
  }
  for (int64_t k = 0; k < outputs; ++k) {
    int64_t sum = 0;
    for (int64_t tap = 0; tap < tapCount; ++tap) sum += weight(from, k, tap, 0);
    sums[k] = static_cast<int32_t>(sum);
  }
}

void ByteWeights::pack(const void* from, void* to) const {
  isDepthwise ? packChannels(from, static_cast<int8_t*>(to)) : packPanels(from, static_cast<int8_t*>(to));
}

void turnBytes(const void* from, int64_t fromStep, void* to, int64_t toStep, int64_t inner, int64_t second) {
  constexpr int64_t kTile = 16;
  static const auto kTranspose = transposeFunctions(1).transpose;
  const auto part = [&](int64_t i, int64_t j, int64_t rows, int64_t columns) {
    kTranspose(static_cast<const char*>(from) + i * fromStep + j, static_cast<size_t>(fromStep),
               static_cast<char*>(to) + j * toStep + i, static_cast<size_t>(toStep), static_cast<size_t>(rows),
               static_cast<size_t>(columns));
  };
  if (inner < kTile || second < kTile) return part(0, 0, inner, second);
  const int64_t rows = inner / kTile * kTile;
  const int64_t columns = second / kTile * kTile;
  part(0, 0, rows, columns);
  if (rows < inner) part(inner - kTile, 0, kTile, columns);
  if (columns == second) return;
  part(0, second - kTile, rows, kTile);
  if (rows < inner) part(inner - kTile, second - kTile, kTile, kTile);
}

// Pixels that are read and written as they follow each other come in rows of whole vectors.
void ByteImage::joinRows() {
  constexpr int64_t kVector = 16;
  constexpr int64_t kLongest = 512;
  if (isLast || extent != out || stride != std::array<int64_t, 3>{1, 1, 1} || padded != extent) return;
  if (before != std::array<int64_t, 3>{0, 0, 0}) return;
  const int64_t plane = outPlane();
  for (int64_t width = kLongest; width >= kVector; width -= kVector) {
    if (plane % width != 0) continue;
    extent = out = padded = {1, plane / width, width};
    return;
  }
}

ByteImage::ByteImage(const ops::ByteConvolution& op, const ByteWeights& weights, const runtime::Shapes& shapes)
    : groups(op.groups) {
  const auto& x = shapes.inputs[0];
  const Dims& y = shapes.outputs[0].dims;
  const auto axes = static_cast<size_t>(x.dims.rank - 2);
  batch = x.dims[0];
  channels = x.dims[1] / groups;
  isSigned = x.dtype == DataType::kI8;
  int64_t plane = 1;
  bool isWhole = true;  // no window reaches beyond the image
  std::array<int64_t, 3> dilation{1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    stride[i] = valueOf(op.strides, axes, i, 1);
    dilation[i] = dilationOf(op, axes, i);
    if (i + axes < 3) continue;
    const size_t own = i + axes - 3;
    extent[i] = x.dims[static_cast<int>(own) + 2];
    out[i] = y[static_cast<int>(own) + 2];
    if (!op.prePadding.empty())
      before[i] = op.prePadding[own].isConstant() ? op.prePadding[own].constant()
                                                  : op.prePadding[own].evaluate(*shapes.symbols);
    padded[i] = std::max<int64_t>(0, (out[i] - 1) * stride[i] + (weights.kernel[i] - 1) * dilation[i] + 1);
    plane *= extent[i];
    isWhole = isWhole && before[i] == 0 && padded[i] <= extent[i];
  }
  isLast = x.layout == Layout::kChannelsLast || plane == 1;
  isDirect = isLast && isWhole && !isSigned && (weights.isDepthwise || channels % kByteQuad == 0);
  groupStep = isDirect || weights.isJoined || weights.isDepthwise ? channels : byteQuads(channels) * kByteQuad;
  pixelStep = groupStep * groups;
  if (isDirect) padded = extent;
  if (weights.kernel == std::array<int64_t, 3>{1, 1, 1}) joinRows();
  isLine_ = padded == out && stride == std::array<int64_t, 3>{1, 1, 1};
  for (int64_t g = 0; g < (weights.isDepthwise ? 1 : groups); ++g) {
    for (int64_t tap = 0; tap < weights.tapCount; ++tap) {
      const int64_t across = weights.isJoined ? 1 : weights.kernel[2];
      const int64_t row = tap / across;
      const int64_t line = row / weights.kernel[1] * dilation[0] * padded[1] + row % weights.kernel[1] * dilation[1];
      taps.push_back((line * padded[2] + tap % across * dilation[2]) * pixelStep + g * groupStep);
    }
  }
}

int64_t ByteImage::copyBytes() const {
  return isDirect ? 0 : batch * padded[0] * padded[1] * padded[2] * pixelStep + kSlack;
}

void ByteImage::windows(const uint8_t* image, int64_t first, int64_t count, const uint8_t** to) const {
  if (isLine_) {
    for (int64_t i = 0; i < count; ++i) *to++ = image + (first + i) * pixelStep;
    return;
  }
  int64_t x = first % out[2];
  int64_t row = first / out[2];
  while (count > 0) {
    const int64_t z = row / out[1] % out[0] * stride[0];
    const int64_t line = (row / out[1] / out[0] * padded[0] + z) * padded[1] + row % out[1] * stride[1];
    const uint8_t* from = image + (line * padded[2] + x * stride[2]) * pixelStep;
    const int64_t run = std::min(count, out[2] - x);
    for (int64_t i = 0; i < run; ++i, from += stride[2] * pixelStep) *to++ = from;
    count -= run;
    x = 0;
    ++row;
  }
}

void ByteImage::copyRow(const uint8_t* from, uint8_t zero, uint8_t* to, int64_t image, int64_t z, int64_t y) const {
  const int64_t fromZ = z - before[0];
  const int64_t fromY = y - before[1];
  const int64_t left = std::clamp<int64_t>(before[2], 0, padded[2]);
  const int64_t skipped = std::max<int64_t>(-before[2], 0);
  const int64_t inside = std::clamp<int64_t>(std::min(padded[2] - left, extent[2] - skipped), 0, padded[2]);
  if (fromZ < 0 || fromZ >= extent[0] || fromY < 0 || fromY >= extent[1] || inside == 0) {
    std::memset(to, zero, static_cast<size_t>(padded[2] * pixelStep));
    return;
  }
  std::memset(to, zero, static_cast<size_t>(left * pixelStep));
  const int64_t right = left + inside;
  std::memset(to + right * pixelStep, zero, static_cast<size_t>((padded[2] - right) * pixelStep));
  uint8_t* const first = to + left * pixelStep;
  const int64_t all = channels * groups;
  const int64_t plane = extent[0] * extent[1] * extent[2];
  const int64_t pixel = (fromZ * extent[1] + fromY) * extent[2] + skipped;
  if (!isLast) {
    const bool isDense = groupStep == channels;
    for (int64_t g = 0; g < (isDense ? 1 : groups); ++g) {
      turnBytes(from + (image * all + g * channels) * plane + pixel, plane, first + g * groupStep, pixelStep,
                isDense ? all : channels, inside);
    }
  } else if (groupStep == channels) {
    const uint8_t* const source = from + (image * plane + pixel) * all;
    if (isSigned) return changeByteSigns(source, inside * all, first);
    std::memcpy(first, source, static_cast<size_t>(inside * all));
  } else {
    const uint8_t* const source = from + (image * plane + pixel) * all;
    for (int64_t i = 0; i < inside * groups; ++i)
      std::memcpy(first + i * groupStep, source + i * channels, static_cast<size_t>(channels));
  }
  if (isSigned) changeByteSigns(first, inside * pixelStep, first);
}

void ByteImage::copy(const void* from, uint8_t zero, uint8_t* to) const {
  const int64_t rowBytes = padded[2] * pixelStep;
  const int64_t rows = batch * padded[0] * padded[1];
  const int64_t together = std::max<int64_t>(1, 4096 / std::max<int64_t>(rowBytes, 1));
  runJobs((rows + together - 1) / together, rows * rowBytes, [&](int64_t job) {
    for (int64_t row = job * together; row < std::min(rows, (job + 1) * together); ++row)
      copyRow(static_cast<const uint8_t*>(from), zero, to + row * rowBytes, row / padded[1] / padded[0],
              row / padded[1] % padded[0], row % padded[1]);
  });
}

}  // namespace tenon::backends::cpu
