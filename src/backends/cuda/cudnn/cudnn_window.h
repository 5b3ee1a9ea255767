// Convolutions and deconvolutions as operation graphs of cuDNN; what the tactics ask and the kernels run.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "backends/cuda/cudnn/cudnn_program.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cuda::dnn {

// The fields that ops::Convolution and ops::Deconvolution share.
struct WindowOp {
  bool transposed = false;
  std::vector<int64_t> strides, dilations;
  Shape prePadding, postPadding;
  int64_t groups = 1;
  bool hasBias = false;
  ops::ScalarExpr epilogue;

  size_t firstExtra() const { return hasBias ? 3 : 2; }
  // The epilogue with the bias in it: x0 = the bare result, x1 = the bias when there is one, then the extra inputs.
  ops::ScalarExpr wholeEpilogue() const;
};

template <typename Op>
WindowOp windowOp(const Op& op) {
  return {std::is_same_v<Op, ops::Deconvolution>,
          op.strides,
          op.dilations,
          op.prePadding,
          op.postPadding,
          op.groups,
          op.hasBias,
          op.epilogue};
}
WindowOp windowOp(const ops::Operator& op);  // of either kind; throws Unsupported for others

// Why there is no graph for these operands, or empty.
std::string windowRefusal(const WindowOp& op, const runtime::Shapes& shapes);
// Throws Unsupported where windowRefusal() says no, or cuDNN does. Weights are laid out as the result is.
SourcedGraph windowGraph(const Chip& chip, const WindowOp& op, const runtime::Shapes& shapes, Fusion fusion);

// Whether weights of these extents stand differently in a channels-last kernel.
bool needsPacking(const Dims& weights);

// Whether a product of these operands has one element per channel everywhere: rows and channels-last are then the same.
bool isFlat(const Dims& x, const Dims& w, const Dims& y);

Program windowProgram(const ops::Operator& op);

}  // namespace tenon::backends::cuda::dnn
