// Walks the graph of a model and fills a network from it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "functions.h"
#include "node.h"
#include "operator_table.h"

namespace tenon::onnxparser {

// What an import needs from its parser.
struct ImportEnvironment {
  nvinfer1::INetworkDefinition& network;
  WeightStore& store;
  const ExternalFiles& files;
  const SuppliedInitializers* supplied;
  ErrorList& errors;
  nvinfer1::ILogger* logger;
  nvonnxparser::OnnxParserFlags flags;
  // Probe: keep going past unsupported nodes, with stand-ins for their outputs where value_info gives the shape.
  bool probe = false;
  // What the network said last, where that does not go to the log.
  std::string* networkMessage = nullptr;
};

// kDEPENDS_ON_FAILED: not tried, because what it reads comes from a node that failed.
enum class NodeStatus { kUNSEEN, kIMPORTED, kDEPENDS_ON_FAILED, kFAILED };

class GraphImport {
 public:
  GraphImport(const pb::ModelProto& model, const ImportEnvironment& environment);

  // True when every node was imported. All faults found are in the error list.
  bool run();

  const std::vector<NodeStatus>& status() const { return status_; }
  // Output tensors by node name, nullptr where an output is a constant.
  const std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>>& outputs() const { return nodeOutputs_; }

 private:
  // Names visible to the nodes of the graph or of one inlined function.
  struct Scope {
    std::unordered_map<std::string, Value> values;
    const Opsets* opsets = nullptr;
    AttributeMap attributes;
    std::string prefix;
    std::vector<std::string> functions;
    int topLevelNode = -1;
  };

  void warnOfOpset(int64_t opset) const;
  bool checkOperators();
  void checkNode(const pb::NodeProto& proto, Scope& scope);
  void checkFunction(const FunctionFacts& function, const Node& call, const Scope& scope);
  void addInitializers();
  void addInputs();
  void addInput(const pb::ValueInfoProto& info);
  void addOutputs();
  void addOutput(const pb::ValueInfoProto& info);
  void refuseProducer(const std::string& tensor);

  NodeStatus importNode(const pb::NodeProto& proto, Scope& scope, int index);
  Values importOne(const pb::NodeProto& proto, Scope& scope, Values inputs);
  Values importFunction(const FunctionFacts& function, const Node& call, Scope& scope);
  Scope functionScope(const FunctionFacts& function, const Node& call, const Scope& scope) const;
  Values gatherInputs(const pb::NodeProto& proto, const Scope& scope) const;
  void bindOutputs(const pb::NodeProto& proto, Scope& scope, const Values& outputs);
  void replaceOutputs(const pb::NodeProto& proto, Scope& scope, Value::Missing why);
  Value standIn(const std::string& name, Value::Missing why);
  bool pluginFirst() const;
  void report(const pb::NodeProto& proto, const Scope& scope, const ParseError& error);
  void log(nvinfer1::ILogger::Severity severity, const std::string& text) const;

  const pb::ModelProto& model_;
  const ImportEnvironment& environment_;
  const FunctionTable functions_;
  Emitter emitter_;
  TensorLoader loader_;
  Scope top_;
  std::vector<int> order_;
  std::vector<NodeStatus> status_;
  std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>> nodeOutputs_;
  std::unordered_map<std::string, const pb::ValueInfoProto*> valueInfo_;
  std::set<const nvinfer1::ITensor*> claimedOutputs_;
  std::unordered_map<const FunctionFacts*, int> refusedFunctions_;  // and the errors found in each; 0: none
  int64_t inlinedNodes_ = 0;
  int standIns_ = 0;
};

}  // namespace tenon::onnxparser
