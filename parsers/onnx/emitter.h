// Writes layers into a network through the public API, folding what is constant on the way.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "error.h"
#include "weights.h"

namespace tenon::onnxparser {

// Importers describe a node as operations on values; this class decides whether an operation becomes a constant, a
// change of known extents, or layers. One object per import, used by one thread.
class Emitter {
 public:
  // networkMessage: what the network said last, where that is not in the log.
  explicit Emitter(nvinfer1::INetworkDefinition& network, WeightStore& store, std::string* networkMessage = nullptr)
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
  void nameWeights(const Constant& constant);
  // The name of a tensor in the model. What is folded gets it when, and if, it becomes a tensor; the first name stays.
  void nameTensor(const Value& value, const std::string& name);
  // Why the network refused its last call, as the end of a sentence.
  std::string networkReason() const;

  // Facts.
  Shape shapeOf(const Value& value) const;
  DataType typeOf(const Value& value) const;
  int64_t rankOf(const Value& value) const { return static_cast<int64_t>(shapeOf(value).size()); }
  Extents dims(const Value& value) const;  // the shape
  Extents elements(const Value& value);    // the contents of a list of integers (rank 0 or 1)
  // The same without emitting layers: false where the contents are those of a tensor.
  bool asList(const Value& value, Extents& list) const;

  // Values to tensors and back.
  nvinfer1::ITensor& tensor(const Value& value);
  Value fromExtents(Extents extents, bool scalar = false, DataType type = DataType::kINT64);
  nvinfer1::ITensor& shapeTensor(const Extents& extents) { return tensor(fromExtents(extents)); }
  Value scalar(DataType type, double number, int64_t rank = 0);
  Value list(const std::vector<int64_t>& numbers);

  // Arithmetic on one integer.
  Extent combine(const Extent& a, const Extent& b, nvinfer1::ElementWiseOperation operation);
  Extent product(const Extents& extents, size_t begin, size_t end);

  // Pointwise. Ranks are aligned by ONNX's broadcast rule.
  Value unary(const Value& value, nvinfer1::UnaryOperation operation);
  Value binary(const Value& a, const Value& b, nvinfer1::ElementWiseOperation operation);
  Value select(const Value& condition, const Value& a, const Value& b);
  Value cast(const Value& value, DataType type);
  Value activation(const Value& value, nvinfer1::ActivationType type, float alpha = 0.0f, float beta = 0.0f);
  Value alignRank(const Value& value, int64_t rank);

  // Movement. A known extent of -1 in `target` stands for "what remains", once.
  Value reshape(const Value& value, const Extents& target);
  Value unsqueeze(const Value& value, const std::vector<int64_t>& axes);  // axes of the result
  Value squeeze(const Value& value, const std::vector<int64_t>& axes);
  Value transpose(const Value& value, const std::vector<int32_t>& order);
  Value concat(const Values& values, int32_t axis);
  Value slice(const Value& value, const Extents& start, const Extents& size, const Extents& stride);
  Value slice(const Value& value, const Extents& start, const Extents& size, const Extents& stride,
              nvinfer1::SampleMode mode, const Value& fill);
  Value expand(const Value& value, const Extents& target);  // target: a shape that `value` broadcasts to
  Value gather(const Value& value, const Value& indices, int32_t axis);
  Value reduce(const Value& value, nvinfer1::ReduceOperation operation, uint32_t axes, bool keepDimensions);

 private:
  [[noreturn]] void refuse(const char* call) const;
  void registerLayer(nvinfer1::ILayer& layer);
  std::string uniqueName(const std::string& base);
  nvinfer1::ITensor& constantTensor(const Constant& constant);
  nvinfer1::ITensor& baseOf(const Extent& extent);
  nvinfer1::ITensor& materialize(const Extents& extents, bool scalar, DataType type);
  nvinfer1::ITensor& run(const Extents& extents, size_t begin, size_t end);
  nvinfer1::ITensor& plainReshape(nvinfer1::ITensor& tensor, const nvinfer1::Dims& dims);
  Value binaryExtents(const Value& a, const Value& b, nvinfer1::ElementWiseOperation operation, bool& done);
  Value reshapeTensor(const Value& value, Extents target);

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
  std::unordered_map<const void*, std::pair<Value, nvinfer1::ITensor*>>
      extentTensors_;  // the value keeps the key alive
  std::map<std::tuple<const nvinfer1::ITensor*, int64_t, int64_t>, nvinfer1::ITensor*> runs_;
  std::set<std::string> namedWeights_;
  std::set<const nvinfer1::ITensor*> namedTensors_;
  std::unordered_map<const void*, std::pair<Value, std::string>> foldedNames_;  // as extentTensors_
};

}  // namespace tenon::onnxparser
