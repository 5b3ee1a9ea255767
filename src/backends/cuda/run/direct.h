// Contractions without a library: code with the epilogue inside, and parameters. Mirrors kernels/contraction.cuh.
#pragma once

#include "backends/cuda/run/own_kernel.h"
#include "backends/cuda/run/window.h"
#include "ops/contraction.h"

namespace tenon::backends::cuda {

constexpr int kMaxDirectOperands = 16;  // the result and the epilogue's inputs

// `header` and `body` ("convolution.cuh", "convolve") with finish() made from the epilogue, whose inputs begin at
// operand `firstExtra`. Parameters: the type that `body` takes.
Code directCode(std::string_view header, std::string_view body, std::string_view parameters, const ops::ScalarExpr& epilogue, const Types& types,
                size_t firstExtra);

// Reason why there is no such code, or empty.
std::string directUnsupported(const ops::ScalarExpr& epilogue, std::span<const DataType> inputs, size_t firstExtra);

struct DirectWindow {
  int32_t small, large, kernel, stride, dilation, before;
};
struct WindowParameters {
  void* data[kMaxDirectOperands] = {};
  const void* x = nullptr;
  const void* w = nullptr;
  const void* bias = nullptr;
  int64_t count = 0;
  int32_t channels = 1;
  int32_t channelsInnermost = 0;
  int32_t groupInputs = 1;
  int32_t groupOutputs = 1;
  DirectWindow window[3] = {};
  int64_t xStride[5] = {};
  int64_t wStride[5] = {};
  int64_t stride[kMaxDirectOperands][5] = {};
};

// Convolution and deconvolution: they differ in the side that is the result.
template <typename Op, bool kResultIsSmall>
class DirectWindowInstance final : public runtime::KernelInstance {
 public:
  static Code code(const Op& op, const Types& types) {
    return directCode(kResultIsSmall ? "convolution.cuh" : "deconvolution.cuh", kResultIsSmall ? "convolve" : "deconvolve", "WindowParameters",
                      op.epilogue, types, op.hasBias ? 3 : 2);
  }
  DirectWindowInstance(const Op& op, const Types&, const Module& module) : op_(op), function_(module.function("tenon_direct")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& w = shapes.inputs[1];
    const auto& y = shapes.outputs[0];
    parameters_ = {};
    parameters_.count = y.dims.count();
    if (parameters_.count == 0) return 0;
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows = ops::makeWindows(context, ops::spatialAttributes(op_, static_cast<size_t>(x.dims.rank - 2)), kResultIsSmall ? y.dims : x.dims,
                                          kResultIsSmall ? x.dims : y.dims, {w.dims.begin() + 2, w.dims.end()});
    for (size_t k = 0; k < 3; ++k) {
      const auto& from = windows[k];
      parameters_.window[k] = {int32Of(from.small),  int32Of(from.large),    int32Of(from.kernel),
                               int32Of(from.stride), int32Of(from.dilation), int32Of(from.before)};
    }
    parameters_.channels = int32Of(y.dims[1]);
    parameters_.channelsInnermost = y.format == Format::kChannelsLast ? 1 : 0;
    parameters_.groupInputs = int32Of(x.dims[1] / op_.groups);
    parameters_.groupOutputs = int32Of(std::max<int64_t>(y.dims[1] / op_.groups, 1));
    spreadStrides(x, parameters_.xStride);
    spreadStrides(w, parameters_.wStride);
    spreadStrides(y, parameters_.stride[0]);
    const size_t first = op_.hasBias ? 3 : 2;
    extras_ = shapes.inputs.size() - first;
    for (size_t k = 0; k < extras_; ++k) spreadWithin(shapes.inputs[first + k], y.dims, parameters_.stride[k + 1]);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.w = arguments.inputs[1];
    parameters_.bias = op_.hasBias ? arguments.inputs[2] : nullptr;
    parameters_.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) parameters_.data[k + 1] = arguments.inputs[(op_.hasBias ? 3 : 2) + k];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  // Strides of an operand that broadcasts to the result, as those of [N,C,z,y,x].
  static void spreadWithin(const runtime::TensorShape& operand, const Dims& y, int64_t* result) {
    const auto strides = stridesWithin(operand.dims, operand.format, y);
    result[0] = strides[0];
    result[1] = strides[1];
    for (int k = 0; k < 3; ++k) {
      const int axis = k - (5 - y.rank);
      result[2 + k] = axis < 0 ? 0 : strides[static_cast<size_t>(axis + 2)];
    }
  }

  const Op& op_;
  CUfunction function_;
  size_t extras_ = 0;
  WindowParameters parameters_;
};

}  // namespace tenon::backends::cuda
