// GEMV-like matmuls (few rows) with a transposed second operand: fully connected layers of small batches.
#include "backends/cuda/cublas/flat_product.h"
#include "backends/cuda/kernels/skinny/skinny.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyMatMulInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::MatMul& op, const Types& types) { return skinnyCode(op.epilogue, types, 2); }
  SkinnyMatMulInstance(const ops::MatMul& op, const Types&, const Module& module) : op_(op), launcher_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    launcher_.parameters = {};
    extras_ = setFlatProduct(launcher_.parameters, op_, shapes);
    launcher_.configure(bits(shapes.inputs[0].dtype) / 8);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = launcher_.parameters;
    p.x = arguments.inputs[0];
    p.w = arguments.inputs[1];
    p.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) p.data[k + 1] = arguments.inputs[k + 2];
    launcher_.launch(arguments.stream);
  }

 private:
  const ops::MatMul& op_;
  SkinnyLauncher launcher_;
  size_t extras_ = 0;
};

}  // namespace

KernelRow kernelRow_skinny_matmul() { return ownRow<ops::MatMul, SkinnyMatMulInstance>("skinny_matmul"); }

}  // namespace tenon::backends::cuda
