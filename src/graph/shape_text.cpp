// The text form of shape programs, as lines of a graph's text:
//   shape 0 "layer" : i64[2] = {N,2*N}
//   shape 1 "layer" : f32[1] = {1.5}
//   shape 2 "layer" 1 = pointwise{...}(0, 1)     the number of results stands before the equals sign
//   size "layer[0]" = 2[0]
#include "core/error.h"
#include "graph/graph.h"

namespace tenon::graph {
namespace {

int32_t valuesOf(const ShapeProgram& program) {
  int32_t count = 0;
  for (const auto& step : program.steps) count += step.outputs;
  return count;
}

std::string elementsText(const ShapeStep& step) {
  std::string result;
  for (const auto& extent : step.extents) result += (result.empty() ? "" : ",") + extent.text();
  for (const double number : step.numbers) result += (result.empty() ? "" : ",") + fmt::format("{}", number);
  return result;
}

int32_t index(TextReader& in) { return FieldText<int32_t>::read(in); }

// Behind the name: a type and its elements.
void parseWritten(TextReader& in, ShapeStep& step) {
  step.dtype = parseDataType(in.until("["));
  const auto shape = FieldText<Shape>::read(in);
  if (!isConstant(shape) || shape.size() > static_cast<size_t>(kMaxRank)) in.fail("expected extents that are numbers");
  step.dims = evaluate(shape, {});
  in.expect("=");
  in.expect("{");
  while (!in.accept("}")) {
    if (!step.extents.empty() || !step.numbers.empty()) in.expect(",");
    if (isFloating(step.dtype)) {
      step.numbers.push_back(in.number());
    } else {
      step.extents.push_back(Extent::parse(in.until(",}")));
    }
  }
}

}  // namespace

std::string shapeText(const ShapeProgram& program) {
  std::string result;
  int32_t place = 0;
  for (const auto& step : program.steps) {
    result += fmt::format("  shape {} {} ", place, quote(step.layer));
    place += step.outputs;
    if (step.op.empty()) {
      result += fmt::format(": {}{} = {{{}}}\n", name(step.dtype), text(toShape(step.dims)), elementsText(step));
      continue;
    }
    std::string inputs;
    for (const int32_t input : step.inputs) inputs += (inputs.empty() ? "" : ", ") + std::to_string(input);
    result += fmt::format("{} = {}({})\n", step.outputs, step.op, inputs);
  }
  for (const auto& symbol : program.symbols)
    result += fmt::format("  size {} = {}[{}]\n", quote(symbol.name), symbol.value, symbol.element);
  return result;
}

void parseShapeStep(TextReader& in, ShapeProgram& program) {
  if (const int32_t place = index(in); place != valuesOf(program))
    in.fail(fmt::format("the value has the number {}, expected {}", place, valuesOf(program)));
  ShapeStep step;
  step.layer = in.quoted();
  if (in.accept(":")) {
    parseWritten(in, step);
  } else {
    step.outputs = index(in);
    if (step.outputs < 1 || step.outputs > 16) in.fail(fmt::format("{} results, expected 1 to 16", step.outputs));
    in.expect("=");
    step.op = ops::Operator::parse(in).text();
    in.expect("(");
    while (!in.accept(")")) {
      if (!step.inputs.empty()) in.expect(",");
      step.inputs.push_back(index(in));
    }
  }
  program.steps.push_back(std::move(step));
}

void parseShapeSymbol(TextReader& in, ShapeProgram& program) {
  ShapeSymbol symbol;
  symbol.name = in.quoted();
  in.expect("=");
  symbol.value = index(in);
  in.expect("[");
  symbol.element = index(in);
  in.expect("]");
  program.symbols.push_back(std::move(symbol));
}

}  // namespace tenon::graph
