// Imports single nodes: by the table of operators, as an inlined function of the model, or as a plugin; and the check of
// all operators before anything is built.
#include <algorithm>

#include "graph_import.h"
#include "plugin_import.h"

namespace tenon::onnxparser {
namespace {

constexpr size_t kMaxFunctionDepth = 32;

int32_t clampOpset(int64_t opset) {
  return static_cast<int32_t>(std::min<int64_t>(opset == 0 ? kNewestOpset : opset, kNewestOpset));
}

bool isPlainOperator(const pb::NodeProto& proto, int32_t opset) {
  return isStandardDomain(proto.domain()) && findImporter(proto.op_type(), opset) != nullptr;
}

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
    return fmt::format("operator '{}' of domain '{}' has no importer, no function in the model and no plugin creator of that "
                       "name. Register a plugin '{}', or export with standard operators", type, proto.domain(), type);
  }
  if (hasImporter(type)) {
    return fmt::format("operator {} is imported for opsets {}, but the model uses opset {}. Convert the model", type,
                       opsetsOf(type), opset);
  }
  if (type == "If" || type == "Loop" || type == "Scan") {
    return fmt::format("{} holds a subgraph, which is not supported yet. Export with constant control flow, or fold the "
                       "model with its input shapes fixed", type);
  }
  return fmt::format("operator {} has no importer and no plugin creator of that name. Register a plugin '{}', or export with "
                     "supported operators (docs/onnx.md)", type, type);
}

}  // namespace

bool GraphImport::pluginFirst() const {
  return (environment_.flags >> static_cast<uint32_t>(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE)) & 1u;
}

const pb::FunctionProto* GraphImport::findFunction(const pb::NodeProto& proto) const {
  for (const pb::FunctionProto& function : model_.functions()) {
    const bool sameDomain = function.domain() == proto.domain() ||
                            (isStandardDomain(function.domain()) && isStandardDomain(proto.domain()));
    if (function.name() == proto.op_type() && sameDomain && function.overload() == proto.overload()) {
      return &function;
    }
  }
  return nullptr;
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
  record->description = fmt::format("node {} '{}' ({}, opset {}){}: {}", scope.topLevelNode, proto.name(), proto.op_type(),
                                    scope.opset(proto.domain()), path, error.what());
  record->setFunctionStack(scope.functions);
  environment_.errors.add(std::move(record));
}

bool GraphImport::checkOperators() {
  const size_t before = environment_.errors.size();
  for (int i = 0; i < model_.graph().node_size(); ++i) {
    const size_t errors = environment_.errors.size();
    top_.topLevelNode = i;
    checkNode(model_.graph().node(i), top_, i);
    if (environment_.errors.size() != errors) {
      status_[static_cast<size_t>(i)] = NodeStatus::kFAILED;
    }
  }
  return environment_.errors.size() == before;
}

void GraphImport::checkNode(const pb::NodeProto& proto, Scope& scope, int index) {
  const int32_t opset = clampOpset(scope.opset(proto.domain()));
  const Node node(proto, opset, {}, &scope.attributes, scope.prefix, emitter_, loader_);
  try {
    if (isPlainOperator(proto, opset) || findPluginCreator(environment_.network, node) != nullptr) {
      return;
    }
    const pb::FunctionProto* function = findFunction(proto);
    if (function == nullptr) {
      fail(ErrorCode::kUNSUPPORTED_NODE, whyUnsupported(proto, opset));
    }
    Scope inner = functionScope(*function, node, scope);
    for (const pb::NodeProto& child : function->node()) {
      checkNode(child, inner, index);
    }
  } catch (const ParseError& error) {
    report(proto, scope, error);
  }
}

GraphImport::Scope GraphImport::functionScope(const pb::FunctionProto& function, const Node& call,
                                              const Scope& scope) const {
  if (scope.functions.size() >= kMaxFunctionDepth) {
    fail(ErrorCode::kINVALID_GRAPH, fmt::format("function calls nest deeper than {}; does '{}' call itself?",
                                                kMaxFunctionDepth, function.name()));
  }
  Scope inner;
  inner.opset = [this, &function](const std::string& domain) -> int64_t {
    for (const pb::OperatorSetIdProto& entry : function.opset_import()) {
      if (entry.domain() == domain || (isStandardDomain(domain) && isStandardDomain(entry.domain()))) {
        return entry.version();
      }
    }
    return opsetOf(model_, domain);
  };
  inner.prefix = fmt::format("{}{}/", scope.prefix, call.proto().name().empty() ? function.name() : call.proto().name());
  inner.functions = scope.functions;
  inner.functions.push_back(function.name());
  inner.topLevelNode = scope.topLevelNode;
  for (const pb::AttributeProto& fallback : function.attribute_proto()) {
    inner.attributes[fallback.name()] = &fallback;
  }
  for (const pb::AttributeProto& own : call.proto().attribute()) {
    if (const pb::AttributeProto* attribute = call.find(own.name())) {
      inner.attributes[own.name()] = attribute;
    }
  }
  return inner;
}

Values GraphImport::importFunction(const pb::FunctionProto& function, const Node& call, Scope& scope) {
  Scope inner = functionScope(function, call, scope);
  for (int i = 0; i < function.input_size(); ++i) {
    inner.values[function.input(i)] = call.optional(static_cast<size_t>(i));
  }
  for (const pb::NodeProto& child : function.node()) {
    if (importNode(child, inner, scope.topLevelNode) != NodeStatus::kIMPORTED) {
      break;
    }
  }
  Values outputs;
  for (const std::string& name : function.output()) {
    const auto found = inner.values.find(name);
    outputs.push_back(found == inner.values.end() ? Value::poisoned() : found->second);
  }
  return outputs;
}

Values GraphImport::importOne(const pb::NodeProto& proto, Scope& scope, Values inputs) {
  const int32_t opset = clampOpset(scope.opset(proto.domain()));
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
  const pb::FunctionProto* function = findFunction(proto);
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
    if (std::any_of(inputs.begin(), inputs.end(), [](const Value& value) { return value.isPoisoned(); })) {
      poisonOutputs(proto, scope);
      return NodeStatus::kDEPENDS_ON_FAILED;
    }
    const std::string name = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
    emitter_.beginNode(scope.prefix + name, fmt::format("[ONNX Layer: {}]", scope.prefix + name));
    bindOutputs(proto, scope, importOne(proto, scope, std::move(inputs)));
    return environment_.errors.size() == errors ? NodeStatus::kIMPORTED : NodeStatus::kFAILED;
  } catch (const ParseError& error) {
    report(proto, scope, error);
    poisonOutputs(proto, scope);
    return NodeStatus::kFAILED;
  }
}

}  // namespace tenon::onnxparser
