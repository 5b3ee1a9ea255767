// When bytes are quantized, and bytes and i32 brought back.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/dequantize.h"
#include "ops/op/quantize.h"

namespace tenon::backends::cpu {
namespace {

class QuantizationTactic final : public SimpleTactic {
 public:
  QuantizationTactic() : SimpleTactic("cpu.quantization", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const bool quantizes = problem.op.as<ops::Quantize>() != nullptr;
    if (!quantizes && problem.op.as<ops::Dequantize>() == nullptr) return compile::no("it quantizes and dequantizes");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_quantization() {
  static const QuantizationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
