// Matches expressions from their last step to their operands.
#include "backends/cpu/kernels/common/byte_formula.h"

#include <cmath>

namespace tenon::backends::cpu {
namespace {

using ops::ScalarArgument;
using ops::ScalarInstruction;
using ops::ScalarOp;

class Match {
 public:
  Match(const ops::ScalarExpr& expr, std::span<const DataType> types, DataType result)
      : expr_(expr), types_(types), result_(result) {}

  std::optional<ByteFormula> run() {
    const auto* const cast = at(ScalarArgument::result(static_cast<int>(expr_.instructions.size()) - 1));
    if (cast == nullptr || cast->op != ScalarOp::k_cast || types_.size() != 2) return std::nullopt;
    double number = 0;
    ScalarArgument next = cast->arguments[0];
    while (strip(next, ScalarOp::k_min, number) || strip(next, ScalarOp::k_max, number)) {
    }
    if (strip(next, ScalarOp::k_add, number)) formula_.zero = static_cast<int32_t>(number);
    const auto* const round = at(next);
    if (round == nullptr || round->op != ScalarOp::k_round) return std::nullopt;
    next = round->arguments[0];
    if (stripSecond(next, ScalarOp::k_div, number)) formula_.divisor = static_cast<float>(number);
    const auto* const both = at(next);
    if (both == nullptr || (both->op != ScalarOp::k_add && both->op != ScalarOp::k_mul)) return std::nullopt;
    formula_.isProduct = both->op == ScalarOp::k_mul;
    if (!operand(both->arguments[0]) || !operand(both->arguments[1]) || !found_[0] || !found_[1]) return std::nullopt;
    formula_.givesSigned = result_ == DataType::kI8;
    return formula_;
  }

 private:
  const ScalarInstruction* at(const ScalarArgument& argument) const {
    if (argument.kind != ScalarArgument::Kind::kResult || argument.index < 0) return nullptr;
    return &expr_.instructions[static_cast<size_t>(argument.index)];
  }

  // Steps from op(next, number) to what it is applied to.
  bool stripSecond(ScalarArgument& next, ScalarOp op, double& number) const {
    const auto* const step = at(next);
    if (step == nullptr || step->op != op || step->arguments[1].kind != ScalarArgument::Kind::kLiteral) return false;
    number = step->arguments[1].literal;
    next = step->arguments[0];
    return std::isfinite(number) && std::abs(number) < 0x1p30;
  }

  bool strip(ScalarArgument& next, ScalarOp op, double& number) const {
    const auto* const step = at(next);
    if (step == nullptr || step->op != op || step->arguments[0].kind != ScalarArgument::Kind::kLiteral)
      return stripSecond(next, op, number);
    number = step->arguments[0].literal;
    next = step->arguments[1];
    return std::isfinite(number) && std::abs(number) < 0x1p30;
  }

  bool operand(ScalarArgument next) {
    double scale = 1, zero = 0;
    strip(next, ScalarOp::k_mul, scale);
    stripSecond(next, ScalarOp::k_sub, zero);
    const auto* const cast = at(next);
    if (cast == nullptr || cast->op != ScalarOp::k_cast || cast->castTo != DataType::kF32) return false;
    const auto& input = cast->arguments[0];
    if (input.kind != ScalarArgument::Kind::kInput || input.index < 0 || input.index > 1) return false;
    const auto index = static_cast<size_t>(input.index);
    constexpr double kSign = 128;  // which is added to bytes that have one
    formula_.isSigned[index] = types_[index] == DataType::kI8;
    formula_.zeros[index] = static_cast<float>(zero + (formula_.isSigned[index] ? kSign : 0));
    formula_.scales[index] = static_cast<float>(scale);
    found_[index] = true;
    return true;
  }

  const ops::ScalarExpr& expr_;
  std::span<const DataType> types_;
  DataType result_;
  ByteFormula formula_;
  bool found_[2] = {false, false};
};

}  // namespace

std::optional<ByteFormula> byteFormulaOf(const ops::ScalarExpr& expr, std::span<const DataType> types,
                                         DataType result) {
  return Match(expr, types, result).run();
}

}  // namespace tenon::backends::cpu
