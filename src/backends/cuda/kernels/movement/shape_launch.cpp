// The extents of a tensor as a tensor.
#include "ops/op/shape.h"

#include <algorithm>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/movement_parameters.h"

namespace tenon::backends::cuda {
namespace {

class ShapeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ShapeOf&, const Types&) { return {"shape.cu", {}, {}}; }
  ShapeInstance(const ops::ShapeOf&, const Types&, const Module& module) : function_(module.function("tenon_shape")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& x = shapes.inputs[0].dims;
    parameters_.rank = x.rank;
    std::copy(x.begin(), x.end(), parameters_.extent);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.y = static_cast<int64_t*>(arguments.outputs[0]);
    launchThreads(function_, parameters_.rank, &parameters_, arguments.stream, 32);
  }

 private:
  CUfunction function_;
  ShapeParameters parameters_;
};

}  // namespace

KernelRow kernelRow_shape() { return ownRow<ops::ShapeOf, ShapeInstance>("shape"); }

}  // namespace tenon::backends::cuda
