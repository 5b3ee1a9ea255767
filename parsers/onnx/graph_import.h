// Walks the graph of a model and fills a network from it.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "node_import.h"

namespace tenon::parsers::onnx {

class GraphImport {
 public:
  GraphImport(const pb::ModelProto& model, const ImportEnvironment& environment);

  // True when every node was imported. All faults found are in the error list.
  bool run();

  const std::vector<NodeStatus>& status() const { return status_; }
  // Output tensors by node name, nullptr where an output is a constant.
  const std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>>& outputs() const { return nodes_.outputs(); }

 private:
  void warnOfOpset(int64_t opset) const;
  bool checkOperators();
  void addInitializers();
  void addInputs();
  void addInput(const pb::ValueInfoProto& info);
  void addOutputs();
  void addOutput(const pb::ValueInfoProto& info);
  void refuseProducer(const std::string& tensor);
  void log(nvinfer1::ILogger::Severity severity, const std::string& text) const;

  const pb::ModelProto& model_;
  const ImportEnvironment& environment_;
  NodeImport nodes_;
  Scope top_;
  std::vector<int> order_;
  std::vector<NodeStatus> status_;
  std::set<const nvinfer1::ITensor*> claimedOutputs_;
};

}  // namespace tenon::parsers::onnx
