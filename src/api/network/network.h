// INetworkDefinition: owns tensors and layers, infers types when asked, and makes the graph that is built.
#pragma once

#include <NvInfer.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/common/reporter.h"
#include "api/network/layer.h"
#include "api/network/tensor.h"
#include "graph/graph.h"

namespace tenon::api {

class AttentionObject;
class Construct;

// Symbols of extents and shape values that a build takes for constants.
using FixedSymbols = std::map<std::string, Extent, std::less<>>;

class Network final : public nv::INetworkDefinition, public nv::apiv::VNetworkDefinition {
 public:
  Network(nv::IBuilder& builder, Reporter& parent, nv::NetworkDefinitionCreationFlags flags);
  ~Network() noexcept override;

  nv::ITensor* addInput(const char* name, nv::DataType type, const nv::Dims& dimensions) noexcept override;
  void markOutput(nv::ITensor& tensor) noexcept override;
  void unmarkOutput(nv::ITensor& tensor) noexcept override;
  bool markOutputForShapes(nv::ITensor& tensor) noexcept override;
  bool unmarkOutputForShapes(nv::ITensor& tensor) noexcept override;
  void removeTensor(nv::ITensor& tensor) noexcept override;
  int32_t getNbLayers() const noexcept override { return static_cast<int32_t>(layers_.size()); }
  nv::ILayer* getLayer(int32_t index) const noexcept override;
  int32_t getNbInputs() const noexcept override { return static_cast<int32_t>(inputs_.size()); }
  nv::ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override { return static_cast<int32_t>(outputs_.size()); }
  nv::ITensor* getOutput(int32_t index) const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  bool hasImplicitBatchDimension() const noexcept override { return false; }
  bool setWeightsName(nv::Weights weights, const char* name) noexcept override;
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  nv::IBuilder& getBuilder() const noexcept override { return builder_; }
  nv::NetworkDefinitionCreationFlags getFlags() const noexcept override { return flags_; }
  bool getFlag(nv::NetworkDefinitionCreationFlag flag) const noexcept override;
  bool markDebug(nv::ITensor& tensor) noexcept override;
  bool unmarkDebug(nv::ITensor& tensor) noexcept override;
  bool isDebugTensor(const nv::ITensor& tensor) const noexcept override;
  bool markUnfusedTensorsAsDebugTensors() noexcept override;
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;
  bool markWeightsRefittable(const char* name) noexcept override;
  bool unmarkWeightsRefittable(const char* name) noexcept override;
  bool areWeightsMarkedRefittable(const char* name) const noexcept override;

  // Every function below that makes a layer goes through the table of layer files (network_add.h).
  nv::IActivationLayer* addActivation(nv::ITensor& input, nv::ActivationType type) noexcept override;
  nv::ILRNLayer* addLRN(nv::ITensor& input, int64_t window, float alpha, float beta, float k) noexcept override;
  nv::IScaleLayer* addScale(nv::ITensor& input, nv::ScaleMode mode, nv::Weights shift, nv::Weights scale,
                            nv::Weights power) noexcept override;
  nv::ISoftMaxLayer* addSoftMax(nv::ITensor& input) noexcept override;
  nv::IConcatenationLayer* addConcatenation(nv::ITensor* const* inputs, int32_t nbInputs) noexcept override;
  nv::IElementWiseLayer* addElementWise(nv::ITensor& input1, nv::ITensor& input2,
                                        nv::ElementWiseOperation op) noexcept override;
  nv::IUnaryLayer* addUnary(nv::ITensor& input, nv::UnaryOperation operation) noexcept override;
  nv::IShuffleLayer* addShuffle(nv::ITensor& input) noexcept override;
  nv::IReduceLayer* addReduce(nv::ITensor& input, nv::ReduceOperation operation, uint32_t reduceAxes,
                              bool keepDimensions) noexcept override;
  nv::ITopKLayer* addTopK(nv::ITensor& input, nv::TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept override;
  nv::IGatherLayer* addGather(nv::ITensor& data, nv::ITensor& indices, int32_t axis) noexcept override;
  nv::IRaggedSoftMaxLayer* addRaggedSoftMax(nv::ITensor& input, nv::ITensor& bounds) noexcept override;
  nv::IMatrixMultiplyLayer* addMatrixMultiply(nv::ITensor& input0, nv::MatrixOperation op0, nv::ITensor& input1,
                                              nv::MatrixOperation op1) noexcept override;
  nv::IConstantLayer* addConstant(const nv::Dims& dimensions, nv::Weights weights) noexcept override;
  nv::IIdentityLayer* addIdentity(nv::ITensor& input) noexcept override;
  nv::IPluginV2Layer* addPluginV2(nv::ITensor* const* inputs, int32_t nbInputs,
                                  nv::IPluginV2& plugin) noexcept override;
  nv::IPluginV3Layer* addPluginV3(nv::ITensor* const* inputs, int32_t nbInputs, nv::ITensor* const* shapeInputs,
                                  int32_t nbShapeInputs, nv::IPluginV3& plugin) noexcept override;
  nv::ISliceLayer* addSlice(nv::ITensor& input, const nv::Dims& start, const nv::Dims& size,
                            const nv::Dims& stride) noexcept override;
  nv::IShapeLayer* addShape(nv::ITensor& input) noexcept override;
  nv::IParametricReLULayer* addParametricReLU(nv::ITensor& input, nv::ITensor& slope) noexcept override;
  nv::IConvolutionLayer* addConvolutionNd(nv::ITensor& input, int64_t nbOutputMaps, const nv::Dims& kernelSize,
                                          nv::Weights kernelWeights, nv::Weights biasWeights) noexcept override;
  nv::IPoolingLayer* addPoolingNd(nv::ITensor& input, nv::PoolingType type,
                                  const nv::Dims& windowSize) noexcept override;
  nv::IDeconvolutionLayer* addDeconvolutionNd(nv::ITensor& input, int64_t nbOutputMaps, const nv::Dims& kernelSize,
                                              nv::Weights kernelWeights, nv::Weights biasWeights) noexcept override;
  nv::IScaleLayer* addScaleNd(nv::ITensor& input, nv::ScaleMode mode, nv::Weights shift, nv::Weights scale,
                              nv::Weights power, int32_t channelAxis) noexcept override;
  nv::IResizeLayer* addResize(nv::ITensor& input) noexcept override;
  nv::ILoop* addLoop() noexcept override;
  nv::ISelectLayer* addSelect(nv::ITensor& condition, nv::ITensor& thenInput, nv::ITensor& elseInput) noexcept override;
  nv::IFillLayer* addFill(const nv::Dims& dimensions, nv::FillOperation op) noexcept override;
  nv::IPaddingLayer* addPaddingNd(nv::ITensor& input, const nv::Dims& prePadding,
                                  const nv::Dims& postPadding) noexcept override;
  nv::IDequantizeLayer* addDequantize(nv::ITensor& input, nv::ITensor& scale) noexcept override;
  nv::IQuantizeLayer* addQuantize(nv::ITensor& input, nv::ITensor& scale) noexcept override;
  nv::IGatherLayer* addGatherV2(nv::ITensor& data, nv::ITensor& indices, nv::GatherMode mode) noexcept override;
  nv::IIfConditional* addIfConditional() noexcept override;
  nv::IScatterLayer* addScatter(nv::ITensor& data, nv::ITensor& indices, nv::ITensor& updates,
                                nv::ScatterMode mode) noexcept override;
  nv::IEinsumLayer* addEinsum(nv::ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept override;
  nv::IAssertionLayer* addAssertion(nv::ITensor& condition, const char* message) noexcept override;
  nv::IOneHotLayer* addOneHot(nv::ITensor& indices, nv::ITensor& values, nv::ITensor& depth,
                              int32_t axis) noexcept override;
  nv::INonZeroLayer* addNonZero(nv::ITensor& input) noexcept override;
  nv::IGridSampleLayer* addGridSample(nv::ITensor& input, nv::ITensor& grid) noexcept override;
  nv::INMSLayer* addNMS(nv::ITensor& boxes, nv::ITensor& scores, nv::ITensor& maxOutputBoxesPerClass) noexcept override;
  nv::IReverseSequenceLayer* addReverseSequence(nv::ITensor& input, nv::ITensor& sequenceLens) noexcept override;
  nv::INormalizationLayer* addNormalization(nv::ITensor& input, nv::ITensor& scale, nv::ITensor& bias,
                                            uint32_t axesMask) noexcept override;
  nv::ICastLayer* addCast(nv::ITensor& input, nv::DataType toType) noexcept override;
  nv::IQuantizeLayer* addQuantizeV2(nv::ITensor& input, nv::ITensor& scale, nv::DataType outputType) noexcept override;
  nv::IDequantizeLayer* addDequantizeV2(nv::ITensor& input, nv::ITensor& scale,
                                        nv::DataType outputType) noexcept override;
  nv::IFillLayer* addFillV2(const nv::Dims& dimensions, nv::FillOperation op,
                            nv::DataType outputType) noexcept override;
  nv::ISqueezeLayer* addSqueeze(nv::ITensor& input, nv::ITensor& axes) noexcept override;
  nv::IUnsqueezeLayer* addUnsqueeze(nv::ITensor& input, nv::ITensor& axes) noexcept override;
  nv::IDynamicQuantizeLayer* addDynamicQuantize(nv::ITensor& input, int32_t axis, int32_t blockSize,
                                                nv::DataType toType, nv::DataType scaleType) noexcept override;
  nv::ICumulativeLayer* addCumulative(nv::ITensor& input, nv::ITensor& axis, nv::CumulativeOperation operation,
                                      bool exclusive, bool reverse) noexcept override;
  nv::ITopKLayer* addTopKV2(nv::ITensor& input, nv::TopKOperation op, int32_t k, uint32_t reduceAxes,
                            nv::DataType indicesType) noexcept override;
  nv::INonZeroLayer* addNonZeroV2(nv::ITensor& input, nv::DataType indicesType) noexcept override;
  nv::INMSLayer* addNMSV2(nv::ITensor& boxes, nv::ITensor& scores, nv::ITensor& maxOutputBoxesPerClass,
                          nv::DataType indicesType) noexcept override;
  nv::IAttention* addAttention(nv::ITensor& query, nv::ITensor& key, nv::ITensor& value,
                               nv::AttentionNormalizationOp normOp, bool isCausal) noexcept override;
  nv::IRotaryEmbeddingLayer* addRotaryEmbedding(nv::ITensor& input, nv::ITensor& cosCache, nv::ITensor& sinCache,
                                                bool interleaved, int32_t rotaryEmbeddingDim) noexcept override;
  nv::IDynamicQuantizeLayer* addDynamicQuantizeV2(nv::ITensor& input, const nv::Dims& blockShape, nv::DataType toType,
                                                  nv::DataType scaleType) noexcept override;
  nv::IKVCacheUpdateLayer* addKVCacheUpdate(nv::ITensor& cache, nv::ITensor& update, nv::ITensor& writeIndices,
                                            nv::KVCacheMode cacheMode) noexcept override;
  nv::INormalizationLayer* addNormalizationV2(nv::ITensor& input, nv::ITensor& scale, nv::ITensor& bias,
                                              uint32_t axesMask) noexcept override;
  nv::IMoELayer* addMoE(nv::ITensor& hiddenStates, nv::ITensor& selectedExpertsForTokens,
                        nv::ITensor& scoresForSelectedExperts) noexcept override;
  nv::IDistCollectiveLayer* addDistCollective(nv::ITensor& input, nv::CollectiveOperation distCollectiveOp,
                                              nv::ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                              int64_t groupSize) noexcept override;

  Reporter& reporter() noexcept { return reporter_; }
  bool stronglyTyped() const noexcept { return getFlag(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED); }
  const std::string& name() const noexcept { return name_; }
  const std::vector<std::unique_ptr<Tensor>>& inputs() const noexcept { return inputs_; }
  const std::vector<Tensor*>& outputs() const noexcept { return outputs_; }
  const std::vector<std::unique_ptr<LayerBase>>& layers() const noexcept { return layers_; }
  // The tensor as one of this network; UserError for tensors of another one.
  Tensor& own(nv::ITensor& tensor) const;
  bool isOutput(const Tensor& tensor) const noexcept;
  // Layers that outputs or debug tensors need, producers first.
  std::vector<const LayerBase*> liveLayers() const;
  bool debugsUnfused() const noexcept { return debugsUnfused_; }
  bool hasRefittableWeights() const noexcept { return !refittable_.empty(); }
  bool isShapeOutput(const Tensor& tensor) const noexcept { return shapeOutputs_.count(&tensor) != 0; }
  // Whether extents depend on the tensor's values; whether anything else does. Both can hold.
  bool isShapeTensor(const Tensor& tensor) const;
  bool isExecutionTensor(const Tensor& tensor) const;
  std::string weightsName(const nv::Weights& weights, const std::string& layer, const char* role) const;

  // Types are inferred when somebody asks, one layer at a time: a change marks the layer and all that depend on it.
  void invalidate(LayerBase& layer);
  void infer(LayerBase& layer);

  // A boundary layer of a loop or conditional; `configure` may throw: the network is then as before.
  template <typename T, typename Owner, typename Configure>
  T* addBoundary(const char* call, Owner& owner, nv::ITensor& tensor, Configure&& configure) noexcept;

  // The whole network as a graph: what the outputs need, in topological order; tensors keep their names. Symbols of
  // `fixed` enter as their values. Throws UserError for networks without outputs, with cycles, or with layers whose
  // inputs do not fit.
  graph::Graph assemble(const FixedSymbols& fixed = {}) const;

 private:
  template <typename I, typename Configure>
  I* add(const char* call, nv::LayerType type, std::initializer_list<nv::ITensor*> inputs,
         Configure&& configure) noexcept;
  template <typename I, typename P>
  I* addPlugin(const char* call, nv::LayerType type, std::span<nv::ITensor* const> inputs,
               std::span<nv::ITensor* const> shapeInputs, P& plugin) noexcept;
  LayerBase& create(nv::LayerType type, std::span<nv::ITensor* const> inputs);
  std::string nextLayerName(nv::LayerType type) const;
  LayerBase& attach(std::unique_ptr<LayerBase> layer, std::span<Tensor* const> inputs);
  void dropLastLayer() noexcept;
  void inferOne(LayerBase& layer);
  using TensorFacts = std::unordered_map<const Tensor*, bool>;
  bool feedsShapes(const Tensor& tensor, TensorFacts& known) const;
  bool feedsExecution(const Tensor& tensor, TensorFacts& known) const;

  nv::IBuilder& builder_;
  Reporter reporter_;
  nv::NetworkDefinitionCreationFlags flags_;
  std::string name_ = "Unnamed Network 0";
  std::vector<std::unique_ptr<Tensor>> inputs_;
  std::vector<std::unique_ptr<Tensor>> removed_;  // kept, because the caller may still hold them
  std::vector<std::unique_ptr<Construct>> constructs_;
  std::vector<std::unique_ptr<AttentionObject>> attentions_;
  std::vector<std::unique_ptr<LayerBase>> layers_;
  std::vector<Tensor*> outputs_;
  std::set<const Tensor*> shapeOutputs_;
  std::set<const Tensor*> debug_;
  bool debugsUnfused_ = false;
  std::map<const void*, std::string> weightsNames_;  // by address of the values
  std::set<std::string, std::less<>> refittable_;
};

// Emits a layer into a graph: its nodes, then the casts that set output types demand. One value per output.
std::vector<graph::ValueId> lowerLayer(const LayerBase& layer, graph::Graph& graph, std::vector<graph::ValueId> inputs);

}  // namespace tenon::api
