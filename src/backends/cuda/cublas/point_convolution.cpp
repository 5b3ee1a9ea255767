// Extents of the matrices, and what is no matrix.
#include "backends/cuda/cublas/point_convolution.h"

#include <algorithm>

#include "backends/cuda/cudnn/cudnn_window.h"

namespace tenon::backends::cuda {
namespace {

bool isPoint(const ops::Convolution& op, const Dims& w) {
  const auto one = [](int64_t v) { return v == 1; };
  const auto zero = [](const Extent& e) { return e.isConstant(0); };
  return op.groups == 1 && w.count(2, w.rank) == 1 && std::all_of(op.strides.begin(), op.strides.end(), one) &&
         std::all_of(op.prePadding.begin(), op.prePadding.end(), zero) &&
         std::all_of(op.postPadding.begin(), op.postPadding.end(), zero);
}

}  // namespace

ops::MatMul productOf(const ops::Convolution& op) { return {false, true, dnn::windowOp(op).wholeEpilogue()}; }

bool PointConvolution::isMatrix(const ops::Convolution& op, const runtime::Shapes& shapes) {
  return isPoint(op, shapes.inputs[1].dims);
}

Dims PointConvolution::asMatrix(const runtime::TensorShape& extra, const Dims& y) {
  const auto& dims = extra.dims;
  const int64_t places = y[0] * y.count(2, y.rank);
  if (dims.count() == 1) return {1};
  const int channelAxis = dims.rank - y.rank + 1;
  if (channelAxis < 0 || dims.count() == 0) return {};
  if (dims[channelAxis] == y[1] && dims.count() == y[1]) return {y[1]};
  const bool inPlace = extra.layout == Layout::kChannelsLast || places == y[0];
  return dims == y && inPlace ? Dims{places, y[1]} : Dims{};
}

PointConvolution::PointConvolution(const ops::Convolution& op, const runtime::Shapes& shapes, Windows windows)
    : product(productOf(op)) {
  const auto& x = shapes.inputs[0];
  const auto& w = shapes.inputs[1];
  const auto& y = shapes.outputs[0];
  if (x.dims.rank < 3 || (windows == Windows::kPoints && !isPoint(op, w.dims))) {
    refusal = fmt::format("a window of {}; only pointwise (1x1) convolutions are supported", w.dims.text());
    return;
  }
  const int64_t places = y.dims[0] * y.dims.count(2, y.dims.rank);
  if (places != y.dims[0] && (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast)) {
    refusal = "the tensors are not channels-last";
    return;
  }
  inputs.push_back({x.dtype, {places, x.dims[1]}, Layout::kLinear});
  inputs.push_back({w.dtype, {w.dims[0], w.dims.count(1, w.dims.rank)}, Layout::kLinear});
  for (size_t i = 2; i < shapes.inputs.size(); ++i) {
    const auto& extra = shapes.inputs[i];
    const bool isBias = op.hasBias && i == 2;
    const Dims dims = isBias ? extra.dims : asMatrix(extra, y.dims);
    if (dims.rank == 0) refusal = fmt::format("an epilogue operand of {}", extra.dims.text());
    inputs.push_back({extra.dtype, dims, Layout::kLinear});
  }
  outputs.push_back({y.dtype, {places, y.dims[1]}, Layout::kLinear});
}

}  // namespace tenon::backends::cuda
