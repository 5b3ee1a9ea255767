// Writes layers into a network through the public API, folding what is constant on the way.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "error.h"
#include "weight_store.h"

namespace tenon::parsers {

// Importers describe a node as operations on values; this class decides whether an operation becomes a constant, a
// change of known extents, or layers. One object per import, used by one thread.
class NetworkWriter {
 public:
  // networkMessage: what the network said last, where that is not in the log.
  explicit NetworkWriter(nvinfer1::INetworkDefinition& network, WeightStore& store,
                         std::string* networkMessage = nullptr)
      : network_(network), store_(store), networkMessage_(networkMessage) {}

  nvinfer1::INetworkDefinition& network() { return network_; }
  WeightStore& store() { return store_; }

  // Layers added from now on are named after `base` ("conv1", "conv1_1", ...) and carry `metadata`.
  void beginNode(const std::string& base, const std::string& metadata);
  const std::vector<nvinfer1::ILayer*>& layersOfNode() const { return nodeLayers_; }

  // Names a new layer; fails when the network returned nullptr for `call`.
  template <typename Layer>
  Layer& added(Layer* layer, const char* call) {
    if (layer == nullptr) {
      refuse(call);
    }
    registerLayer(*layer);
    return *layer;
  }
  // Output `index` of a layer; fails when the network could not make one.
  nvinfer1::ITensor& output(nvinfer1::ILayer& layer, int32_t index = 0);
  void nameWeights(const WeightBytes& constant);
  // The name of a tensor in the model. What is folded gets it when, and if, it becomes a tensor; the first name stays.
  void nameTensor(const ParsedValue& value, const std::string& name);
  // Why the network refused its last call, as the end of a sentence.
  std::string networkReason() const;

  // Facts.
  Dimensions shapeOf(const ParsedValue& value) const;
  DataType typeOf(const ParsedValue& value) const;
  int64_t rankOf(const ParsedValue& value) const { return static_cast<int64_t>(shapeOf(value).size()); }
  ParsedExtents dims(const ParsedValue& value) const;  // the shape
  ParsedExtents elements(const ParsedValue& value);    // the contents of a list of integers (rank 0 or 1)
  // The same without emitting layers: false where the contents are those of a tensor.
  bool asList(const ParsedValue& value, ParsedExtents& list) const;

  // Values to tensors and back.
  nvinfer1::ITensor& tensor(const ParsedValue& value);
  ParsedValue fromExtents(ParsedExtents extents, bool scalar = false, DataType type = DataType::kINT64);
  nvinfer1::ITensor& shapeTensor(const ParsedExtents& extents) { return tensor(fromExtents(extents)); }
  ParsedValue scalar(DataType type, double number, int64_t rank = 0);
  ParsedValue list(const std::vector<int64_t>& numbers);

  // Arithmetic on one integer.
  ParsedExtent combine(const ParsedExtent& a, const ParsedExtent& b, nvinfer1::ElementWiseOperation operation);
  ParsedExtent product(const ParsedExtents& extents, size_t begin, size_t end);

  // Pointwise. Operands broadcast, aligned at their last axes.
  ParsedValue unary(const ParsedValue& value, nvinfer1::UnaryOperation operation);
  ParsedValue binary(const ParsedValue& a, const ParsedValue& b, nvinfer1::ElementWiseOperation operation);
  ParsedValue select(const ParsedValue& condition, const ParsedValue& a, const ParsedValue& b);
  ParsedValue cast(const ParsedValue& value, DataType type);
  ParsedValue activation(const ParsedValue& value, nvinfer1::ActivationType type, float alpha = 0.0f,
                         float beta = 0.0f);
  ParsedValue alignRank(const ParsedValue& value, int64_t rank);

  // Movement. A known extent of -1 in `target` stands for "what remains", once.
  ParsedValue reshape(const ParsedValue& value, const ParsedExtents& target);
  ParsedValue unsqueeze(const ParsedValue& value, const std::vector<int64_t>& axes);  // axes of the result
  ParsedValue squeeze(const ParsedValue& value, const std::vector<int64_t>& axes);
  ParsedValue transpose(const ParsedValue& value, const std::vector<int32_t>& order);
  ParsedValue concat(const ParsedValues& values, int32_t axis);
  ParsedValue slice(const ParsedValue& value, const ParsedExtents& start, const ParsedExtents& size,
                    const ParsedExtents& stride);
  ParsedValue slice(const ParsedValue& value, const ParsedExtents& start, const ParsedExtents& size,
                    const ParsedExtents& stride, nvinfer1::SampleMode mode, const ParsedValue& fill);
  ParsedValue expand(const ParsedValue& value,
                     const ParsedExtents& target);  // target: a shape that `value` broadcasts to
  ParsedValue gather(const ParsedValue& value, const ParsedValue& indices, int32_t axis);
  ParsedValue reduce(const ParsedValue& value, nvinfer1::ReduceOperation operation, uint32_t axes, bool keepDimensions);

 private:
  [[noreturn]] void refuse(const char* call) const;
  void registerLayer(nvinfer1::ILayer& layer);
  std::string uniqueName(const std::string& base);
  nvinfer1::ITensor& constantTensor(const WeightBytes& constant);
  nvinfer1::ITensor& baseOf(const ParsedExtent& extent);
  nvinfer1::ITensor& materialize(const ParsedExtents& extents, bool scalar, DataType type);
  nvinfer1::ITensor& run(const ParsedExtents& extents, size_t begin, size_t end);
  nvinfer1::ITensor& plainReshape(nvinfer1::ITensor& tensor, const nvinfer1::Dims& dims);
  ParsedValue binaryExtents(const ParsedValue& a, const ParsedValue& b, nvinfer1::ElementWiseOperation operation,
                            bool& done);
  ParsedValue reshapeTensor(const ParsedValue& value, ParsedExtents target);

  nvinfer1::INetworkDefinition& network_;
  WeightStore& store_;
  std::string* networkMessage_;
  std::string base_ = "layer";
  std::string metadata_;
  std::vector<nvinfer1::ILayer*> nodeLayers_;
  std::set<std::string> layerNames_;
  std::unordered_map<std::string, int64_t> nextSuffix_;
  std::unordered_map<const void*, nvinfer1::ITensor*> constantTensors_;
  std::unordered_map<const nvinfer1::ITensor*, nvinfer1::ITensor*> shapes_;
  std::unordered_map<const void*, std::pair<ParsedValue, nvinfer1::ITensor*>>
      extentTensors_;  // the value keeps the key alive
  std::map<std::tuple<const nvinfer1::ITensor*, int64_t, int64_t>, nvinfer1::ITensor*> runs_;
  std::set<std::string> namedWeights_;
  std::set<const nvinfer1::ITensor*> namedTensors_;
  std::unordered_map<const void*, std::pair<ParsedValue, std::string>> foldedNames_;  // as extentTensors_
};

}  // namespace tenon::parsers
