// Matrix products with few rows and a transposed second operand: fully connected layers of small batches.
#include "backends/cuda/run/skinny.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyMatMulInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::MatMul& op, const Types& types) { return skinnyCode(op.epilogue, types, 2); }
  SkinnyMatMulInstance(const ops::MatMul&, const Types&, const Module& module) : launcher_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& b = shapes.inputs[1].dims;
    const Dims& y = shapes.outputs[0].dims;
    auto& p = launcher_.parameters;
    p = {};
    p.columns = y[y.rank - 1];
    p.rows = y.count(0, y.rank - 1);
    p.inner = b[b.rank - 1];
    p.stride[0][0] = p.columns;
    p.stride[0][1] = 1;
    extras_ = shapes.inputs.size() - 2;
    for (size_t k = 0; k < extras_; ++k) {
      const Dims& extra = shapes.inputs[k + 2].dims;
      p.stride[k + 1][0] = extra.count() == y.count() ? p.columns : 0;
      p.stride[k + 1][1] = extra.rank > 0 && extra[extra.rank - 1] == p.columns && p.columns != 1 ? 1 : 0;
      checkUser(extra.count() == y.count() || extra.count() == 1 || (p.stride[k + 1][1] == 1 && extra.count() == p.columns),
                "matmul by the kernel for few rows: an input of the epilogue has shape {}, the result {}", extra.text(), y.text());
    }
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
  SkinnyLauncher launcher_;
  size_t extras_ = 0;
};

}  // namespace

KernelRow kernelRow_skinny_matmul() { return ownRow<ops::MatMul, SkinnyMatMulInstance>("skinny_matmul"); }

}  // namespace tenon::backends::cuda
