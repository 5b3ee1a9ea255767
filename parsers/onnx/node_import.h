// Imports single nodes: by the table of operators, as an inlined function of the model, or as a plugin.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "functions.h"
#include "import_environment.h"
#include "onnx_node.h"

namespace tenon::parsers::onnx {

// kDEPENDS_ON_FAILED: not tried, because what it reads comes from a node that failed.
enum class NodeStatus { kUNSEEN, kIMPORTED, kDEPENDS_ON_FAILED, kFAILED };

// Names visible to the nodes of the graph, of one inlined function, or of a graph within a node.
struct Scope {
  std::unordered_map<std::string, ParsedValue> values;
  const Scope* outer = nullptr;  // of the graph around an inlined one, whose names it sees
  const Opsets* opsets = nullptr;
  AttributeMap attributes;
  std::string prefix;
  std::vector<std::string> functions;
  std::string graphs;  // of the nodes that it lies within, for messages
  int depth = 0;       // how many of them
  int topLevelNode = -1;
};

// The value of a name of the scope, or of one around it; nullptr when there is none.
const ParsedValue* findValue(const Scope& scope, const std::string& name);

class NodeImport {
 public:
  NodeImport(const pb::ModelProto& model, const ImportEnvironment& environment);

  // Reports a node that nothing can import, before anything is built.
  void check(const pb::NodeProto& proto, Scope& scope);
  // Adds the layers of a node and binds its outputs in `scope`. `index`: of the node in the graph.
  NodeStatus import(const pb::NodeProto& proto, Scope& scope, int index);
  // Binds outputs of a node that is not imported.
  void replaceOutputs(const pb::NodeProto& proto, Scope& scope, ParsedValue::Missing why);

  const Opsets& modelOpsets() const { return functions_.modelOpsets(); }
  NetworkWriter& writer() { return writer_; }
  TensorLoader& loader() { return loader_; }
  // Output tensors by node name, nullptr where an output is a constant.
  const std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>>& outputs() const { return nodeOutputs_; }

 private:
  void checkFunction(const FunctionFacts& function, const OnnxNode& call, const Scope& scope);
  ParsedValues importOne(const pb::NodeProto& proto, Scope& scope, ParsedValues inputs);
  ParsedValues importFunction(const FunctionFacts& function, const OnnxNode& call, Scope& scope);
  Scope functionScope(const FunctionFacts& function, const OnnxNode& call, const Scope& scope) const;
  // The outputs of a graph in an attribute of `call`.
  ParsedValues importGraph(const pb::GraphProto& graph, const ParsedValues& inputs, const std::string& label,
                           const OnnxNode& call, Scope& scope);
  ParsedValues gatherInputs(const pb::NodeProto& proto, const Scope& scope) const;
  void bindOutputs(const pb::NodeProto& proto, Scope& scope, const ParsedValues& outputs);
  ParsedValue standIn(const std::string& name, ParsedValue::Missing why);
  bool pluginFirst() const;
  void countInlined(int64_t nodes);  // fails beyond the limit

  // If, Loop and Scan as conditionals and loops of the network (control_flow.cpp). What is known while parsing and
  // small is written out instead, by the importers of ops/control.cpp.
  bool isUnrolled(const OnnxNode& node, const Scope& scope) const;
  Scope subgraphScope(const OnnxNode& node, const char* name, const Scope& scope) const;
  void checkSubgraphs(const OnnxNode& node, const Scope& scope);
  ParsedValues importSubgraph(const pb::GraphProto& graph, Scope& inner, const std::set<size_t>& lists = {});
  ParsedValues importControlFlow(const OnnxNode& node, Scope& scope);
  ParsedValues importIf(const OnnxNode& node, Scope& scope);
  ParsedValues importJoined(const OnnxNode& node, Scope& scope);  // an If: both branches, see branch_join.h
  // An If of a squeeze whose extent is known at run time only: taken as 1 or as another one, and that is checked then.
  ParsedValues importOptionalSqueeze(const OnnxNode& node, Scope& scope);
  ParsedValues importLoop(const OnnxNode& node, Scope& scope);
  ParsedValues importScan(const OnnxNode& node, Scope& scope);
  nvinfer1::ILoop& addLoop(const OnnxNode& node, const Scope& scope);
  void resume(const OnnxNode& node, const Scope& scope);  // layers belong to the node again, not to one within it

  void report(const pb::NodeProto& proto, const Scope& scope, const ParseError& error);

  const ImportEnvironment& environment_;
  const FunctionTable functions_;
  NetworkWriter writer_;
  TensorLoader loader_;
  std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>> nodeOutputs_;
  std::unordered_map<std::string, const pb::ValueInfoProto*> valueInfo_;
  std::unordered_map<const FunctionFacts*, int> refusedFunctions_;  // and the errors found in each; 0: none
  int64_t inlinedNodes_ = 0;
  int64_t graphNodes_ = 0;  // imported from graphs within nodes
  int standIns_ = 0;
  int graphDepth_ = 0;
};

bool isControlFlow(const pb::NodeProto& proto);

// The shape of a declared tensor; nothing when the rank is not declared.
std::optional<Dimensions> declaredShape(const pb::ValueInfoProto& info);

}  // namespace tenon::parsers::onnx
