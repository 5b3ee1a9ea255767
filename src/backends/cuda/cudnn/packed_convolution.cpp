// Result o of a window begins at place o * stride - padding. With blocks of `stride` places and zeros up to a whole
// block in front, that is block o, in which the weights begin `shift` places late.
#include "backends/cuda/cudnn/packed_convolution.h"

#include "core/strided.h"
#include "ops/strides.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostChannels = 4;
constexpr int64_t kMostValues = 64;  // of a block

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

PackedConvolution::PackedConvolution(const ops::Convolution& from, const runtime::Shapes& shapes)
    : op(from), x(shapes.inputs[0].dims), w(shapes.inputs[1].dims) {
  const Dims& y = shapes.outputs[0].dims;
  if (x.rank != 4) refusal = fmt::format("{} spatial dimensions; only 2 are supported", x.rank - 2);
  else if (x[1] > kMostChannels) refusal = fmt::format("{} channels; at most {} are supported", x[1], kMostChannels);
  else if (from.groups != 1) refusal = fmt::format("{} groups", from.groups);
  else if (x.count() == 0 || y.count() == 0) refusal = "an operand is empty";
  if (!refusal.empty()) return;
  int64_t values = x[1];
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!from.dilations.empty() && from.dilations[at] != 1) refusal = "dilations";
    else if (!from.prePadding.empty() && !from.prePadding[at].isConstant())
      refusal = "the padding depends on a dynamic extent";
    if (!refusal.empty()) return;
    const int64_t padding = from.prePadding.empty() ? 0 : from.prePadding[at].constant();
    block[at] = from.strides.empty() ? 1 : from.strides[at];
    if (padding < 0) refusal = "the padding is negative";
    else if (block[at] < 1 || block[at] > kMostValues) refusal = fmt::format("a stride of {}", block[at]);
    if (!refusal.empty()) return;
    zeros[at] = roundUp(padding, block[at]);
    shift[at] = zeros[at] - padding;
    values *= block[at];
    w[i + 2] = (w[i + 2] + shift[at] + block[at] - 1) / block[at];
    x[i + 2] = y[i + 2] + w[i + 2] - 1;
  }
  if (values > kMostValues)
    refusal = fmt::format("space-to-depth blocks of {} values; at most {} are supported", values, kMostValues);
  else if (w.count(2, 4) == 1) refusal = "the window is one space-to-depth block";
  x[1] = w[1] = roundUp(values, kChannelPack);
  op.strides.clear();
  op.dilations.clear();
  op.prePadding.clear();
  op.postPadding.clear();
}

HostTensor PackedConvolution::weights(const TensorView& from) const {
  HostTensor result(from.dtype, w);
  std::memset(result.view().data, 0, result.view().bytes());
  const ops::ElementCopy copy(from, result.view());
  const auto strides = w.strides();
  int64_t index = 0;
  for (IndexIterator i(from.dims); i.valid(); i.next(), ++index) {
    const int64_t row = i.index[2] + shift[0];
    const int64_t column = i.index[3] + shift[1];
    const int64_t channel = (i.index[1] * block[0] + row % block[0]) * block[1] + column % block[1];
    copy(index, i.index[0] * strides[0] + channel * strides[1] + row / block[0] * strides[2] + column / block[1]);
  }
  return result;
}

Code packImageCode(int64_t channels, int64_t blockHeight, int64_t blockWidth) {
  return {"pack_image.cu",
          {fmt::format("CHANNELS={}", channels), fmt::format("BLOCK_H={}", blockHeight),
           fmt::format("BLOCK_W={}", blockWidth)},
          {}};
}

void ImagePacker::configure(const PackedConvolution& packed, const runtime::TensorShape& x) {
  const auto strides = stridesOf(x.dims, x.layout);
  parameters_ = {};
  parameters_.image = strides[0];
  parameters_.channel = strides[1];
  parameters_.row = strides[2];
  parameters_.column = strides[3];
  parameters_.height = static_cast<int32_t>(x.dims[2]);
  parameters_.width = static_cast<int32_t>(x.dims[3]);
  parameters_.top = static_cast<int32_t>(packed.zeros[0]);
  parameters_.left = static_cast<int32_t>(packed.zeros[1]);
  parameters_.rows = static_cast<int32_t>(packed.x[2]);
  parameters_.columns = static_cast<int32_t>(packed.x[3]);
  parameters_.count = packed.x.count() / kChannelPack;
}

void ImagePacker::launch(const void* x, void* to, void* stream) {
  parameters_.x = x;
  parameters_.to = to;
  launchThreads(function_, parameters_.count, &parameters_, stream);
}

}  // namespace tenon::backends::cuda
