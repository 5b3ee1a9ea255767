// One ONNX node as its importer sees it: inputs as values, attributes by name, and the writer.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "common/term.h"
#include "onnx_types.h"
#include "tensor_loader.h"

namespace tenon::parsers::onnx {

// Attributes that a call of a local function binds, and those the function gives by default.
using AttributeMap = std::unordered_map<std::string, const pb::AttributeProto*>;

// Iterations of a loop that are written out, at most.
constexpr int64_t kMostUnrolledIterations = 512;

// Imports the graphs that a node has as attributes into the network, at the place of the node.
class SubgraphImporter {
 public:
  // The outputs of the graph; its inputs take the given values, and it sees the names around the node. `label` tells
  // copies of one graph apart. Fails where one of its nodes does.
  virtual ParsedValues importGraph(const pb::GraphProto& graph, const ParsedValues& inputs,
                                   const std::string& label) = 0;

 protected:
  ~SubgraphImporter() = default;
};

class OnnxNode {
 public:
  OnnxNode(const pb::NodeProto& proto, int32_t opset, ParsedValues inputs, const AttributeMap* bound,
           const std::string& prefix, NetworkWriter& writer, TensorLoader& loader)
      : proto_(proto),
        opset_(opset),
        inputs_(std::move(inputs)),
        bound_(bound),
        prefix_(prefix),
        writer_(writer),
        loader_(loader) {}

  const pb::NodeProto& proto() const { return proto_; }
  const std::string& type() const { return proto_.op_type(); }
  int32_t opset() const { return opset_; }
  // A name of the node's own scope as one of the whole network (functions are inlined under a prefix).
  std::string qualified(const std::string& name) const { return prefix_ + name; }
  NetworkWriter& writer() const { return writer_; }
  TensorLoader& loader() const { return loader_; }

  size_t inputCount() const { return inputs_.size(); }
  size_t outputCount() const { return static_cast<size_t>(proto_.output_size()); }
  bool hasInput(size_t index) const { return index < inputs_.size() && !inputs_[index].isNone(); }
  void setSubgraphs(SubgraphImporter& subgraphs) { subgraphs_ = &subgraphs; }
  // The outputs of the graph in an attribute, imported here; fails when there is none.
  ParsedValues importGraph(const char* attribute, const ParsedValues& inputs, const std::string& label) const;
  const pb::GraphProto& graph(const char* attribute) const;

  bool usesOutput(size_t index) const {
    return index < outputCount() && !proto_.output(static_cast<int>(index)).empty();
  }
  // Fails when the input is absent.
  const ParsedValue& input(size_t index) const;
  ParsedValue optional(size_t index) const { return hasInput(index) ? inputs_[index] : ParsedValue(); }
  nvinfer1::ITensor& tensor(size_t index) const { return writer_.tensor(input(index)); }
  const ParsedValues& inputs() const { return inputs_; }
  Term term(size_t index) const { return {writer_, input(index)}; }
  // Fails with kUNSUPPORTED_NODE_INPUT when the input is not known while parsing.
  const WeightBytes& constant(size_t index, const char* what) const;

  Dimensions shape(size_t index) const { return writer_.shapeOf(input(index)); }
  int64_t rank(size_t index) const { return writer_.rankOf(input(index)); }
  DataType dataType(size_t index) const { return writer_.typeOf(input(index)); }

  // Attributes; each fails when the attribute has another type.
  bool has(const char* name) const { return find(name) != nullptr; }
  int64_t integer(const char* name, int64_t fallback) const;
  float real(const char* name, float fallback) const;
  std::string text(const char* name, const std::string& fallback) const;
  std::vector<int64_t> integers(const char* name) const;
  std::vector<float> reals(const char* name) const;
  std::vector<std::string> texts(const char* name) const;
  // One of the given texts; fails otherwise.
  std::string choice(const char* name, const std::string& fallback, const std::vector<std::string>& allowed) const;
  const pb::AttributeProto* find(const std::string& name) const;
  // An attribute of this node after binding; nullptr where the caller of the function gives none.
  const pb::AttributeProto* resolve(const pb::AttributeProto& own) const;

  // -rank .. rank-1 to 0 .. rank-1, from the attribute "axis".
  int32_t axis(int64_t fallback, int64_t rank) const { return normalizeAxis(integer("axis", fallback), rank); }

 private:
  const pb::AttributeProto* checked(const char* name, int32_t type, const char* typeText) const;

  const pb::NodeProto& proto_;
  int32_t opset_;
  ParsedValues inputs_;
  const AttributeMap* bound_;
  std::string prefix_;
  NetworkWriter& writer_;
  TensorLoader& loader_;
  SubgraphImporter* subgraphs_ = nullptr;
};

}  // namespace tenon::parsers::onnx
