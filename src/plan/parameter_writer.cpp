// Fields from epilogues, scalar programs and operators' texts.
#include "plan/parameter_writer.h"

#include <algorithm>

namespace tenon::plan {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarOp;

std::string upperCase(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

std::string camelCase(std::string_view name) {
  std::string result;
  bool starts = true;
  for (const char c : name) {
    if (c != '_') result += starts ? upperCase({&c, 1})[0] : c;
    starts = c == '_';
  }
  return result;
}

const TensorRecord* ParameterWriter::input(size_t i) const {
  if (i >= step_.inputs.size() || step_.inputs[i] < 0) return nullptr;
  return &program_.tensors[static_cast<size_t>(step_.inputs[i])];
}

void ParameterWriter::axes(const std::vector<int64_t>& axes) {
  const TensorRecord* x = input(0);
  uint64_t mask = 0;
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 && x != nullptr ? axis + static_cast<int64_t>(x->shape.size()) : axis;
    if (at >= 0 && at < 64) mask |= uint64_t{1} << at;
  }
  number("Axes", mask);
}

void ParameterWriter::constant(std::string name, const TensorRecord& tensor) {
  json(std::move(name), fmt::format("{{\"Type\": \"{}\", \"Count\": {}}}", inspectorName(tensor.dtype),
                                    knownExtent(product(tensor.shape), symbols_)));
}

void ParameterWriter::expression(const ScalarExpr& expr, const std::vector<int64_t>& results,
                                 const std::string& prefix) {
  std::vector<std::string> arguments, literals, operations, variables;
  for (int i = 0; i < expr.inputCount(); ++i) arguments.push_back(fmt::format("\"arg{}\"", i));
  for (const auto& instruction : expr.instructions) {
    const auto& row = ops::row(instruction.op);
    std::vector<std::string> operands;
    for (int i = 0; i < row.arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ScalarArgument::Kind::kLiteral) {
        operands.push_back(fmt::format("{}", argument.literal));
        const auto quoted = fmt::format("\"{}\"", operands.back());
        if (std::find(literals.begin(), literals.end(), quoted) == literals.end()) literals.push_back(quoted);
      } else {
        operands.push_back(
            fmt::format("{}{}", argument.kind == ScalarArgument::Kind::kInput ? "arg" : "var", argument.index));
      }
    }
    const auto type =
        instruction.op == ScalarOp::k_cast ? fmt::format("<{}>", inspectorName(instruction.castTo)) : std::string();
    operations.push_back(
        fmt::format("\"auto const var{} = {}{}({});\"", operations.size(), row.name, type, fmt::join(operands, ", ")));
  }
  for (const int64_t result : results) variables.push_back(fmt::format("\"var{}\"", result));
  if (results.empty())
    variables.push_back(operations.empty() ? "\"arg0\"" : fmt::format("\"var{}\"", operations.size() - 1));
  text("ParameterSubType", "PointWiseExpression");
  number(prefix + "NbInputArgs", arguments.size());
  json(prefix + "InputArgs", jsonList(arguments));
  number(prefix + "NbOutputVars", variables.size());
  json(prefix + "OutputVars", jsonList(variables));
  number(prefix + "NbParams", 0);
  json(prefix + "Params", "[]");
  number(prefix + "NbLiterals", literals.size());
  json(prefix + "Literals", jsonList(literals));
  number(prefix + "NbOperations", operations.size());
  json(prefix + "Operations", jsonList(operations));
}

std::string activationOf(const ScalarExpr& epilogue, bool& adds) {
  auto rest = epilogue.instructions;
  const auto isX = [](const ScalarArgument& a, int i) {
    return a.kind == ScalarArgument::Kind::kInput && a.index == i;
  };
  const auto isSum = [&](const auto& i) {
    return i.op == ScalarOp::k_add &&
           ((isX(i.arguments[0], 0) && isX(i.arguments[1], 1)) || (isX(i.arguments[0], 1) && isX(i.arguments[1], 0)));
  };
  adds = !rest.empty() && isSum(rest[0]);
  if (adds) rest.erase(rest.begin());
  if (rest.empty()) return "NONE";
  const auto& last = rest[0];
  const auto& x = last.arguments[0];
  const bool onSum = adds ? x.kind == ScalarArgument::Kind::kResult && x.index == 0 : isX(x, 0);
  if (rest.size() > 1 || !onSum) return "GENERIC";
  const auto isZero = [&](size_t i) {
    return last.arguments[i].kind == ScalarArgument::Kind::kLiteral && last.arguments[i].literal == 0;
  };
  if (last.op == ScalarOp::k_relu || (last.op == ScalarOp::k_max && isZero(1))) return "RELU";
  if (last.op == ScalarOp::k_clip && isZero(1)) return "CLIPPED_RELU";
  return "GENERIC";
}

void ParameterWriter::epilogue(const ScalarExpr& epilogue, size_t first) {
  bool adds = false;
  const auto kind = activationOf(epilogue, adds);
  flag("HasResidual", adds && !isConstantInput(first));
  text("Activation", kind);
  if (kind == "GENERIC") expression(epilogue, {}, "PointWiseExpression");
}

void ParameterWriter::ownFields(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  const auto field = [&](std::string_view pair) {
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) return;
    const auto value = pair.substr(equals + 1);
    const bool numeric = value.find_first_not_of("0123456789.,-[]") == std::string_view::npos;
    if (value == "true" || value == "false") {
      flag(camelCase(pair.substr(0, equals)), value == "true");
    } else if (numeric) {
      json(camelCase(pair.substr(0, equals)), std::string(value));
    } else {
      this->text(camelCase(pair.substr(0, equals)), std::string(value));
    }
  };
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c != ' ' || depth > 0) continue;
    field(text.substr(start, i - start));
    start = i + 1;
  }
}

}  // namespace tenon::plan
