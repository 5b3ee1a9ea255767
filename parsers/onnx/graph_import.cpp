// Imports a graph: initializers, inputs, nodes in topological order, outputs.
#include "graph_import.h"

#include <algorithm>
#include <cctype>

#include <tenon/printable.h>

#include "plugin_import.h"
#include "topology.h"

namespace tenon::onnxparser {

using nvinfer1::ITensor;
using Severity = nvinfer1::ILogger::Severity;

namespace {

// The shape of a declared tensor; nothing when the rank is not declared.
std::optional<Shape> declaredShape(const pb::ValueInfoProto& info) {
  if (!info.type().tensor_type().has_shape()) {
    return std::nullopt;
  }
  Shape shape;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return shape;
}

// Equal names promise equal extents. Exporters that know no name write one of these for every dynamic extent alike.
bool isDimensionName(const std::string& name) {
  const bool letter =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name.front())) != 0 || name.front() == '_');
  return letter && name != "None" && name != "unknown" && name != "unk";
}

}  // namespace

GraphImport::GraphImport(const pb::ModelProto& model, const ImportEnvironment& environment)
    : model_(model),
      environment_(environment),
      functions_(model),
      emitter_(environment.network, environment.store, environment.networkMessage),
      loader_(environment.store, environment.files, environment.supplied) {
  top_.opsets = &functions_.modelOpsets();
  status_.assign(static_cast<size_t>(model.graph().node_size()), NodeStatus::kUNSEEN);
  for (const pb::ValueInfoProto& info : model.graph().value_info()) {
    valueInfo_[info.name()] = &info;
  }
  for (const pb::ValueInfoProto& info : model.graph().output()) {
    valueInfo_[info.name()] = &info;
  }
}

void GraphImport::log(Severity severity, const std::string& text) const {
  if (environment_.logger != nullptr) {  // who asks what is supported asks often
    environment_.logger->log(environment_.probe ? Severity::kVERBOSE : severity, printable("[onnx] " + text).c_str());
  }
}

// Other opsets are tried: most operators mean the same in them. A node that does not is refused by its own version.
void GraphImport::warnOfOpset(int64_t opset) const {
  if (opset != 0 && opset < kOldestOpset) {
    log(Severity::kWARNING,
        fmt::format("opset {} is older than {}, the oldest this parser knows as a whole; nodes whose "
                    "operators have not changed since are imported, others refused. If that fails, convert the "
                    "model with the ONNX version converter",
                    opset, kOldestOpset));
  }
  if (opset > kNewestOpset) {
    log(Severity::kWARNING, fmt::format("opset {} is newer than {}, the newest this parser knows; read as {}", opset,
                                        kNewestOpset, kNewestOpset));
  }
}

bool GraphImport::run() {
  const int64_t opset = functions_.modelOpsets().of("");
  warnOfOpset(opset);
  log(Severity::kINFO,
      fmt::format("model '{}' of {} {}: IR version {}, opset {}, {} nodes, {} initializers", model_.graph().name(),
                  model_.producer_name(), model_.producer_version(), model_.ir_version(), opset,
                  model_.graph().node_size(), model_.graph().initializer_size()));
  order_ = topologicalOrder(model_.graph());
  if (!checkOperators() && !environment_.probe) {
    return false;
  }
  addInitializers();
  addInputs();
  bool complete = environment_.errors.size() == 0;
  if (!complete && !environment_.probe) {
    return false;
  }
  for (const int index : order_) {
    NodeStatus& status = status_[static_cast<size_t>(index)];
    if (status == NodeStatus::kFAILED) {  // found by checkOperators
      replaceOutputs(model_.graph().node(index), top_, Value::Missing::kUntried);
      continue;
    }
    status = importNode(model_.graph().node(index), top_, index);
    complete = complete && status == NodeStatus::kIMPORTED;
  }
  if (loader_.clampedDoubles() > 0) {
    log(Severity::kWARNING,
        fmt::format("{} DOUBLE weights lie outside FLOAT and were clamped", loader_.clampedDoubles()));
  }
  if (!complete) {
    return false;
  }
  addOutputs();
  return environment_.errors.size() == 0;
}

void GraphImport::addInitializers() {
  for (const pb::TensorProto& tensor : model_.graph().initializer()) {
    try {
      const Constant& constant = loader_.load(tensor, tensor.name());
      environment_.store.countInitializer(constant.bytes());
      top_.values[tensor.name()] = constant;
    } catch (const ParseError& error) {
      environment_.errors.addModelError(error);
      top_.values[tensor.name()] = Value::missing(Value::Missing::kRefused);
    }
  }
  if (model_.graph().sparse_initializer_size() > 0) {
    environment_.errors.addModelError(ErrorCode::kUNSUPPORTED_GRAPH,
                                      "the graph has sparse initializers; save them as dense tensors");
  }
  for (const pb::SparseTensorProto& sparse : model_.graph().sparse_initializer()) {
    top_.values[sparse.values().name()] = Value::missing(Value::Missing::kRefused);
  }
}

void GraphImport::addInputs() {
  for (const pb::ValueInfoProto& info : model_.graph().input()) {
    if (top_.values.count(info.name()) != 0) {
      continue;  // up to IR version 3, initializers were listed as inputs too
    }
    try {
      addInput(info);
    } catch (const ParseError& error) {
      environment_.errors.addModelError(error);
      top_.values[info.name()] = Value::missing(Value::Missing::kRefused);
    }
  }
}

void GraphImport::addInput(const pb::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) {
    fail(ErrorCode::kUNSUPPORTED_GRAPH,
         fmt::format("graph input '{}' is no tensor (a sequence, map or optional)", info.name()));
  }
  const auto type = toDataType(info.type().tensor_type().elem_type());
  if (!type) {
    fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
         fmt::format("graph input '{}' has elements of {}, which TensorRT lacks", info.name(),
                     onnxTypeName(info.type().tensor_type().elem_type())));
  }
  const auto shape = declaredShape(info);
  if (!shape) {
    fail(ErrorCode::kUNSUPPORTED_GRAPH,
         fmt::format("graph input '{}' has no declared rank; declare its shape", info.name()));
  }
  ITensor* tensor = environment_.network.addInput(info.name().c_str(), *type, toDims(*shape));
  if (tensor == nullptr) {
    fail(ErrorCode::kINVALID_GRAPH, fmt::format("the network refused input '{}' of {}{}{}", info.name(),
                                                typeName(*type), toString(*shape), emitter_.networkReason()));
  }
  for (int i = 0; i < info.type().tensor_type().shape().dim_size(); ++i) {
    const auto& dim = info.type().tensor_type().shape().dim(i);
    if (dim.has_dim_param() && isDimensionName(dim.dim_param())) {
      tensor->setDimensionName(i, dim.dim_param().c_str());
    }
  }
  top_.values[info.name()] = *tensor;
}

void GraphImport::addOutputs() {
  for (const pb::ValueInfoProto& info : model_.graph().output()) {
    try {
      addOutput(info);
    } catch (const ParseError& error) {
      environment_.errors.addModelError(error);
      refuseProducer(info.name());
    }
  }
}

void GraphImport::refuseProducer(const std::string& tensor) {
  for (int i = 0; i < model_.graph().node_size(); ++i) {
    const auto& outputs = model_.graph().node(i).output();
    if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) {
      status_[static_cast<size_t>(i)] = NodeStatus::kFAILED;
    }
  }
}

void GraphImport::addOutput(const pb::ValueInfoProto& info) {
  const auto found = top_.values.find(info.name());
  if (found == top_.values.end()) {
    fail(ErrorCode::kINVALID_GRAPH, fmt::format("graph output '{}' is made by no node", info.name()));
  }
  emitter_.beginNode(info.name() + "_output", "");
  ITensor* tensor = &emitter_.tensor(found->second);
  if (tensor->isNetworkInput() || !claimedOutputs_.insert(tensor).second) {
    tensor = &emitter_.output(emitter_.added(environment_.network.addIdentity(*tensor), "addIdentity"));
    claimedOutputs_.insert(tensor);
  }
  tensor->setName(info.name().c_str());
  environment_.network.markOutput(*tensor);
}

Values GraphImport::gatherInputs(const pb::NodeProto& proto, const Scope& scope) const {
  Values inputs;
  for (const std::string& name : proto.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const auto found = scope.values.find(name);
    if (found == scope.values.end()) {
      fail(ErrorCode::kINVALID_GRAPH,
           fmt::format("input '{}' is no graph input, initializer or output of a node", name));
    }
    inputs.push_back(found->second);
  }
  return inputs;
}

void GraphImport::bindOutputs(const pb::NodeProto& proto, Scope& scope, const Values& outputs) {
  std::set<const ITensor*> fresh;
  for (nvinfer1::ILayer* layer : emitter_.layersOfNode()) {
    for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
      fresh.insert(layer->getOutput(i));
    }
  }
  std::vector<ITensor*> tensors;
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string& name = proto.output(i);
    const Value value = static_cast<size_t>(i) < outputs.size() ? outputs[static_cast<size_t>(i)] : Value();
    tensors.push_back(value.isTensor() ? &value.tensor() : nullptr);
    if (name.empty()) {
      continue;
    }
    if (value.isNone()) {
      fail(ErrorCode::kUNSUPPORTED_NODE,
           fmt::format("output {} '{}' of {} cannot be computed; remove its uses", i, name, proto.op_type()));
    }
    scope.values[name] = value;
    const bool folded = value.isConstant() || value.isExtents();
    if (folded || (value.isTensor() && fresh.count(&value.tensor()) != 0)) {
      emitter_.nameTensor(value, scope.prefix + name);
    }
  }
  nodeOutputs_[scope.prefix + proto.name()] = std::move(tensors);
}

// Where the model declares what the tensor is, what follows can be tried all the same.
Value GraphImport::standIn(const std::string& name, Value::Missing why) {
  const auto found = valueInfo_.find(name);
  if (!environment_.probe || found == valueInfo_.end() || !found->second->type().has_tensor_type()) {
    return Value::missing(why);
  }
  const auto shape = declaredShape(*found->second);
  const auto type = toDataType(found->second->type().tensor_type().elem_type());
  if (!shape || !type || shape->size() > nvinfer1::Dims::MAX_DIMS) {
    return Value::missing(why);
  }
  const std::string unique = fmt::format("unsupported_{}_{}", standIns_++, name);
  ITensor* tensor = environment_.network.addInput(unique.c_str(), *type, toDims(*shape));
  return tensor == nullptr ? Value::missing(why) : Value(*tensor);
}

void GraphImport::replaceOutputs(const pb::NodeProto& proto, Scope& scope, Value::Missing why) {
  for (const std::string& name : proto.output()) {
    if (!name.empty()) {
      scope.values[name] = standIn(name, why);
    }
  }
}

}  // namespace tenon::onnxparser
