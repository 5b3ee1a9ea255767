// Generic contractions without a library: code with a fused epilogue, and parameters.
#pragma once

#include <algorithm>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/window.h"
#include "backends/cuda/kernels/direct/direct_parameters.h"
#include "ops/contraction.h"

namespace tenon::backends::cuda {

// `header` and `body` ("convolution.cuh", "convolve") with finish() made from the epilogue, whose inputs begin at
// operand `firstExtra`. Parameters: the type that `body` takes. With variants, a kernel tenon_direct_<number> each,
// whose number is the first template argument of `body`. `declaration` begins each, up to its name (intrinsics.cuh).
Code directCode(std::string_view header, std::string_view body, std::string_view parameters,
                const ops::ScalarExpr& epilogue, const Types& types, size_t firstExtra,
                std::span<const int> variants = {}, std::string_view declaration = "KERNEL(");

// Reason why there is no such code, or empty.
std::string directUnsupported(const ops::ScalarExpr& epilogue, std::span<const DataType> inputs, size_t firstExtra);

// The parameters of convolutions, and how they follow from shapes.
struct WindowLaunch : WindowParameters {
  int32_t extras = 0;  // inputs of the epilogue

  // All but the addresses. `small` and `large` are the two sides of the windows.
  template <typename Op>
  void set(const Op& op, const runtime::Shapes& shapes, const runtime::TensorShape& small,
           const runtime::TensorShape& large) {
    const auto& x = shapes.inputs[0];
    const auto& w = shapes.inputs[1];
    const auto& y = shapes.outputs[0];
    *this = {};
    count = y.dims.count();
    if (count == 0) return;
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows = ops::makeWindows(context, ops::spatialAttributes(op, static_cast<size_t>(x.dims.rank - 2)),
                                          small.dims, large.dims, {w.dims.begin() + 2, w.dims.end()});
    for (size_t k = 0; k < 3; ++k) {
      const auto& from = windows[k];
      window[k] = {int32Of(from.small),  int32Of(from.large),    int32Of(from.kernel),
                   int32Of(from.stride), int32Of(from.dilation), int32Of(from.before)};
    }
    channels = int32Of(y.dims[1]);
    channelsInnermost = y.layout == Layout::kChannelsLast ? 1 : 0;
    groupInputs = int32Of(x.dims[1] / op.groups);
    groupOutputs = int32Of(std::max<int64_t>(y.dims[1] / op.groups, 1));
    spreadStrides(x, xStride);
    spreadStrides(w, wStride);
    spreadStrides(y, stride[0]);
    extras = static_cast<int>(shapes.inputs.size()) - (op.hasBias ? 3 : 2);
    for (int k = 0; k < extras; ++k) {
      const auto& operand = shapes.inputs[static_cast<size_t>(k + (op.hasBias ? 3 : 2))];
      spreadStrides(stridesWithin(operand.dims, operand.layout, y.dims), y.dims.rank, stride[k + 1]);
    }
  }
  void bind(bool hasBias, const runtime::LaunchArguments& arguments) {
    x = arguments.inputs[0];
    w = arguments.inputs[1];
    bias = hasBias ? arguments.inputs[2] : nullptr;
    data[0] = arguments.outputs[0];
    for (int k = 0; k < extras; ++k) data[k + 1] = arguments.inputs[(hasBias ? 3 : 2) + k];
  }
};

// Convolution and deconvolution: they differ in the side that is the result.
template <typename Op, bool kResultIsSmall>
class DirectWindowInstance final : public runtime::KernelInstance {
 public:
  static Code code(const Op& op, const Types& types) {
    return directCode(kResultIsSmall ? "convolution.cuh" : "deconvolution.cuh",
                      kResultIsSmall ? "convolve" : "deconvolve", "WindowParameters", op.epilogue, types,
                      op.hasBias ? 3 : 2);
  }
  DirectWindowInstance(const Op& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_direct")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    parameters_.set(op_, shapes, kResultIsSmall ? y : x, kResultIsSmall ? x : y);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.bind(op_.hasBias, arguments);
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream, blockSize(parameters_.count));
  }

 private:
  const Op& op_;
  CUfunction function_;
  WindowLaunch parameters_;
};

}  // namespace tenon::backends::cuda
