// If, and what Loop and Scan have in common with it: graphs are imported in place, between the boundary layers of a
// construct.
#include "control_flow.h"

#include <algorithm>
#include <map>
#include <set>

#include "branch_join.h"
#include "made.h"
#include "topology.h"

namespace tenon::parsers::onnx {

using nvinfer1::ITensor;

namespace {

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
  const bool begins = !node.hasInput(1) || knownBool(node.input(1)) == std::optional(true);
  return isFew && begins && body.output_size() > 0 && followsFromTheNumber(body, body.output(0).name(), scope);
}

Scope NodeImport::subgraphScope(const OnnxNode& node, const char* name, const Scope& scope) const {
  Scope inner;
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.attributes = scope.attributes;
  inner.functions = scope.functions;
  inner.topLevelNode = scope.topLevelNode;
  inner.depth = scope.depth + 1;
  checkNesting(inner.depth);
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

// The values of the graph's outputs, of which `lists` may be lists; fewer when one of its nodes failed, which is
// reported then.
ParsedValues NodeImport::importSubgraph(const pb::GraphProto& graph, Scope& inner, const std::set<size_t>& lists) {
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
    if (found->isList() && lists.count(results.size()) == 0) {
      fail(FaultKind::kUnsupportedGraph,
           fmt::format(
               "output '{}'{} is a list of tensors (a sequence), which a branch or a body that is decided at run "
               "time cannot give. Export with tensors alone",
               output.name(), inner.graphs));
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
  auto& conditional = made(writer_, writer_.network().addIfConditional(), "addIfConditional");
  conditional.setName((scope.prefix + node.proto().name()).c_str());
  writer_.added(conditional.setCondition(condition), "setCondition");
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
        input = &writer_.output(writer_.added(conditional.addInput(found->tensor()), "addInput"));
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
    outputs.emplace_back(writer_.output(writer_.added(conditional.addOutput(a, b), "addOutput")));
  }
  return outputs;
}

}  // namespace tenon::parsers::onnx
