// Imports a graph: initializers, inputs, nodes in topological order, outputs.
#include "graph_import.h"

#include <algorithm>
#include <cctype>

#include <tenon/printable.h>

#include "topology.h"

namespace tenon::parsers::onnx {

using nvinfer1::ITensor;
using Severity = nvinfer1::ILogger::Severity;

namespace {

// Equal names promise equal extents. Exporters that know no name write one of these for every dynamic extent alike.
bool isDimensionName(const std::string& name) {
  const bool letter =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name.front())) != 0 || name.front() == '_');
  return letter && name != "None" && name != "unknown" && name != "unk";
}

}  // namespace

GraphImport::GraphImport(const pb::ModelProto& model, const ImportEnvironment& environment)
    : model_(model), environment_(environment), nodes_(model, environment) {
  top_.opsets = &nodes_.modelOpsets();
  status_.assign(static_cast<size_t>(model.graph().node_size()), NodeStatus::kUNSEEN);
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
        fmt::format(
            "opset {} is older than {}, the oldest that this parser supports fully; nodes whose operators have not "
            "changed since then are imported, others are rejected. If that fails, convert the "
            "model with the ONNX version converter",
            opset, kOldestOpset));
  }
  if (opset > kNewestOpset) {
    log(Severity::kWARNING,
        fmt::format("opset {} is newer than {}, the newest that this parser supports; the model is read as opset {}",
                    opset, kNewestOpset, kNewestOpset));
  }
}

bool GraphImport::run() {
  const int64_t opset = nodes_.modelOpsets().of("");
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
      nodes_.replaceOutputs(model_.graph().node(index), top_, ParsedValue::Missing::kUntried);
      continue;
    }
    status = nodes_.import(model_.graph().node(index), top_, index);
    complete = complete && status == NodeStatus::kIMPORTED;
  }
  if (nodes_.loader().clampedDoubles() > 0) {
    log(Severity::kWARNING,
        fmt::format("{} DOUBLE weights exceed the range of FLOAT and were clamped", nodes_.loader().clampedDoubles()));
  }
  if (!complete) {
    return false;
  }
  addOutputs();
  return environment_.errors.size() == 0;
}

bool GraphImport::checkOperators() {
  const size_t before = environment_.errors.size();
  for (int i = 0; i < model_.graph().node_size(); ++i) {
    const size_t errors = environment_.errors.size();
    top_.topLevelNode = i;
    nodes_.check(model_.graph().node(i), top_);
    if (environment_.errors.size() != errors) {
      status_[static_cast<size_t>(i)] = NodeStatus::kFAILED;
    }
  }
  return environment_.errors.size() == before;
}

void GraphImport::addInitializers() {
  for (const pb::TensorProto& tensor : model_.graph().initializer()) {
    try {
      const WeightBytes& constant = nodes_.loader().load(tensor, tensor.name());
      environment_.store.countModelWeights(constant.bytes());
      top_.values[tensor.name()] = constant;
    } catch (const ParseError& error) {
      environment_.errors.addModelError(error);
      top_.values[tensor.name()] = ParsedValue::missing(ParsedValue::Missing::kRefused);
    }
  }
  for (const pb::SparseTensorProto& sparse : model_.graph().sparse_initializer()) {
    const std::string& name = sparse.values().name();
    try {
      top_.values[name] = nodes_.loader().loadSparse(sparse, name);
    } catch (const ParseError& error) {
      environment_.errors.addModelError(error);
      top_.values[name] = ParsedValue::missing(ParsedValue::Missing::kRefused);
    }
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
      top_.values[info.name()] = ParsedValue::missing(ParsedValue::Missing::kRefused);
    }
  }
}

void GraphImport::addInput(const pb::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("graph input '{}' is not a tensor, but a sequence, map or optional", info.name()));
  }
  const auto type = toDataType(info.type().tensor_type().elem_type());
  if (!type) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("graph input '{}' has elements of {}, a type that TensorRT does not have", info.name(),
                     onnxTypeName(info.type().tensor_type().elem_type())));
  }
  const auto shape = declaredShape(info);
  if (!shape) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("graph input '{}' has no declared rank; declare its shape in the model", info.name()));
  }
  ITensor* tensor = environment_.network.addInput(info.name().c_str(), *type, toDims(*shape));
  if (tensor == nullptr) {
    fail(FaultKind::kInvalidGraph, fmt::format("the network refused input '{}' of {}{}{}", info.name(), typeName(*type),
                                               toString(*shape), nodes_.writer().networkReason()));
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
    fail(FaultKind::kInvalidGraph, fmt::format("graph output '{}' is not the output of any node", info.name()));
  }
  if (found->second.isList()) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("graph output '{}' is a list of tensors (a sequence); networks give tensors. Make each tensor of "
                     "it an output",
                     info.name()));
  }
  nodes_.writer().beginNode(info.name() + "_output", "");
  ITensor* tensor = &nodes_.writer().tensor(found->second);
  if (tensor->isNetworkInput() || !claimedOutputs_.insert(tensor).second) {
    tensor = &nodes_.writer().output(nodes_.writer().added(environment_.network.addIdentity(*tensor), "addIdentity"));
    claimedOutputs_.insert(tensor);
  }
  tensor->setName(info.name().c_str());
  environment_.network.markOutput(*tensor);
}

}  // namespace tenon::parsers::onnx
