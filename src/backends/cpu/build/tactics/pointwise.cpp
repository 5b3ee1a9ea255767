// When the block-wise pointwise kernel can be used.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cpu {
namespace {

bool isSupportedType(DataType type) { return type == DataType::kF32 || type == DataType::kBool; }

class PointwiseTactic final : public SimpleTactic {
 public:
  PointwiseTactic() : SimpleTactic("cpu.pointwise", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    if (op == nullptr) return build::no("it computes pointwise operators");
    std::vector<DataType> types;
    for (const auto& input : problem.inputs) types.push_back(input.dtype);
    auto steps = ops::instructionTypes(op->expr, types);
    types.insert(types.end(), steps.begin(), steps.end());
    types.push_back(problem.outputs[0].dtype);
    for (const auto type : types) {
      if (!isSupportedType(type)) return build::no("values of {}; it computes f32 and bool", tenon::name(type));
    }
    size_t buffers = problem.inputs.size();
    for (const auto& instruction : op->expr.instructions) {
      ++buffers;
      for (int i = 0; i < row(instruction.op).arity; ++i) {
        buffers += instruction.arguments[static_cast<size_t>(i)].kind == ops::ScalarArgument::Kind::kLiteral ? 1 : 0;
      }
    }
    constexpr size_t kBuffers = 48;  // of a block
    if (buffers > kBuffers) return build::no("{} operands, literals and results; a block has room for {}", buffers, kBuffers);
    return build::yes();
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    addBlockedCandidate(name(), problem, result);
    allowPitch(result);
    return result;
  }
};

}  // namespace

const build::Tactic& tactic_pointwise() {
  static const PointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
