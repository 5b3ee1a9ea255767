// Convolutions whose window is the whole input, with few images: squeeze-and-excitation blocks, last layers.
#include "backends/cuda/kernels/skinny/skinny.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyConvolutionInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Convolution& op, const Types& types) {
    return skinnyCode(op.epilogue, types, op.hasBias ? 3 : 2);
  }
  SkinnyConvolutionInstance(const ops::Convolution& op, const Types&, const Module& module)
      : first_(op.hasBias ? 3 : 2), launcher_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto& w = shapes.inputs[1].dims;
    const auto& y = shapes.outputs[0].dims;
    checkUser(y.count(2, y.rank) == 1 && x.count(2, x.rank) == w.count(2, w.rank),
              "convolution as GEMV: the window {1} does not cover the input {0}", x.text(), w.text());
    auto& p = launcher_.parameters;
    p = {};
    p.rows = y[0];
    p.columns = y[1];
    p.inner = w.count(1, w.rank);
    p.stride[0][0] = p.columns;
    p.stride[0][1] = 1;
    extras_ = shapes.inputs.size() - first_;
    for (size_t k = 0; k < extras_; ++k) {
      const auto& extra = shapes.inputs[first_ + k];
      const auto strides = stridesWithin(extra.dims, extra.layout, y);
      p.stride[k + 1][0] = strides[0];
      p.stride[k + 1][1] = strides[1];
    }
    launcher_.configure(bits(shapes.inputs[0].dtype) / 8);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = launcher_.parameters;
    p.x = arguments.inputs[0];
    p.w = arguments.inputs[1];
    p.bias = first_ == 3 ? arguments.inputs[2] : nullptr;
    p.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) p.data[k + 1] = arguments.inputs[first_ + k];
    launcher_.launch(arguments.stream);
  }

 private:
  size_t first_;
  SkinnyLauncher launcher_;
  size_t extras_ = 0;
};

}  // namespace

KernelRow kernelRow_skinny_convolution() {
  return ownRow<ops::Convolution, SkinnyConvolutionInstance>("skinny_convolution");
}

}  // namespace tenon::backends::cuda
