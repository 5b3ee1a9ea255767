// When the matmul of 8-bit integers can be used.
#include "ops/op/byte_matmul.h"
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class ByteMatMulTactic final : public SimpleTactic {
 public:
  ByteMatMulTactic() : SimpleTactic("cpu.byte_matmul", false, 15) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::ByteMatMul>() != nullptr) return compile::yes();
    if (problem.op.as<ops::MatMul>() == nullptr) return compile::no("it computes matmul and byte_matmul");
    for (size_t i = 0; i < 2; ++i) {
      if (problem.inputs[i].dtype != DataType::kI8)
        return compile::no("operand {} is {}; only i8 is supported", i, tenon::name(problem.inputs[i].dtype));
    }
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_byte_matmul() {
  static const ByteMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
