// Convolutions and deconvolutions as operation graphs of cuDNN; what the tactics ask and the kernels run.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "backends/cuda/run/cudnn_epilogue.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "runtime/kernel.h"

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
  return {std::is_same_v<Op, ops::Deconvolution>, op.strides, op.dilations, op.prePadding, op.postPadding, op.groups, op.hasBias, op.epilogue};
}
WindowOp windowOp(const ops::Operator& op);  // of either kind; throws Unsupported for others

// How a kernel computes: with the epilogue inside, or the bare product and a generated epilogue over it in place.
enum class Fusion : uint8_t { kWhole, kBare };

// What a plan is made from, as records and candidates' variants write it: "whole,any,17:2=1".
struct WindowChoice {
  Fusion fusion = Fusion::kWhole;
  Math math = Math::kAny;
  EngineChoice engine;
  std::string text() const;
  static WindowChoice parse(std::string_view text);
};

// A graph with what its tensors stand for.
struct WindowGraph {
  explicit WindowGraph(const Chip& chip) : graph(chip) {}
  OperationGraph graph;
  std::vector<int64_t> ids;   // of all tensors to give, in order of `sources`, then of the scalars
  std::vector<int> sources;   // input of the step, or -1: the output
  Scalars scalars;
};

// Why there is no graph for these operands, or empty.
std::string windowRefusal(const WindowOp& op, const runtime::Shapes& shapes);
// Throws Unsupported where windowRefusal() says no, or cuDNN does. Weights are laid out as the result is.
WindowGraph windowGraph(const Chip& chip, const WindowOp& op, const runtime::Shapes& shapes, Fusion fusion);

// Whether weights of these extents stand differently in a channels-last kernel.
bool needsPacking(const Dims& weights);

}  // namespace tenon::backends::cuda::dnn
