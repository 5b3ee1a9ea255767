// Imports single nodes: by the table of operators or as a plugin; and the check of all operators before anything is
// built. Functions of the model: inlined_graphs.cpp.
#include "node_import.h"

#include <algorithm>
#include <set>

#include "operator_table.h"
#include "plugin_import.h"

namespace tenon::parsers::onnx {

using nvinfer1::ITensor;

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

// Operators of the standard domain whose values no tensor of the interface can hold, with what to do.
std::string whyLeftOut(const std::string& type) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), type) != names.end();
  };
  if (type == "ImageDecoder") {
    return "it decodes a file of a picture, whose size only the file says. Decode pictures before the network, and make "
           "their pixels its input";
  }
  if (is({"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"})) {
    return "it computes with texts, which tensors of TensorRT do not hold. Prepare texts before the network";
  }
  return {};
}

std::string whyUnsupported(const pb::NodeProto& proto, int32_t opset) {
  const std::string& type = proto.op_type();
  if (!isStandardDomain(proto.domain())) {
    return fmt::format(
        "operator '{}' of domain '{}' has no importer, no function in the model and no plugin creator of that "
        "name. Register a plugin '{}', or export with standard operators",
        type, proto.domain(), type);
  }
  if (hasImporter(proto.domain(), type)) {
    return fmt::format("operator {} is imported for opsets {}, but the model uses opset {}. Convert the model", type,
                       opsetsOf(type), opset);
  }
  if (const std::string reason = whyLeftOut(type); !reason.empty()) {
    return fmt::format("operator {} is not imported: {}. Or register a plugin '{}'", type, reason, type);
  }
  return fmt::format(
      "operator {} has no importer and no plugin creator of that name. Register a plugin '{}', or export with "
      "supported operators (docs/onnx.md)",
      type, type);
}

// Which inputs may be lists of tensors: the first of operators on lists, what loops that are written out carry.
struct ListInputs {
  size_t first = 0, count = 0;
};
ListInputs listInputs(const pb::NodeProto& proto) {
  const std::string& type = proto.op_type();
  if (!isStandardDomain(proto.domain())) {
    return {};
  }
  if (type == "Loop" || type == "SequenceMap") {
    return {type == "Loop" ? size_t{2} : size_t{0}, SIZE_MAX};
  }
  const auto takers = {"Identity",   "SequenceInsert",     "SequenceErase",
                       "SequenceAt", "SequenceLength",     "ConcatFromSequence",
                       "Optional",   "OptionalHasElement", "OptionalGetElement"};
  return {0, std::find(takers.begin(), takers.end(), type) == takers.end() ? size_t{0} : size_t{1}};
}

void refuseLists(const OnnxNode& node, ListInputs allowed = {}) {
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (node.inputs()[i].isList() && (i < allowed.first || i - allowed.first >= allowed.count)) {
      fail(FaultKind::kInvalidNode,
           fmt::format("input {} is a list of tensors (a sequence); expected a tensor. Lists are for SequenceAt, "
                       "ConcatFromSequence and their kind, and for loops that are written out while parsing",
                       i));
    }
  }
}

}  // namespace

const ParsedValue* findValue(const Scope& scope, const std::string& name) {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    const auto found = at->values.find(name);
    if (found != at->values.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

std::optional<Dimensions> declaredShape(const pb::ValueInfoProto& info) {
  if (!info.type().tensor_type().has_shape()) {
    return std::nullopt;
  }
  Dimensions shape;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return shape;
}

NodeImport::NodeImport(const pb::ModelProto& model, const ImportEnvironment& environment)
    : environment_(environment),
      functions_(model),
      writer_(environment.network, environment.store, environment.networkMessage),
      loader_(environment.store, environment.files, environment.supplied) {
  for (const pb::ValueInfoProto& info : model.graph().value_info()) {
    valueInfo_[info.name()] = &info;
  }
  for (const pb::ValueInfoProto& info : model.graph().output()) {
    valueInfo_[info.name()] = &info;
  }
}

bool NodeImport::pluginFirst() const {
  return (environment_.flags >> static_cast<uint32_t>(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE)) & 1u;
}

void NodeImport::report(const pb::NodeProto& proto, const Scope& scope, const ParseError& error) {
  auto record = std::make_unique<ErrorRecord>();
  record->kind = error.kind();
  record->where = error.where();
  record->nodeIndex = scope.topLevelNode;
  record->name = proto.name();
  record->operatorName = proto.op_type();
  std::string path;
  for (const std::string& function : scope.functions) {
    path += fmt::format(" in function {}", function);
  }
  record->description =
      fmt::format("node {} '{}' ({}, opset {}){}{}: {}", scope.topLevelNode, proto.name(), proto.op_type(),
                  scope.opsets->of(proto.domain()), scope.graphs, path, error.what());
  record->setFunctionStack(scope.functions);
  environment_.errors.add(std::move(record));
}

void NodeImport::check(const pb::NodeProto& proto, Scope& scope) {
  const int64_t opset = scope.opsets->of(proto.domain());
  const OnnxNode node(proto, readAsOpset(opset), {}, &scope.attributes, scope.prefix, writer_, loader_);
  try {
    if (isControlFlow(proto)) {
      checkSubgraphs(node, scope);
      return;
    }
    if (isPlainOperator(proto, opset) || findPluginCreator(environment_.network, node) != nullptr) {
      return;
    }
    const FunctionFacts* function = functions_.find(proto);
    if (function == nullptr) {
      fail(FaultKind::kUnsupportedNode,
           whyUnsupported(proto, readAsOpset(opset)) + nearPlugins(environment_.network, node));
    }
    checkFunction(*function, node, scope);
  } catch (const ParseError& error) {
    report(proto, scope, error);
  }
}

ParsedValues NodeImport::importOne(const pb::NodeProto& proto, Scope& scope, ParsedValues inputs) {
  const int32_t opset = readAsOpset(scope.opsets->of(proto.domain()));
  OnnxNode node(proto, opset, std::move(inputs), &scope.attributes, scope.prefix, writer_, loader_);
  const OperatorImporter* row = findImporter(proto.domain(), proto.op_type(), opset);
  if (row == nullptr || pluginFirst()) {
    if (auto* creator = findPluginCreator(environment_.network, node)) {
      refuseLists(node);
      return importPlugin(node, *creator);
    }
  }
  struct Graphs final : SubgraphImporter {
    Graphs(NodeImport& import, const OnnxNode& node, Scope& scope) : import(import), node(node), scope(scope) {}
    ParsedValues importGraph(const pb::GraphProto& graph, const ParsedValues& inputs,
                             const std::string& label) override {
      return import.importGraph(graph, inputs, label, node, scope);
    }
    NodeImport& import;
    const OnnxNode& node;
    Scope& scope;
  } graphs(*this, node, scope);
  node.setSubgraphs(graphs);
  if (row != nullptr) {
    refuseLists(node, listInputs(proto));
  }
  if (isControlFlow(proto) && !isUnrolled(node, scope)) {
    refuseLists(node, listInputs(proto));
    return importControlFlow(node, scope);
  }
  if (row != nullptr) {
    return row->import(node);
  }
  const FunctionFacts* function = functions_.find(proto);
  if (function == nullptr) {
    fail(FaultKind::kUnsupportedNode, whyUnsupported(proto, opset) + nearPlugins(environment_.network, node));
  }
  // Calls from graphs within nodes were not counted before.
  const auto& open = scope.functions;
  if (std::find(open.begin(), open.end(), function->proto->name()) != open.end()) {
    fail(FaultKind::kUnsupportedGraph, fmt::format("function '{}' calls itself", function->proto->name()));
  }
  return importFunction(*function, node, scope);
}

NodeStatus NodeImport::import(const pb::NodeProto& proto, Scope& scope, int index) {
  if (scope.functions.empty() && scope.depth == 0) {
    scope.topLevelNode = index;
  }
  const size_t errors = environment_.errors.size();
  try {
    ParsedValues inputs = gatherInputs(proto, scope);
    auto missing = ParsedValue::Missing::kNo;
    for (const ParsedValue& input : inputs) {
      missing = std::max(missing, input.missing());
    }
    if (missing != ParsedValue::Missing::kNo) {
      replaceOutputs(proto, scope, missing);
      return missing == ParsedValue::Missing::kRefused ? NodeStatus::kFAILED : NodeStatus::kDEPENDS_ON_FAILED;
    }
    const std::string name = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
    writer_.beginNode(scope.prefix + name, fmt::format("[ONNX Layer: {}]", scope.prefix + name));
    const ParsedValues outputs = importOne(proto, scope, std::move(inputs));
    if (environment_.errors.size() == errors) {
      bindOutputs(proto, scope, outputs);
      return NodeStatus::kIMPORTED;
    }
  } catch (const ParseError& error) {
    report(proto, scope, error);
  }
  replaceOutputs(proto, scope, ParsedValue::Missing::kUntried);
  return NodeStatus::kFAILED;
}

ParsedValues NodeImport::gatherInputs(const pb::NodeProto& proto, const Scope& scope) const {
  ParsedValues inputs;
  for (const std::string& name : proto.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const ParsedValue* found = findValue(scope, name);
    if (found == nullptr) {
      fail(FaultKind::kInvalidGraph,
           fmt::format("input '{}' is not a graph input, an initializer or the output of a node", name));
    }
    inputs.push_back(*found);
  }
  return inputs;
}

void NodeImport::bindOutputs(const pb::NodeProto& proto, Scope& scope, const ParsedValues& outputs) {
  std::set<const ITensor*> fresh;
  for (nvinfer1::ILayer* layer : writer_.layersOfNode()) {
    for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
      fresh.insert(layer->getOutput(i));
    }
  }
  std::vector<ITensor*> tensors;
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string& name = proto.output(i);
    const ParsedValue value = static_cast<size_t>(i) < outputs.size() ? outputs[static_cast<size_t>(i)] : ParsedValue();
    tensors.push_back(value.isTensor() ? &value.tensor() : nullptr);
    if (name.empty()) {
      continue;
    }
    if (value.isNone()) {
      fail(FaultKind::kUnsupportedNode,
           fmt::format("output {} '{}' of {} cannot be computed; remove its uses", i, name, proto.op_type()));
    }
    scope.values[name] = value;
    const bool folded = value.isConstant() || value.isExtents();
    if (folded || (value.isTensor() && fresh.count(&value.tensor()) != 0)) {
      writer_.nameTensor(value, scope.prefix + name);
    }
  }
  nodeOutputs_[scope.prefix + proto.name()] = std::move(tensors);
}

// Where the model declares what the tensor is, what follows can be tried all the same.
ParsedValue NodeImport::standIn(const std::string& name, ParsedValue::Missing why) {
  const auto found = valueInfo_.find(name);
  if (!environment_.probe || found == valueInfo_.end() || !found->second->type().has_tensor_type()) {
    return ParsedValue::missing(why);
  }
  const auto shape = declaredShape(*found->second);
  const auto type = toDataType(found->second->type().tensor_type().elem_type());
  if (!shape || !type || shape->size() > nvinfer1::Dims::MAX_DIMS) {
    return ParsedValue::missing(why);
  }
  const std::string unique = fmt::format("unsupported_{}_{}", standIns_++, name);
  ITensor* tensor = environment_.network.addInput(unique.c_str(), *type, toDims(*shape));
  return tensor == nullptr ? ParsedValue::missing(why) : ParsedValue(*tensor);
}

void NodeImport::replaceOutputs(const pb::NodeProto& proto, Scope& scope, ParsedValue::Missing why) {
  for (const std::string& name : proto.output()) {
    if (!name.empty()) {
      scope.values[name] = standIn(name, why);
    }
  }
}

}  // namespace tenon::parsers::onnx
