// Functions of the model and graphs of nodes whose way is known while parsing: their nodes are imported in place.
#include "made.h"
#include "node_import.h"
#include "topology.h"

namespace tenon::parsers::onnx {
namespace {

// One more level of something for as long as it lives.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& depth_;
};

}  // namespace

// Each function is looked into once, at its first call.
void NodeImport::checkFunction(const FunctionFacts& function, const OnnxNode& call, const Scope& scope) {
  FunctionTable::checkInlinable(function);
  if (scope.functions.empty() && scope.depth == 0 &&
      (__builtin_add_overflow(inlinedNodes_, function.nodes, &inlinedNodes_) || inlinedNodes_ > kMaxInlinedNodes)) {
    inlinedNodes_ -= function.nodes;
    fail(FaultKind::kUnsupportedGraph,
         fmt::format(
             "function '{}' has {}{} nodes when inlined, after {} of earlier calls; expected at most {} in total. "
             "Reduce the calls between functions",
             function.proto->name(), function.nodes, function.nodes == INT64_MAX ? " or more" : "", inlinedNodes_,
             kMaxInlinedNodes));
  }
  const auto [known, isNew] = refusedFunctions_.try_emplace(&function, 0);
  if (!isNew) {
    if (known->second > 0) {
      fail(FaultKind::kUnsupportedNode,
           fmt::format("function '{}' is rejected, as at its first call", function.proto->name()));
    }
    return;
  }
  const size_t errors = environment_.errors.size();
  Scope inner = functionScope(function, call, scope);
  for (const pb::NodeProto& child : function.proto->node()) {
    check(child, inner);
  }
  refusedFunctions_[&function] = static_cast<int>(environment_.errors.size() - errors);
}

void NodeImport::countInlined(int64_t nodes) {
  graphNodes_ += nodes;
  if (graphNodes_ > kMaxInlinedNodes) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("the graphs within nodes have more than {} nodes when functions are inlined; reduce the calls "
                     "between functions",
                     kMaxInlinedNodes));
  }
}

Scope NodeImport::functionScope(const FunctionFacts& function, const OnnxNode& call, const Scope& scope) const {
  const pb::FunctionProto& proto = *function.proto;
  Scope inner;
  inner.opsets = &function.opsets;
  inner.prefix = fmt::format("{}{}/", scope.prefix, call.proto().name().empty() ? proto.name() : call.proto().name());
  inner.functions = scope.functions;
  inner.functions.push_back(proto.name());
  inner.topLevelNode = scope.topLevelNode;
  inner.graphs = scope.graphs;
  inner.depth = scope.depth;
  for (const pb::AttributeProto& own : call.proto().attribute()) {
    if (const pb::AttributeProto* attribute = call.resolve(own)) {
      inner.attributes.emplace(own.name(), attribute);
    }
  }
  for (const pb::AttributeProto& fallback : proto.attribute_proto()) {
    inner.attributes.emplace(fallback.name(), &fallback);
  }
  return inner;
}

ParsedValues NodeImport::importFunction(const FunctionFacts& function, const OnnxNode& call, Scope& scope) {
  Scope inner = functionScope(function, call, scope);
  for (int i = 0; i < function.proto->input_size(); ++i) {
    inner.values[function.proto->input(i)] = call.optional(static_cast<size_t>(i));
  }
  bool complete = true;
  for (const pb::NodeProto& child : function.proto->node()) {
    if (scope.depth > 0) {
      countInlined(1);
    }
    complete = import(child, inner, scope.topLevelNode) == NodeStatus::kIMPORTED;
    if (!complete) {
      break;
    }
  }
  ParsedValues outputs;
  for (const std::string& name : function.proto->output()) {
    const auto found = inner.values.find(name);
    if (complete && found == inner.values.end()) {
      fail(FaultKind::kInvalidGraph, fmt::format("output '{}' of function '{}' is not the output of any of its nodes",
                                                 name, function.proto->name()));
    }
    outputs.push_back(found == inner.values.end() ? ParsedValue::missing(ParsedValue::Missing::kUntried)
                                                  : found->second);
  }
  return outputs;
}

ParsedValues NodeImport::importGraph(const pb::GraphProto& graph, const ParsedValues& inputs, const std::string& label,
                                     const OnnxNode& call, Scope& scope) {
  const Level level(graphDepth_);
  checkNesting(graphDepth_);
  const std::string name = call.proto().name().empty() ? call.type() : call.proto().name();
  Scope inner;
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.attributes = scope.attributes;
  inner.prefix = fmt::format("{}{}/{}/", scope.prefix, name, label);
  inner.functions = scope.functions;
  inner.functions.push_back(fmt::format("{} of {}", label, name));  // for messages
  inner.topLevelNode = scope.topLevelNode;
  for (const pb::TensorProto& tensor : graph.initializer()) {
    inner.values[tensor.name()] = loader_.load(tensor, inner.prefix + tensor.name());
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    inner.values[graph.input(i).name()] = inputs[static_cast<size_t>(i)];
  }
  if (__builtin_add_overflow(inlinedNodes_, int64_t{graph.node_size()}, &inlinedNodes_) ||
      inlinedNodes_ > kMaxInlinedNodes) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("the graphs of nodes have more than {} nodes when repeated; expected "
                     "fewer. Reduce the number of iterations",
                     kMaxInlinedNodes));
  }
  for (const int index : topologicalOrder(graph)) {
    if (import(graph.node(index), inner, scope.topLevelNode) != NodeStatus::kIMPORTED) {
      fail(FaultKind::kUnsupportedNode,
           fmt::format("node {} '{}' of its {} cannot be imported", index, graph.node(index).name(), label));
    }
  }
  // What the node does next carries its own name.
  writer_.beginNode(scope.prefix + name, fmt::format("[ONNX Layer: {}]", scope.prefix + name));
  ParsedValues outputs;
  for (const pb::ValueInfoProto& output : graph.output()) {
    const ParsedValue* found = findValue(inner, output.name());
    if (found == nullptr) {
      fail(FaultKind::kInvalidGraph,
           fmt::format("output '{}' of its {} is not the output of any node", output.name(), label));
    }
    outputs.push_back(*found);
  }
  return outputs;
}

}  // namespace tenon::parsers::onnx
