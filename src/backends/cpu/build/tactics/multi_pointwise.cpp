// When the block-wise pointwise kernel can be used for several outputs.
#include "ops/op/multi_pointwise.h"

#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class MultiPointwiseTactic final : public SimpleTactic {
 public:
  MultiPointwiseTactic() : SimpleTactic("cpu.multi_pointwise", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::MultiPointwise>();
    if (op == nullptr) return build::no("it computes pointwise operators with several outputs");
    std::vector<DataType> types;
    for (const auto& input : problem.inputs) types.push_back(input.dtype);
    const auto steps = ops::instructionTypes(op->expr, types);
    types.insert(types.end(), steps.begin(), steps.end());
    for (const auto type : types) {
      const bool computes = type == DataType::kF32 || type == DataType::kBool;
      if (!computes) return build::no("values of {}; it computes f32 and bool", tenon::name(type));
    }
    size_t buffers = problem.inputs.size();
    for (const auto& instruction : op->expr.instructions) {
      ++buffers;
      for (int i = 0; i < row(instruction.op).arity; ++i) {
        const auto& argument = instruction.arguments[static_cast<size_t>(i)];
        buffers += argument.kind == ops::ScalarArgument::Kind::kLiteral ? 1 : 0;
      }
    }
    constexpr size_t kBuffers = 48;  // of a block
    if (buffers > kBuffers) {
      return build::no("{} operands, literals and results; a block has room for {}", buffers, kBuffers);
    }
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

const build::Tactic& tactic_multi_pointwise() {
  static const MultiPointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
