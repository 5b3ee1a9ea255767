// If, Loop and Scan: their graphs are imported in place, between the boundary layers of a conditional or a loop.
#include <algorithm>
#include <map>
#include <set>

#include "branch_join.h"
#include "node_import.h"
#include "topology.h"

namespace tenon::parsers::onnx {

using nvinfer1::ITensor;

namespace {

std::optional<bool> knownBool(const ParsedValue& value) {
  if (!value.isConstant() || value.constant().type != DataType::kBOOL || value.constant().count() != 1) {
    return std::nullopt;
  }
  return *static_cast<const uint8_t*>(value.constant().data) != 0;
}

// Whether the value of a name in a loop's body depends on nothing but the number of the iteration, its condition and
// constants.
bool followsFromTheNumber(const pb::GraphProto& body, const std::string& name, const Scope& scope) {
  std::map<std::string, const pb::NodeProto*> producers;
  for (const pb::NodeProto& node : body.node()) {
    for (const std::string& output : node.output()) {
      producers[output] = &node;
    }
  }
  std::set<std::string> constants;
  for (const pb::TensorProto& tensor : body.initializer()) {
    constants.insert(tensor.name());
  }
  for (int i = 0; i < std::min(body.input_size(), 2); ++i) {
    constants.insert(body.input(i).name());
  }
  std::set<std::string> seen;
  std::vector<std::string> open{name};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    if (next.empty() || constants.count(next) != 0 || !seen.insert(next).second) {
      continue;
    }
    const auto producer = producers.find(next);
    if (producer != producers.end()) {
      open.insert(open.end(), producer->second->input().begin(), producer->second->input().end());
      continue;
    }
    const bool isState = std::any_of(body.input().begin(), body.input().end(),
                                     [&](const pb::ValueInfoProto& input) { return input.name() == next; });
    const ParsedValue* outside = isState ? nullptr : findValue(scope, next);
    if (outside == nullptr || !outside->isConstant()) {
      return false;
    }
  }
  return true;
}

std::optional<int64_t> knownCount(NetworkWriter& writer, const ParsedValue& value) {
  ParsedExtents list;
  if (!writer.asList(value, list) || list.size() != 1 || !list[0].known()) {
    return std::nullopt;
  }
  return list[0].value;
}

// A value of one element, of rank 0.
ITensor& scalarTensor(NetworkWriter& writer, const ParsedValue& value, const char* what) {
  const Dimensions shape = writer.shapeOf(value);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; })) {
    fail(FaultKind::kInvalidNode, fmt::format("the {} has shape {}, expected one element", what, toString(shape)));
  }
  return writer.tensor(shape.empty() ? value : writer.reshape(value, {}));
}

void checkCount(const char* what, size_t got, size_t expected) {
  if (got != expected) {
    fail(FaultKind::kInvalidGraph, fmt::format("the body has {} {}, expected {}", got, what, expected));
  }
}

int32_t listed(const std::vector<int64_t>& list, size_t index, int64_t rank) {
  return index < list.size() ? normalizeAxis(list[index], rank) : 0;
}

bool isListed(const std::vector<int64_t>& list, size_t index) { return index < list.size() && list[index] != 0; }

// Exporters of lists let a tensor grow: a carried value that the body only reads to append to it. The axis along which
// it does so; none where it does something else.
std::optional<int64_t> appendedAxis(const pb::GraphProto& body, const std::string& carried, const std::string& next) {
  const pb::NodeProto* concat = nullptr;
  int reads = 0;
  for (const pb::NodeProto& node : body.node()) {
    reads += static_cast<int>(std::count(node.input().begin(), node.input().end(), carried));
    for (const pb::AttributeProto& attribute : node.attribute()) {
      std::set<std::string> names;
      if (attribute.has_g()) {
        collectNames(attribute.g(), names);
      }
      reads += static_cast<int>(names.count(carried));
    }
    if (node.output_size() == 1 && node.output(0) == next) {
      concat = &node;
    }
  }
  const bool isGiven = std::any_of(body.output().begin(), body.output().end(),
                                   [&](const pb::ValueInfoProto& output) { return output.name() == carried; });
  if (concat == nullptr || reads != 1 || isGiven || concat->op_type() != "Concat" ||
      !isStandardDomain(concat->domain()) || concat->input_size() != 2 || concat->input(0) != carried) {
    return std::nullopt;
  }
  for (const pb::AttributeProto& attribute : concat->attribute()) {
    if (attribute.name() == "axis") {
      return attribute.i();
    }
  }
  return std::nullopt;
}

// Nothing of a value, along one axis.
ParsedValue noneOf(NetworkWriter& writer, const ParsedValue& value, size_t axis) {
  ParsedExtents size = writer.dims(value);
  const ParsedExtents start(size.size(), ParsedExtent::of(0));
  const ParsedExtents stride(size.size(), ParsedExtent::of(1));
  if (size.at(axis).known() && size[axis].value == 0) {
    return value;
  }
  size[axis] = ParsedExtent::of(0);
  return writer.slice(value, start, size, stride);
}

}  // namespace

bool isControlFlow(const pb::NodeProto& proto) {
  const std::string& type = proto.op_type();
  return isStandardDomain(proto.domain()) && (type == "If" || type == "Loop" || type == "Scan");
}

// Nodes that written-out iterations may come to: more than that is slower to build than it gains.
constexpr int64_t kMostUnrolledNodes = 4096;

// Conditions and trip counts that are known while parsing, or follow from the number of the iteration alone.
bool NodeImport::isUnrolled(const OnnxNode& node, const Scope& scope) const {
  if (node.type() == "If") {
    return knownBool(node.input(0)).has_value();
  }
  const pb::GraphProto& body = node.graph("body");
  const int64_t most = std::min<int64_t>(kMostUnrolledIterations, kMostUnrolledNodes / std::max(body.node_size(), 1));
  if (node.type() == "Scan") {
    const int64_t sliced = node.integer("num_scan_inputs", 0);
    const auto first = static_cast<int64_t>(node.inputCount()) - sliced;
    if (node.opset() < 9 || sliced < 1 || first < 0) {
      return true;  // that of opset 8 always; else its importer says what is wrong
    }
    const Dimensions shape = node.shape(static_cast<size_t>(first));
    const auto axes = node.integers("scan_input_axes");
    const int64_t length = shape.at(static_cast<size_t>(listed(axes, 0, static_cast<int64_t>(shape.size()))));
    return length >= 1 && length <= most;
  }
  ParsedExtents count;
  const bool isCounted = node.hasInput(0);
  const bool isKnown = isCounted && writer_.asList(node.input(0), count) && count.size() == 1 && count[0].known();
  if (isCounted && !isKnown) {
    return false;
  }
  const bool isFew = isCounted && count[0].value >= 1 && count[0].value <= most;
  const bool beginsKnown = !node.hasInput(1) || knownBool(node.input(1)).has_value();
  return isFew && beginsKnown && body.output_size() > 0 && followsFromTheNumber(body, body.output(0).name(), scope);
}

Scope NodeImport::subgraphScope(const OnnxNode& node, const char* name, const Scope& scope) const {
  constexpr int kMostNested = 16;
  Scope inner;
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.attributes = scope.attributes;
  inner.functions = scope.functions;
  inner.topLevelNode = scope.topLevelNode;
  inner.depth = scope.depth + 1;
  if (inner.depth > kMostNested) {
    fail(FaultKind::kUnsupportedGraph, fmt::format("graphs are nested more than {} deep", kMostNested));
  }
  const std::string own = node.proto().name().empty() ? node.type() : node.proto().name();
  inner.prefix = fmt::format("{}{}/{}/", scope.prefix, own, name);
  inner.graphs = fmt::format("{} in {} of '{}'", scope.graphs, name, own);
  return inner;
}

void NodeImport::checkSubgraphs(const OnnxNode& node, const Scope& scope) {
  for (const char* name : node.type() == "If" ? std::vector{"then_branch", "else_branch"} : std::vector{"body"}) {
    node.graph(name);
  }
  for (const pb::AttributeProto& attribute : node.proto().attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    Scope inner = subgraphScope(node, attribute.name().c_str(), scope);
    for (const pb::NodeProto& child : attribute.g().node()) {
      check(child, inner);
    }
  }
}

// The values of the graph's outputs; fewer when one of its nodes failed, which is reported then.
ParsedValues NodeImport::importSubgraph(const pb::GraphProto& graph, Scope& inner) {
  for (const pb::TensorProto& tensor : graph.initializer()) {
    const WeightBytes& constant = loader_.load(tensor, inner.prefix + tensor.name());
    environment_.store.countModelWeights(constant.bytes());
    inner.values[tensor.name()] = constant;
  }
  for (const int index : topologicalOrder(graph)) {
    countInlined(1);
    if (import(graph.node(index), inner, inner.topLevelNode) != NodeStatus::kIMPORTED) {
      return {};
    }
  }
  ParsedValues results;
  for (const pb::ValueInfoProto& output : graph.output()) {
    const ParsedValue* found = findValue(inner, output.name());
    if (found == nullptr) {
      fail(FaultKind::kInvalidGraph, fmt::format("output '{}'{} is computed by no node", output.name(), inner.graphs));
    }
    results.push_back(*found);
  }
  return results;
}

ParsedValues NodeImport::importControlFlow(const OnnxNode& node, Scope& scope) {
  const std::string& type = node.type();
  return type == "If" ? importIf(node, scope) : type == "Loop" ? importLoop(node, scope) : importScan(node, scope);
}

void NodeImport::resume(const OnnxNode& node, const Scope& scope) {
  const std::string name = scope.prefix + (node.proto().name().empty() ? node.type() : node.proto().name());
  writer_.beginNode(name, fmt::format("[ONNX Layer: {}]", name));
}

ParsedValues NodeImport::importIf(const OnnxNode& node, Scope& scope) {
  const char* const names[] = {"then_branch", "else_branch"};
  if (needsJoin(node.graph(names[0]), node.graph(names[1]))) {
    return importJoined(node, scope);
  }
  if (isOptionalSqueeze(node)) {
    return importOptionalSqueeze(node, scope);
  }
  ITensor& condition = scalarTensor(writer_, node.input(0), "condition");
  nvinfer1::IIfConditional* conditional = writer_.network().addIfConditional();
  if (conditional == nullptr) {
    fail(FaultKind::kUnsupportedNode, "the network refused addIfConditional" + writer_.networkReason());
  }
  conditional->setName((scope.prefix + node.proto().name()).c_str());
  writer_.added(conditional->setCondition(condition), "setCondition");
  std::map<ITensor*, ITensor*> taken;  // tensors from outside, as the branches see them
  ParsedValues results[2];
  for (int i = 0; i < 2; ++i) {
    const pb::GraphProto& graph = node.graph(names[i]);
    Scope inner = subgraphScope(node, names[i], scope);
    std::set<std::string> read;
    collectNames(graph, read);
    for (const std::string& name : read) {
      const ParsedValue* found = findValue(inner, name);
      if (found == nullptr || !found->isTensor()) {
        continue;
      }
      ITensor*& input = taken[&found->tensor()];
      if (input == nullptr) {
        input = &writer_.output(writer_.added(conditional->addInput(found->tensor()), "addInput"));
      }
      inner.values[name] = *input;
    }
    const size_t errors = environment_.errors.size();
    results[i] = importSubgraph(graph, inner);
    if (environment_.errors.size() != errors) {
      return {};
    }
    resume(node, scope);
  }
  checkCount("results in else_branch", results[1].size(), results[0].size());
  ParsedValues outputs;
  for (size_t i = 0; i < results[0].size(); ++i) {
    ITensor& a = writer_.tensor(results[0][i]);
    ITensor& b = writer_.tensor(results[1][i]);
    outputs.emplace_back(writer_.output(writer_.added(conditional->addOutput(a, b), "addOutput")));
  }
  return outputs;
}

nvinfer1::ILoop& NodeImport::addLoop(const OnnxNode& node, const Scope& scope) {
  nvinfer1::ILoop* loop = writer_.network().addLoop();
  if (loop == nullptr) {
    fail(FaultKind::kUnsupportedNode, "the network refused addLoop" + writer_.networkReason());
  }
  loop->setName((scope.prefix + node.proto().name()).c_str());
  return *loop;
}

ParsedValues NodeImport::importLoop(const OnnxNode& node, Scope& scope) {
  const pb::GraphProto& body = node.graph("body");
  const size_t states = node.inputCount() < 2 ? 0 : node.inputCount() - 2;
  checkCount("inputs", static_cast<size_t>(body.input_size()), states + 2);
  if (static_cast<size_t>(body.output_size()) < states + 1) {
    checkCount("outputs", static_cast<size_t>(body.output_size()), states + 1);
  }
  // Exporters write the greatest number where only the condition counts.
  constexpr int64_t kEndless = INT64_MAX / 2;
  const std::optional<int64_t> known = node.hasInput(0) ? knownCount(writer_, node.input(0)) : std::nullopt;
  const bool counted = node.hasInput(0) && !(known && *known >= kEndless);
  ITensor* count = counted ? &scalarTensor(writer_, node.input(0), "trip count") : nullptr;

  nvinfer1::ILoop& loop = addLoop(node, scope);
  Scope inner = subgraphScope(node, "body", scope);
  auto& number =
      writer_.added(loop.addRecurrence(writer_.tensor(writer_.scalar(DataType::kINT64, 0))), "addRecurrence");
  const ParsedValue current = writer_.output(number);
  number.setInput(1, writer_.tensor(writer_.binary(current, writer_.scalar(DataType::kINT64, 1),
                                                   nvinfer1::ElementWiseOperation::kSUM)));
  inner.values[body.input(0).name()] = current;
  inner.values[body.input(1).name()] = writer_.scalar(DataType::kBOOL, 1);  // else the body would not run
  std::vector<nvinfer1::IRecurrenceLayer*> carried;
  std::map<size_t, size_t> appended;  // states that grow, with their axes
  for (size_t i = 0; i < states; ++i) {
    const std::string& name = body.input(static_cast<int>(i) + 2).name();
    if (const auto axis = appendedAxis(body, name, body.output(static_cast<int>(i) + 1).name())) {
      const auto at = static_cast<size_t>(normalizeAxis(*axis, writer_.rankOf(node.input(i + 2))));
      appended.emplace(i, at);
      inner.values[name] = noneOf(writer_, node.input(i + 2), at);  // the body then gives what it appends
      carried.push_back(nullptr);
      continue;
    }
    carried.push_back(&writer_.added(loop.addRecurrence(node.tensor(i + 2)), "addRecurrence"));
    inner.values[body.input(static_cast<int>(i) + 2).name()] = writer_.output(*carried.back());
  }
  const size_t errors = environment_.errors.size();
  const ParsedValues results = importSubgraph(body, inner);
  if (environment_.errors.size() != errors) {
    return {};
  }
  resume(node, scope);
  for (size_t i = 0; i < states; ++i) {
    if (carried[i] != nullptr) {
      carried[i]->setInput(1, writer_.tensor(results[i + 1]));
    }
  }

  const ParsedValue begins = node.hasInput(1) ? node.input(1) : writer_.scalar(DataType::kBOOL, 1);
  const bool conditional = knownBool(begins) != std::optional(true) || knownBool(results[0]) != std::optional(true);
  if (conditional) {
    auto& goesOn = writer_.added(loop.addRecurrence(scalarTensor(writer_, begins, "condition")), "addRecurrence");
    goesOn.setInput(1, scalarTensor(writer_, results[0], "condition of the next iteration"));
    writer_.added(loop.addTripLimit(writer_.output(goesOn), nvinfer1::TripLimit::kWHILE), "addTripLimit");
  }
  if (counted) {
    writer_.added(loop.addTripLimit(*count, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  } else if (!conditional) {
    fail(FaultKind::kInvalidNode, "the loop never ends: it has no trip count, and its condition is always true");
  }
  // The parts of all iterations behind each other along a new axis. Without a length there are as many as iterations.
  const auto stack = [&](const ParsedValue& part, size_t axis) {
    auto& layer = writer_.added(
        loop.addLoopOutput(writer_.tensor(part), nvinfer1::LoopOutput::kCONCATENATE, static_cast<int32_t>(axis)),
        "addLoopOutput");
    if (counted && !conditional) {
      layer.setInput(1, *count);
    }
    return ParsedValue(writer_.output(layer));
  };
  // Extents of what is appended are those of the value that it is appended to, but for the axis.
  const auto append = [&](const ParsedValue& begins, const ParsedValue& part, size_t axis) {
    ParsedExtents shape = writer_.dims(begins);
    const ParsedExtent own = writer_.dims(part).at(axis);
    if (!own.known()) {
      fail(FaultKind::kUnsupportedNode, "each iteration appends a number of elements that is not known while parsing");
    }
    shape[axis] = own;
    ParsedValue whole = stack(writer_.reshape(part, shape), axis);
    shape[axis] = writer_.combine(writer_.dims(whole).at(axis), own, nvinfer1::ElementWiseOperation::kPROD);
    whole = writer_.reshape(whole, shape);
    const ParsedExtent before = writer_.dims(begins).at(axis);
    return before.known() && before.value == 0 ? whole : writer_.concat({begins, whole}, static_cast<int32_t>(axis));
  };
  ParsedValues outputs;
  for (size_t i = 0; i < states; ++i) {
    if (const auto axis = appended.find(i); axis != appended.end()) {
      outputs.push_back(append(node.input(i + 2), results[i + 1], axis->second));
      continue;
    }
    outputs.emplace_back(writer_.output(writer_.added(
        loop.addLoopOutput(writer_.output(*carried[i]), nvinfer1::LoopOutput::kLAST_VALUE), "addLoopOutput")));
  }
  for (size_t i = states + 1; i < results.size(); ++i) {
    if (!node.usesOutput(i - 1)) {
      outputs.emplace_back();
      continue;
    }
    outputs.push_back(stack(results[i], 0));
  }
  return outputs;
}

ParsedValues NodeImport::importScan(const OnnxNode& node, Scope& scope) {
  const pb::GraphProto& body = node.graph("body");
  const int64_t sliced = node.integer("num_scan_inputs", 0);
  if (sliced < 1 || sliced > static_cast<int64_t>(node.inputCount())) {
    fail(FaultKind::kInvalidNode, fmt::format("num_scan_inputs is {}, expected 1 to {}", sliced, node.inputCount()));
  }
  const size_t states = node.inputCount() - static_cast<size_t>(sliced);
  checkCount("inputs", static_cast<size_t>(body.input_size()), node.inputCount());
  if (static_cast<size_t>(body.output_size()) < states) {
    checkCount("outputs", static_cast<size_t>(body.output_size()), states);
  }
  const auto inputAxes = node.integers("scan_input_axes");
  const auto inputDirections = node.integers("scan_input_directions");
  const auto outputAxes = node.integers("scan_output_axes");
  const auto outputDirections = node.integers("scan_output_directions");
  const int32_t firstAxis = listed(inputAxes, 0, node.rank(states));
  const ParsedExtent length = writer_.dims(node.input(states))[static_cast<size_t>(firstAxis)];
  ITensor& count = writer_.tensor(writer_.fromExtents({length}, true));

  nvinfer1::ILoop& loop = addLoop(node, scope);
  Scope inner = subgraphScope(node, "body", scope);
  std::vector<nvinfer1::IRecurrenceLayer*> carried;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const std::string& name = body.input(static_cast<int>(i)).name();
    if (i < states) {
      carried.push_back(&writer_.added(loop.addRecurrence(node.tensor(i)), "addRecurrence"));
      inner.values[name] = writer_.output(*carried.back());
      continue;
    }
    const int32_t axis = listed(inputAxes, i - states, node.rank(i));
    auto& iterator =
        writer_.added(loop.addIterator(node.tensor(i), axis, isListed(inputDirections, i - states)), "addIterator");
    inner.values[name] = writer_.output(iterator);
  }
  const size_t errors = environment_.errors.size();
  const ParsedValues results = importSubgraph(body, inner);
  if (environment_.errors.size() != errors) {
    return {};
  }
  resume(node, scope);
  writer_.added(loop.addTripLimit(count, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  ParsedValues outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < states) {
      carried[i]->setInput(1, writer_.tensor(results[i]));
      outputs.emplace_back(writer_.output(writer_.added(
          loop.addLoopOutput(writer_.output(*carried[i]), nvinfer1::LoopOutput::kLAST_VALUE), "addLoopOutput")));
      continue;
    }
    const auto kind =
        isListed(outputDirections, i - states) ? nvinfer1::LoopOutput::kREVERSE : nvinfer1::LoopOutput::kCONCATENATE;
    const int32_t axis = listed(outputAxes, i - states, writer_.rankOf(results[i]) + 1);
    auto& layer = writer_.added(loop.addLoopOutput(writer_.tensor(results[i]), kind, axis), "addLoopOutput");
    layer.setInput(1, count);
    outputs.emplace_back(writer_.output(layer));
  }
  return outputs;
}

}  // namespace tenon::parsers::onnx
