// Term rewriting of scalar expressions: a rule's left side is matched at every instruction, its right side built anew.
#include "passes/rewrite.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ops/op/pointwise.h"

namespace tenon::passes {
namespace {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarInstruction;
using ops::ScalarOp;

constexpr std::string_view kRuleTexts[] = {
#define RULE(text) text,
#include "passes/rules/pointwise.rules"
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

bool match(const ScalarExpr& pattern, const ScalarArgument& want, const ScalarExpr& expr, const ScalarArgument& have, Bindings& bindings) {
  if (want.kind == ScalarArgument::Kind::kLiteral) {
    return have.kind == ScalarArgument::Kind::kLiteral && have.literal == want.literal;
  }
  if (want.kind == ScalarArgument::Kind::kInput) {
    if (want.index == kLiteralVariable && have.kind != ScalarArgument::Kind::kLiteral) return false;
    auto& bound = bindings[static_cast<size_t>(want.index)];
    if (bound) return *bound == have;
    bound = have;
    return true;
  }
  if (have.kind != ScalarArgument::Kind::kResult) return false;
  const auto& p = pattern.instructions[static_cast<size_t>(want.index)];
  const auto& e = expr.instructions[static_cast<size_t>(have.index)];
  if (p.op != e.op) return false;
  for (size_t i = 0; i < static_cast<size_t>(row(p.op).arity); ++i) {
    if (!match(pattern, p.arguments[i], expr, e.arguments[i], bindings)) return false;
  }
  return true;
}

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

std::optional<ScalarExpr> applyOnce(const ScalarExpr& expr) {
  for (size_t at = 0; at < expr.instructions.size(); ++at) {
    for (const auto& rule : pointwiseRules()) {
      const bool isIdentity = expr.instructions[at].op == ScalarOp::k_identity;
      if (isIdentity && at + 1 == expr.instructions.size()) continue;  // a copy as the whole value stays
      Bindings bindings;
      const auto root = ScalarArgument::result(static_cast<int>(rule.left.instructions.size()) - 1);
      if (!match(rule.left, root, expr, ScalarArgument::result(static_cast<int>(at)), bindings)) continue;
      return prune(substitute(expr, at, rule.right, bindings));
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const Rule> pointwiseRules() {
  static const auto* kRules = [] {
    auto* rules = new std::vector<Rule>();
    for (const auto text : kRuleTexts) {
      const auto arrow = text.find("=>");
      rules->push_back({text, SideParser(text.substr(0, arrow)).parse(), SideParser(text.substr(arrow + 2)).parse()});
    }
    return rules;
  }();
  return *kRules;
}

ScalarExpr simplify(const ScalarExpr& expr) {
  constexpr int kMaxSteps = 1000;
  ScalarExpr result = prune(expr);
  for (int i = 0; i < kMaxSteps; ++i) {
    auto next = applyOnce(result);
    if (!next || *next == result) break;
    result = std::move(*next);
  }
  return result;
}

int rewrite(graph::Graph& graph, const Options&) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    const auto& node = graph.node(id);
    const auto* pointwise = node.op.as<ops::Pointwise>();
    if (pointwise == nullptr) continue;
    auto expr = simplify(pointwise->expr);
    if (expr == pointwise->expr) continue;
    // A rule may drop an operand that made the shape or the type; then the node stays as it is.
    const ops::Operator op = ops::Pointwise{std::move(expr)};
    const auto types = op.infer(node.name, graph.inputTypes(node.inputs));
    const auto& out = graph.value(node.outputs[0]).type;
    if (types[0].dtype != out.dtype || types[0].shape != out.shape) continue;
    const graph::NodeId from[] = {id};
    const auto output = node.outputs[0];
    const auto inputs = node.inputs;
    const auto name = node.name;
    graph::Patch patch(graph);
    patch.replace(output, patch.add(op, name, inputs, from));
    patch.commit();
    ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
