// When bytes and 8-bit floats are quantized, and these and i32 brought back.
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
    for (const auto type : {problem.inputs[0].dtype, problem.outputs[0].dtype}) {
      if (bits(type) < 8 || type == DataType::kE8M0)
        return compile::no("operands of {}; types of whole bytes but e8m0 are supported", tenon::name(type));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_quantization() {
  static const QuantizationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
