// Term rewriting of scalar expressions: a rule's left side is matched at every instruction, its right side built anew.
#include "passes/common/scalar_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tenon::passes {
namespace {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarInstruction;
using ops::ScalarOp;

constexpr std::string_view kExactTexts[] = {
#define RULE(text) text,
#include "passes/rules/pointwise.rules"
#undef RULE
};

constexpr std::string_view kActivationTexts[] = {
#define RULE(text) text,
#include "passes/rules/activations.rules"
#undef RULE
};

constexpr int kLiteralVariable = 3;

// Reads one side: op(term, ...), a variable letter, or a number.
class SideParser {
 public:
  explicit SideParser(std::string_view text) : in_(text, "rewrite rule") {}

  ScalarExpr parse() {
    const auto root = term();
    // A side that is a mere variable is an identity, so that every side has a last instruction.
    if (root.kind != ScalarArgument::Kind::kResult) {
      expr_.instructions.push_back(ScalarExpr::of(ScalarOp::k_identity, {root}).instructions[0]);
    }
    return expr_;
  }

 private:
  ScalarArgument term() {
    const char c = in_.peek();
    if ((c >= '0' && c <= '9') || c == '-') return ScalarArgument::constant(in_.number());
    const auto name = in_.identifier();
    if (!in_.accept("(")) {
      constexpr std::string_view kVariables = "abck";
      return ScalarArgument::input(static_cast<int>(kVariables.find(name)));
    }
    ScalarInstruction instruction;
    instruction.op = ops::findScalarOp(name).value();
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      if (i > 0) in_.expect(",");
      instruction.arguments[static_cast<size_t>(i)] = term();
    }
    in_.expect(")");
    expr_.instructions.push_back(instruction);
    return ScalarArgument::result(static_cast<int>(expr_.instructions.size()) - 1);
  }

  TextReader in_;
  ScalarExpr expr_;
};

using Bindings = std::array<std::optional<ScalarArgument>, 4>;

// Matches one rule's left side. `tolerance` is how far a literal of the expression may be from the rule's, relatively.
class Matcher {
 public:
  Matcher(const ScalarExpr& pattern, const ScalarExpr& expr, double tolerance)
      : pattern_(pattern), expr_(expr), tolerance_(tolerance) {}

  std::optional<Bindings> matchAt(size_t at) const {
    Bindings bindings;
    const auto root = ScalarArgument::result(static_cast<int>(pattern_.instructions.size()) - 1);
    if (!match(root, ScalarArgument::result(static_cast<int>(at)), bindings)) return std::nullopt;
    return bindings;
  }

 private:
  bool match(const ScalarArgument& want, const ScalarArgument& have, Bindings& bindings) const {
    if (want.kind == ScalarArgument::Kind::kLiteral)
      return have.kind == ScalarArgument::Kind::kLiteral && equal(want.literal, have.literal);
    if (want.kind == ScalarArgument::Kind::kInput) {
      if (want.index == kLiteralVariable && have.kind != ScalarArgument::Kind::kLiteral) return false;
      auto& bound = bindings[static_cast<size_t>(want.index)];
      if (bound) return *bound == have;
      bound = have;
      return true;
    }
    if (have.kind != ScalarArgument::Kind::kResult) return false;
    const auto& p = pattern_.instructions[static_cast<size_t>(want.index)];
    const auto& e = expr_.instructions[static_cast<size_t>(have.index)];
    if (p.op != e.op) return false;
    const Bindings before = bindings;
    if (matchOperands(p, e, {0, 1, 2}, bindings)) return true;
    const bool commutes = p.op == ScalarOp::k_add || p.op == ScalarOp::k_mul;
    if (!commutes) return false;
    bindings = before;
    return matchOperands(p, e, {1, 0, 2}, bindings);
  }

  bool matchOperands(const ScalarInstruction& p, const ScalarInstruction& e, std::array<size_t, 3> order,
                     Bindings& bindings) const {
    for (size_t i = 0; i < static_cast<size_t>(row(p.op).arity); ++i) {
      if (!match(p.arguments[i], e.arguments[order[i]], bindings)) return false;
    }
    return true;
  }

  bool equal(double want, double have) const {
    return want == have || std::abs(want - have) <= tolerance_ * std::abs(want);
  }

  const ScalarExpr& pattern_;
  const ScalarExpr& expr_;
  double tolerance_;
};

// Copies instructions, replacing the one at `at` by the right side under the bindings. Results that are plain copies
// of an operand (identity) are replaced by the operand.
ScalarExpr substitute(const ScalarExpr& expr, size_t at, const ScalarExpr& right, const Bindings& bindings) {
  ScalarExpr result;
  std::vector<ScalarArgument> placed;
  const auto moved = [&](ScalarArgument argument) {
    return argument.kind == ScalarArgument::Kind::kResult ? placed[static_cast<size_t>(argument.index)] : argument;
  };
  for (size_t i = 0; i < expr.instructions.size(); ++i) {
    if (i != at) {
      auto instruction = expr.instructions[i];
      for (auto& argument : instruction.arguments) argument = moved(argument);
      result.instructions.push_back(instruction);
      placed.push_back(ScalarArgument::result(static_cast<int>(result.instructions.size()) - 1));
      continue;
    }
    std::vector<ScalarArgument> own;
    for (auto instruction : right.instructions) {
      for (auto& argument : instruction.arguments) {
        if (argument.kind == ScalarArgument::Kind::kInput) {
          const auto& bound = bindings[static_cast<size_t>(argument.index)];
          if (bound) argument = moved(*bound);
        } else if (argument.kind == ScalarArgument::Kind::kResult) {
          argument = own[static_cast<size_t>(argument.index)];
        }
      }
      const bool copy = instruction.op == ScalarOp::k_identity && i + 1 < expr.instructions.size();
      if (copy) {
        own.push_back(instruction.arguments[0]);
      } else {
        result.instructions.push_back(instruction);
        own.push_back(ScalarArgument::result(static_cast<int>(result.instructions.size()) - 1));
      }
    }
    placed.push_back(own.back());
  }
  return result;
}

// Drops what the last instruction does not need, and a last identity of a result.
ScalarExpr prune(const ScalarExpr& expr) {
  if (expr.empty()) return expr;
  size_t last = expr.instructions.size() - 1;
  while (expr.instructions[last].op == ScalarOp::k_identity &&
         expr.instructions[last].arguments[0].kind == ScalarArgument::Kind::kResult) {
    last = static_cast<size_t>(expr.instructions[last].arguments[0].index);
  }
  std::vector<bool> needed(expr.instructions.size(), false);
  needed[last] = true;
  for (size_t i = last + 1; i-- > 0;) {
    if (!needed[i]) continue;
    for (size_t a = 0; a < static_cast<size_t>(row(expr.instructions[i].op).arity); ++a) {
      const auto& argument = expr.instructions[i].arguments[a];
      if (argument.kind == ScalarArgument::Kind::kResult) needed[static_cast<size_t>(argument.index)] = true;
    }
  }
  ScalarExpr result;
  std::vector<int> place(expr.instructions.size(), -1);
  for (size_t i = 0; i <= last; ++i) {
    if (!needed[i]) continue;
    auto instruction = expr.instructions[i];
    for (size_t a = 0; a < 3; ++a) {
      auto& argument = instruction.arguments[a];
      if (a >= static_cast<size_t>(row(instruction.op).arity)) {
        argument = {};
      } else if (argument.kind == ScalarArgument::Kind::kResult) {
        argument.index = place[static_cast<size_t>(argument.index)];
      }
    }
    const auto same = std::find(result.instructions.begin(), result.instructions.end(), instruction);
    place[i] = static_cast<int>(same - result.instructions.begin());
    if (same == result.instructions.end()) result.instructions.push_back(instruction);
  }
  return result;
}

std::optional<ScalarExpr> applyOnce(const ScalarExpr& expr, std::span<const Rule> rules, double tolerance) {
  for (size_t at = 0; at < expr.instructions.size(); ++at) {
    const bool isIdentity = expr.instructions[at].op == ScalarOp::k_identity;
    if (isIdentity && at + 1 == expr.instructions.size()) continue;  // a copy as the whole value stays
    for (const auto& rule : rules) {
      if (rule.left.instructions.back().op != expr.instructions[at].op) continue;
      const auto bindings = Matcher(rule.left, expr, tolerance).matchAt(at);
      if (bindings) return prune(substitute(expr, at, rule.right, *bindings));
    }
  }
  return std::nullopt;
}

std::vector<Rule>* parseRules(std::span<const std::string_view> texts) {
  auto* rules = new std::vector<Rule>();
  for (const auto text : texts) {
    const auto arrow = text.find("=>");
    rules->push_back({text, SideParser(text.substr(0, arrow)).parse(), SideParser(text.substr(arrow + 2)).parse()});
  }
  return rules;
}

// How far apart two numbers may be that are one number rounded to the type.
double roundingOf(DataType type) {
  switch (type) {
    case DataType::kF32: return 1e-6;
    case DataType::kF16: return 1e-3;
    case DataType::kBF16: return 8e-3;
    default: return -1;
  }
}

}  // namespace

std::span<const Rule> pointwiseRules() {
  static const auto* kRules = parseRules(kExactTexts);
  return *kRules;
}

std::span<const Rule> activationRules() {
  static const auto* kRules = parseRules(kActivationTexts);
  return *kRules;
}

namespace {

ScalarExpr settle(ScalarExpr expr, std::span<const Rule> rules, double tolerance) {
  constexpr int kMaxSteps = 1000;
  for (int i = 0; i < kMaxSteps; ++i) {
    auto next = applyOnce(expr, rules, tolerance);
    if (!next || *next == expr) break;
    expr = std::move(*next);
  }
  return expr;
}

}  // namespace

ScalarExpr simplify(const ScalarExpr& expr) { return settle(prune(expr), pointwiseRules(), 0); }

ScalarExpr simplifyActivations(const ScalarExpr& expr, DataType type) {
  const double tolerance = roundingOf(type);
  return tolerance < 0 ? expr : settle(expr, activationRules(), tolerance);
}

}  // namespace tenon::passes
