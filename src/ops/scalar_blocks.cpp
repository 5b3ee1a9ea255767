// One loop per scalar operator, in double, made from the table.
#include "ops/scalar_blocks.h"

#include <algorithm>

#include "core/strided.h"
#include "ops/scalar_math.h"

namespace tenon::ops {
namespace {

constexpr int64_t kBlock = 256;
using Block = std::array<double, kBlock>;
using Loop = void (*)(const double* a, const double* b, const double* c, double* out, int64_t count);

namespace loops {
using namespace scalar_math;  // NOLINT: the rows name these functions
using T = double;
#define ROW(name, arity, result, expression)                                                        \
  void l_##name(const double* pa, const double* pb, const double* pc, double* out, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) {                                                           \
      [[maybe_unused]] const T a = pa[i];                                                           \
      [[maybe_unused]] const T b = pb[i];                                                           \
      [[maybe_unused]] const T c = pc[i];                                                           \
      out[i] = static_cast<T>(expression);                                                          \
    }                                                                                               \
  }
#include "ops/pointwise.table"
#undef ROW
constexpr Loop kLoops[] = {
#define ROW(name, arity, result, expression) l_##name,
#include "ops/pointwise.table"
#undef ROW
};
}  // namespace loops

bool isFloat(const TensorView& tensor) { return tensor.dtype == DataType::kF32; }

bool applies(const ScalarExpr& expr, const EvalContext& context) {
  if (expr.empty() || !isFloat(context.outputs[0]) ||
      !std::all_of(context.inputs.begin(), context.inputs.end(), isFloat))
    return false;
  return std::all_of(expr.instructions.begin(), expr.instructions.end(), [](const ScalarInstruction& instruction) {
    return instruction.op != ScalarOp::k_cast && row(instruction.op).result == ScalarResult::kSame;
  });
}

class Blocks {
 public:
  Blocks(const ScalarExpr& expr, const EvalContext& context)
      : expr_(expr), context_(context), inputs_(context.inputs.size()), results_(expr.instructions.size()) {
    for (const auto& instruction : expr.instructions) {
      for (int k = 0; k < row(instruction.op).arity; ++k) {
        const auto& argument = instruction.arguments[static_cast<size_t>(k)];
        if (argument.kind == ScalarArgument::Kind::kLiteral) literals_.emplace_back().fill(argument.literal);
      }
    }
    std::vector<tenon::Strides> operands{stridesOf(context.outputs[0].dims, Layout::kLinear)};
    for (const auto& in : context.inputs)
      operands.push_back(stridesWithin(in.dims, Layout::kLinear, context.outputs[0].dims));
    space_ = collapse(context.outputs[0].dims, operands);
  }

  void run() {
    std::vector<int64_t> offsets(space_.strides.size());
    for (int64_t o = 0; o < space_.outer(); ++o) {
      space_.offsets(o, offsets.data());
      for (int64_t first = 0; first < space_.inner(); first += kBlock) {
        const int64_t count = std::min(kBlock, space_.inner() - first);
        for (size_t k = 0; k < inputs_.size(); ++k) load(k, offsets[k + 1], first, count);
        evaluate(count);
        auto* const out = context_.outputs[0].as<float>() + offsets[0] + first * space_.strides[0].back();
        const int64_t stride = space_.strides[0].back();
        for (int64_t i = 0; i < count; ++i)
          out[i * stride] = static_cast<float>(results_.back()[static_cast<size_t>(i)]);
      }
    }
  }

 private:
  void load(size_t k, int64_t offset, int64_t first, int64_t count) {
    const int64_t stride = space_.strides[k + 1].back();
    const auto* const from = context_.inputs[k].as<const float>() + offset + first * stride;
    auto* const to = inputs_[k].data();
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i * stride]);
  }

  void evaluate(int64_t count) {
    size_t literal = 0;
    for (size_t i = 0; i < results_.size(); ++i) {
      const auto& instruction = expr_.instructions[i];
      const double* operands[3] = {};
      for (int k = 0; k < row(instruction.op).arity; ++k) {
        const auto& argument = instruction.arguments[static_cast<size_t>(k)];
        const auto index = static_cast<size_t>(argument.index);
        if (argument.kind == ScalarArgument::Kind::kInput) operands[k] = inputs_[index].data();
        if (argument.kind == ScalarArgument::Kind::kResult) operands[k] = results_[index].data();
        if (argument.kind == ScalarArgument::Kind::kLiteral) operands[k] = literals_[literal++].data();
      }
      for (int k = 1; k < 3; ++k) operands[k] = operands[k] == nullptr ? operands[0] : operands[k];
      loops::kLoops[static_cast<size_t>(instruction.op)](operands[0], operands[1], operands[2], results_[i].data(),
                                                         count);
    }
  }

  const ScalarExpr& expr_;
  const EvalContext& context_;
  std::vector<Block> inputs_, results_, literals_;
  LoopSpace space_;
};

}  // namespace

bool evaluateInBlocks(const ScalarExpr& expr, const EvalContext& context) {
  if (!applies(expr, context)) return false;
  if (context.outputs[0].count() > 0) Blocks(expr, context).run();
  return true;
}

}  // namespace tenon::ops
