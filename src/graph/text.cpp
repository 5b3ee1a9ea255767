// The text form of graphs: printing, parsing, and the hash that derives from it.
#include <algorithm>
#include <random>
#include <set>

#include "core/error.h"
#include "graph/graph.h"
#include "ops/shape_binder.h"

namespace tenon::graph {
namespace {

bool isPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
  });
}

std::string valueName(std::string_view name) { return "%" + (isPlain(name) ? std::string(name) : quote(name)); }

std::string typeText(const ops::TensorType& type) { return fmt::format("{}{}", name(type.dtype), text(type.shape)); }

uint64_t bytesHash(const Constant& constant) {
  return hashBytes({static_cast<const char*>(constant.view().data), constant.bytes()});
}

std::string constantText(const Constant& constant, int64_t maxElements) {
  if (constant.count() > maxElements) return fmt::format("random({})", bytesHash(constant));
  std::string result = "{";
  const auto view = constant.view();
  for (int64_t i = 0; i < constant.count(); ++i) {
    if (i > 0) result += ",";
    result += isFloating(view.dtype) ? fmt::format("{}", view.loadDouble(i)) : fmt::format("{}", view.loadInt(i));
  }
  return result + "}";
}

std::string join(const Graph& graph, const std::vector<ValueId>& values) {
  std::string result;
  for (const ValueId id : values) result += (result.empty() ? "" : ", ") + valueName(graph.value(id).name);
  return result;
}

std::string constraintText(const Constraints& constraints) {
  std::string result;
  if (constraints.dtype) result += fmt::format(" as({})", name(*constraints.dtype));
  if (!constraints.layouts.empty())
    result += fmt::format(" layouts({})", FieldText<std::vector<Layout>>::write(constraints.layouts));
  if (constraints.hostShape) result += " host";
  if (constraints.debug) result += " debug";
  if (constraints.dynamicRange)
    result += fmt::format(" range({},{})", constraints.dynamicRange->first, constraints.dynamicRange->second);
  return result;
}

std::set<ValueId> usedConstants(const Graph& graph) {
  std::set<ValueId> result;
  const auto note = [&](ValueId id) {
    if (graph.value(id).constant != nullptr) result.insert(id);
  };
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) note(input);
  }
  for (const ValueId output : graph.outputs()) note(output);
  return result;
}

// Reads what text() writes.
class Parser {
 public:
  explicit Parser(std::string_view source) : in_(source, "graph text") {}

  Graph parse() {
    in_.expect("graph");
    Graph graph(in_.quoted());
    in_.expect("{");
    while (!in_.accept("}")) statement(graph);
    if (!in_.atEnd()) in_.fail("unexpected text after the graph");
    (void)ops::ShapeBinder(shapes_);  // refuses what cannot be evaluated
    graph.setShapes(std::move(shapes_));
    return graph;
  }

 private:
  std::string name() {
    in_.expect("%");
    if (in_.peek() == '"') return in_.quoted();
    return std::string(in_.until(" ,:=)\n\t}"));
  }

  ValueId use(const Graph& graph) {
    const auto text = name();
    const auto found = graph.findValue(text);
    if (!found) in_.fail(fmt::format("value '{}' is not defined before its use", text));
    return *found;
  }

  ops::TensorType type() {
    ops::TensorType result;
    result.dtype = parseDataType(in_.until("["));
    result.shape = FieldText<Shape>::read(in_);
    return result;
  }

  void statement(Graph& graph) {
    if (in_.acceptWord("input")) {
      const auto inputName = name();
      in_.expect(":");
      auto inputType = type();
      const auto id = graph.addInput(inputName, std::move(inputType));
      if (in_.acceptWord("contents")) {
        graph.value(id).type.contents = FieldText<std::vector<Extent>>::read(in_);
      }
      constraints(graph, id);
    } else if (in_.acceptWord("const")) {
      const auto constantName = name();
      in_.expect(":");
      const auto constantType = type();
      in_.expect("=");
      constraints(graph, graph.addConstant(constant(constantType), constantName));
    } else if (in_.acceptWord("symbol")) {
      symbol(graph);
    } else if (in_.acceptWord("shape")) {
      parseShapeStep(in_, shapes_);
    } else if (in_.acceptWord("size")) {
      parseShapeSymbol(in_, shapes_);
    } else if (in_.acceptWord("output")) {
      do {
        const ValueId id = use(graph);
        graph.addOutput(id, in_.acceptWord("as") ? in_.quoted() : std::string());
      } while (in_.accept(","));
    } else {
      node(graph);
    }
  }

  void symbol(Graph& graph) {
    auto symbolName = in_.quoted();
    in_.expect("=");
    SymbolSource source;
    source.kind = in_.acceptWord("contents") ? SymbolSource::Kind::kInputContents : SymbolSource::Kind::kInputExtent;
    if (source.kind == SymbolSource::Kind::kInputExtent) in_.expect("extent");
    in_.expect("(");
    source.input = name();
    in_.expect(",");
    source.index = static_cast<int>(in_.integer());
    in_.expect(")");
    graph.addSymbol(std::move(symbolName), std::move(source));
  }

  ConstantPtr constant(const ops::TensorType& type) {
    if (!isConstant(type.shape)) in_.fail("a constant has extents that are numbers, not symbols");
    const Dims dims = evaluate(type.shape, {});
    HostTensor tensor(type.dtype, dims);
    const auto view = tensor.view();
    if (in_.accept("random(")) {
      // Uniform in [-1, 1) for floating types, small integers otherwise.
      const double seed = in_.number();
      if (!(seed >= 0 && seed < 0x1p64)) in_.fail(fmt::format("{} is not a seed; expected a number of 64 bits", seed));
      std::mt19937_64 generator(static_cast<uint64_t>(seed));
      for (int64_t i = 0; i < view.count(); ++i) {
        const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
        if (isFloating(type.dtype)) {
          view.storeDouble(i, unit * 2 - 1);
        } else {
          view.storeInt(i, static_cast<int64_t>(unit * 4));
        }
      }
      in_.expect(")");
    } else {
      in_.expect("{");
      for (int64_t i = 0; i < view.count(); ++i) {
        if (i > 0) in_.expect(",");
        if (isFloating(type.dtype)) {
          view.storeDouble(i, in_.number());
        } else {
          view.storeInt(i, in_.integer());
        }
      }
      in_.expect("}");
    }
    return Constant::own(std::move(tensor));
  }

  void constraints(Graph& graph, ValueId id) {
    auto& c = graph.value(id).constraints;
    while (true) {
      if (in_.accept("as(")) {
        c.dtype = parseDataType(in_.identifier());
        in_.expect(")");
      } else if (in_.accept("layouts(")) {
        c.layouts = FieldText<std::vector<Layout>>::read(in_);
        in_.expect(")");
      } else if (in_.acceptWord("host")) {
        c.hostShape = true;
      } else if (in_.acceptWord("debug")) {
        c.debug = true;
      } else if (in_.accept("range(")) {
        const double low = in_.number();
        in_.expect(",");
        c.dynamicRange = std::pair(low, in_.number());
        in_.expect(")");
      } else {
        return;
      }
    }
  }

  // %a : f32[..], %b : i32[..] = op{...}(%x, %y) "name" from("l1", "l2") on("cpu")
  void node(Graph& graph) {
    std::vector<std::string> outputNames;
    std::vector<ops::TensorType> declared;
    do {
      outputNames.push_back(name());
      in_.expect(":");
      declared.push_back(type());
    } while (in_.accept(","));
    in_.expect("=");
    auto op = ops::Operator::parse(in_);
    in_.expect("(");
    std::vector<ValueId> inputs;
    while (!in_.accept(")")) {
      if (!inputs.empty()) in_.expect(",");
      inputs.push_back(use(graph));
    }
    std::string nodeName = in_.peek() == '"' ? in_.quoted() : outputNames[0];
    std::vector<std::string> origins;
    if (in_.accept("from(")) {
      do {
        origins.push_back(in_.quoted());
      } while (in_.accept(","));
      in_.expect(")");
    }
    const NodeId id = graph.addNode(std::move(op), nodeName, std::move(inputs), std::move(origins), outputNames);
    if (in_.accept("on(")) {
      graph.node(id).device = in_.quoted();
      in_.expect(")");
    }
    for (size_t i = 0; i < declared.size(); ++i) {
      const auto& inferred = graph.value(graph.node(id).outputs.at(i)).type;
      if (inferred.dtype != declared[i].dtype || inferred.shape.size() != declared[i].shape.size()) {
        in_.fail(fmt::format("'{}' is declared {}, its operator gives {}", outputNames[i], typeText(declared[i]),
                             typeText(inferred)));
      }
      constraints(graph, graph.node(id).outputs[i]);
    }
  }

  TextReader in_;
  ShapeProgram shapes_;
};

}  // namespace

std::string text(const Graph& graph, int64_t maxElements) {
  std::string result = fmt::format("graph {} {{\n", quote(graph.name()));
  for (const auto& [symbol, source] : graph.symbols()) {
    result += fmt::format("  symbol {} = {}({}, {})\n", quote(symbol),
                          source.kind == SymbolSource::Kind::kInputExtent ? "extent" : "contents",
                          valueName(source.input), source.index);
  }
  result += shapeText(graph.shapes());
  for (const ValueId id : graph.inputs()) {
    const auto& value = graph.value(id);
    result += fmt::format("  input {} : {}", valueName(value.name), typeText(value.type));
    if (value.type.contents) result += " contents" + FieldText<std::vector<Extent>>::write(*value.type.contents);
    result += constraintText(value.constraints) + "\n";
  }
  for (const ValueId id : usedConstants(graph)) {
    const auto& value = graph.value(id);
    result += fmt::format("  const {} : {} = {}{}\n", valueName(value.name), typeText(value.type),
                          constantText(*value.constant, maxElements), constraintText(value.constraints));
  }
  for (const NodeId id : graph.order()) {
    const auto& node = graph.node(id);
    std::string outputs;
    std::string constraints;
    for (const ValueId output : node.outputs) {
      const auto& value = graph.value(output);
      outputs += fmt::format("{}{} : {}", outputs.empty() ? "" : ", ", valueName(value.name), typeText(value.type));
      if (node.outputs.size() == 1) constraints = constraintText(value.constraints);
    }
    result += fmt::format("  {} = {}({}) {}", outputs, node.op.text(), join(graph, node.inputs), quote(node.name));
    if (!node.origins.empty()) {
      std::string origins;
      for (const auto& origin : node.origins) origins += (origins.empty() ? "" : ", ") + quote(origin);
      result += fmt::format(" from({})", origins);
    }
    if (!node.device.empty()) result += fmt::format(" on({})", quote(node.device));
    result += constraints + "\n";
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const auto& name = graph.value(graph.outputs()[i]).name;
    result += fmt::format("  output {}{}\n", valueName(name),
                          name == graph.outputName(i) ? "" : " as " + quote(graph.outputName(i)));
  }
  return result + "}\n";
}

Graph parse(std::string_view source) { return Parser(source).parse(); }

uint64_t hash(const Graph& graph) {
  std::vector<uint64_t> values(graph.valueCount(), 0);
  uint64_t result = 1;
  const auto mix = [](uint64_t seed, uint64_t more) {
    return hashBytes({reinterpret_cast<const char*>(&more), sizeof more}, seed);
  };
  uint64_t position = 0;
  for (const ValueId id : graph.inputs()) values[id] = mix(hashBytes(typeText(graph.value(id).type)), ++position);
  for (const ValueId id : usedConstants(graph)) {
    values[id] = mix(hashBytes(typeText(graph.value(id).type)), bytesHash(*graph.value(id).constant));
  }
  for (const NodeId id : graph.order()) {
    const auto& node = graph.node(id);
    uint64_t h = node.op.hash();
    for (const ValueId input : node.inputs) h = mix(h, values[input]);
    for (const ValueId output : node.outputs) values[output] = h = mix(h, output == node.outputs[0] ? 1 : 2);
  }
  for (const ValueId id : graph.outputs()) result = mix(result, values[id]);
  if (!graph.shapes().empty()) result = mix(result, hashBytes(shapeText(graph.shapes())));
  return result;
}

}  // namespace tenon::graph
