// Imports single nodes: by the table of operators, as an inlined function of the model, or as a plugin; and the check
// of all operators before anything is built.
#include <algorithm>

#include "graph_import.h"
#include "plugin_import.h"

namespace tenon::onnxparser {
namespace {

std::string opsetsOf(const std::string& name) {
  std::string text;
  for (const OperatorImporter& row : operatorTable()) {
    if (row.name == name) {
      text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", row.firstOpset, row.lastOpset);
    }
  }
  return text;
}

std::string whyUnsupported(const pb::NodeProto& proto, int32_t opset) {
  const std::string& type = proto.op_type();
  if (!isStandardDomain(proto.domain())) {
    return fmt::format(
        "operator '{}' of domain '{}' has no importer, no function in the model and no plugin creator of that "
        "name. Register a plugin '{}', or export with standard operators",
        type, proto.domain(), type);
  }
  if (hasImporter(type)) {
    return fmt::format("operator {} is imported for opsets {}, but the model uses opset {}. Convert the model", type,
                       opsetsOf(type), opset);
  }
  if (type == "If" || type == "Loop" || type == "Scan") {
    return fmt::format(
        "{} holds a subgraph, which is not supported yet. Export with constant control flow, or fold the "
        "model with its input shapes fixed",
        type);
  }
  return fmt::format(
      "operator {} has no importer and no plugin creator of that name. Register a plugin '{}', or export with "
      "supported operators (docs/onnx.md)",
      type, type);
}

}  // namespace

bool GraphImport::pluginFirst() const {
  return (environment_.flags >> static_cast<uint32_t>(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE)) & 1u;
}

void GraphImport::report(const pb::NodeProto& proto, const Scope& scope, const ParseError& error) {
  auto record = std::make_unique<ErrorRecord>();
  record->errorCode = error.code();
  record->where = error.where();
  record->nodeIndex = scope.topLevelNode;
  record->name = proto.name();
  record->operatorName = proto.op_type();
  std::string path;
  for (const std::string& function : scope.functions) {
    path += fmt::format(" in function {}", function);
  }
  record->description = fmt::format("node {} '{}' ({}, opset {}){}: {}", scope.topLevelNode, proto.name(),
                                    proto.op_type(), scope.opsets->of(proto.domain()), path, error.what());
  record->setFunctionStack(scope.functions);
  environment_.errors.add(std::move(record));
}

bool GraphImport::checkOperators() {
  const size_t before = environment_.errors.size();
  for (int i = 0; i < model_.graph().node_size(); ++i) {
    const size_t errors = environment_.errors.size();
    top_.topLevelNode = i;
    checkNode(model_.graph().node(i), top_);
    if (environment_.errors.size() != errors) {
      status_[static_cast<size_t>(i)] = NodeStatus::kFAILED;
    }
  }
  return environment_.errors.size() == before;
}

void GraphImport::checkNode(const pb::NodeProto& proto, Scope& scope) {
  const int64_t opset = scope.opsets->of(proto.domain());
  const Node node(proto, readAsOpset(opset), {}, &scope.attributes, scope.prefix, emitter_, loader_);
  try {
    if (isPlainOperator(proto, opset) || findPluginCreator(environment_.network, node) != nullptr) {
      return;
    }
    const FunctionFacts* function = functions_.find(proto);
    if (function == nullptr) {
      fail(ErrorCode::kUNSUPPORTED_NODE, whyUnsupported(proto, readAsOpset(opset)));
    }
    checkFunction(*function, node, scope);
  } catch (const ParseError& error) {
    report(proto, scope, error);
  }
}

// Each function is looked into once, at its first call.
void GraphImport::checkFunction(const FunctionFacts& function, const Node& call, const Scope& scope) {
  FunctionTable::checkInlinable(function);
  if (scope.functions.empty() &&
      (__builtin_add_overflow(inlinedNodes_, function.nodes, &inlinedNodes_) || inlinedNodes_ > kMaxInlinedNodes)) {
    inlinedNodes_ -= function.nodes;
    fail(ErrorCode::kUNSUPPORTED_GRAPH,
         fmt::format(
             "function '{}' stands for {}{} nodes when inlined, besides {} of the calls before; expected {} in all. "
             "Let functions call each other less often",
             function.proto->name(), function.nodes, function.nodes == INT64_MAX ? " or more" : "", inlinedNodes_,
             kMaxInlinedNodes));
  }
  const auto [known, isNew] = refusedFunctions_.try_emplace(&function, 0);
  if (!isNew) {
    if (known->second > 0) {
      fail(ErrorCode::kUNSUPPORTED_NODE,
           fmt::format("function '{}' is refused, as at its first call", function.proto->name()));
    }
    return;
  }
  const size_t errors = environment_.errors.size();
  Scope inner = functionScope(function, call, scope);
  for (const pb::NodeProto& child : function.proto->node()) {
    checkNode(child, inner);
  }
  refusedFunctions_[&function] = static_cast<int>(environment_.errors.size() - errors);
}

GraphImport::Scope GraphImport::functionScope(const FunctionFacts& function, const Node& call,
                                              const Scope& scope) const {
  const pb::FunctionProto& proto = *function.proto;
  Scope inner;
  inner.opsets = &function.opsets;
  inner.prefix = fmt::format("{}{}/", scope.prefix, call.proto().name().empty() ? proto.name() : call.proto().name());
  inner.functions = scope.functions;
  inner.functions.push_back(proto.name());
  inner.topLevelNode = scope.topLevelNode;
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

Values GraphImport::importFunction(const FunctionFacts& function, const Node& call, Scope& scope) {
  Scope inner = functionScope(function, call, scope);
  for (int i = 0; i < function.proto->input_size(); ++i) {
    inner.values[function.proto->input(i)] = call.optional(static_cast<size_t>(i));
  }
  for (const pb::NodeProto& child : function.proto->node()) {
    if (importNode(child, inner, scope.topLevelNode) != NodeStatus::kIMPORTED) {
      break;
    }
  }
  Values outputs;
  for (const std::string& name : function.proto->output()) {
    const auto found = inner.values.find(name);
    outputs.push_back(found == inner.values.end() ? Value::missing(Value::Missing::kUntried) : found->second);
  }
  return outputs;
}

Values GraphImport::importOne(const pb::NodeProto& proto, Scope& scope, Values inputs) {
  const int32_t opset = readAsOpset(scope.opsets->of(proto.domain()));
  Node node(proto, opset, std::move(inputs), &scope.attributes, scope.prefix, emitter_, loader_);
  const OperatorImporter* row = isStandardDomain(proto.domain()) ? findImporter(proto.op_type(), opset) : nullptr;
  if (row == nullptr || pluginFirst()) {
    if (auto* creator = findPluginCreator(environment_.network, node)) {
      return importPlugin(node, *creator);
    }
  }
  if (row != nullptr) {
    return row->import(node);
  }
  const FunctionFacts* function = functions_.find(proto);
  if (function == nullptr) {
    fail(ErrorCode::kUNSUPPORTED_NODE, whyUnsupported(proto, opset));
  }
  return importFunction(*function, node, scope);
}

NodeStatus GraphImport::importNode(const pb::NodeProto& proto, Scope& scope, int index) {
  if (scope.functions.empty()) {
    scope.topLevelNode = index;
  }
  const size_t errors = environment_.errors.size();
  try {
    Values inputs = gatherInputs(proto, scope);
    auto missing = Value::Missing::kNo;
    for (const Value& input : inputs) {
      missing = std::max(missing, input.missing());
    }
    if (missing != Value::Missing::kNo) {
      replaceOutputs(proto, scope, missing);
      return missing == Value::Missing::kRefused ? NodeStatus::kFAILED : NodeStatus::kDEPENDS_ON_FAILED;
    }
    const std::string name = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
    emitter_.beginNode(scope.prefix + name, fmt::format("[ONNX Layer: {}]", scope.prefix + name));
    const Values outputs = importOne(proto, scope, std::move(inputs));
    if (environment_.errors.size() == errors) {
      bindOutputs(proto, scope, outputs);
      return NodeStatus::kIMPORTED;
    }
  } catch (const ParseError& error) {
    report(proto, scope, error);
  }
  replaceOutputs(proto, scope, Value::Missing::kUntried);
  return NodeStatus::kFAILED;
}

}  // namespace tenon::onnxparser
