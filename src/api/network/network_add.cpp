// The functions of INetworkDefinition that add layers which compute.
#include "api/network/network_add.h"

#include <algorithm>

#include "api/network/attention.h"

namespace tenon::api {

using nv::LayerType;

LayerBase& Network::create(LayerType type, std::span<nv::ITensor* const> inputs) {
  const auto table = layerTable();
  const auto row = std::find_if(table.begin(), table.end(), [&](const LayerInfo& info) { return info.type == type; });
  if (row == table.end()) throw Unsupported("layers of type {} are not supported yet", layerTypeName(type));
  std::vector<Tensor*> tensors;
  for (nv::ITensor* input : inputs) {
    checkUser(input != nullptr, "input {} of the new {} layer is null", tensors.size(), layerTypeName(type));
    tensors.push_back(&own(*input));
  }
  return attach(row->make(*this, nextLayerName(type)), tensors);
}

std::string Network::nextLayerName(LayerType type) const {
  return fmt::format("(Unnamed Layer* {}) [{}]", layers_.size(), layerTypeName(type));
}

LayerBase& Network::attach(std::unique_ptr<LayerBase> layer, std::span<Tensor* const> inputs) {
  layer->makeOutputs();
  layers_.push_back(std::move(layer));
  LayerBase& added = *layers_.back();
  for (size_t i = 0; i < inputs.size(); ++i) added.connect(static_cast<int>(i), inputs[i]);
  return added;
}

void Network::dropLastLayer() noexcept {
  LayerBase& layer = *layers_.back();
  for (int i = 0; i < layer.getNbInputs(); ++i) layer.connect(i, nullptr);
  layers_.pop_back();
}

nv::IActivationLayer* Network::addActivation(nv::ITensor& input, nv::ActivationType type) noexcept {
  return add<nv::IActivationLayer>("INetworkDefinition::addActivation", LayerType::kACTIVATION, {&input},
                                   [&](auto& layer) { layer.setActivationType(checkedEnum(type, "activation type")); });
}

nv::ILRNLayer* Network::addLRN(nv::ITensor& input, int64_t window, float alpha, float beta, float k) noexcept {
  return add<nv::ILRNLayer>("INetworkDefinition::addLRN", LayerType::kLRN, {&input}, [&](auto& layer) {
    layer.setWindowSize(window);
    layer.setAlpha(alpha);
    layer.setBeta(beta);
    layer.setK(k);
  });
}

nv::IScaleLayer* Network::addScale(nv::ITensor& input, nv::ScaleMode mode, nv::Weights shift, nv::Weights scale,
                                   nv::Weights power) noexcept {
  return add<nv::IScaleLayer>("INetworkDefinition::addScale", LayerType::kSCALE, {&input}, [&](auto& layer) {
    layer.setMode(checkedEnum(mode, "scale mode"));
    layer.setShift(shift);
    layer.setScale(scale);
    layer.setPower(power);
  });
}

nv::IScaleLayer* Network::addScaleNd(nv::ITensor& input, nv::ScaleMode mode, nv::Weights shift, nv::Weights scale,
                                     nv::Weights power, int32_t channelAxis) noexcept {
  return add<nv::IScaleLayer>("INetworkDefinition::addScaleNd", LayerType::kSCALE, {&input}, [&](auto& layer) {
    layer.setMode(checkedEnum(mode, "scale mode"));
    layer.setShift(shift);
    layer.setScale(scale);
    layer.setPower(power);
    layer.setChannelAxis(channelAxis);
  });
}

nv::ISoftMaxLayer* Network::addSoftMax(nv::ITensor& input) noexcept {
  return add<nv::ISoftMaxLayer>("INetworkDefinition::addSoftMax", LayerType::kSOFTMAX, {&input}, [](auto&) {});
}

nv::IElementWiseLayer* Network::addElementWise(nv::ITensor& input1, nv::ITensor& input2,
                                               nv::ElementWiseOperation op) noexcept {
  return add<nv::IElementWiseLayer>("INetworkDefinition::addElementWise", LayerType::kELEMENTWISE, {&input1, &input2},
                                    [&](auto& layer) { layer.setOperation(checkedEnum(op, "operation")); });
}

nv::IUnaryLayer* Network::addUnary(nv::ITensor& input, nv::UnaryOperation operation) noexcept {
  return add<nv::IUnaryLayer>("INetworkDefinition::addUnary", LayerType::kUNARY, {&input},
                              [&](auto& layer) { layer.setOperation(checkedEnum(operation, "operation")); });
}

nv::IReduceLayer* Network::addReduce(nv::ITensor& input, nv::ReduceOperation operation, uint32_t reduceAxes,
                                     bool keepDimensions) noexcept {
  return add<nv::IReduceLayer>("INetworkDefinition::addReduce", LayerType::kREDUCE, {&input}, [&](auto& layer) {
    layer.setOperation(checkedEnum(operation, "operation"));
    layer.setReduceAxes(reduceAxes);
    layer.setKeepDimensions(keepDimensions);
  });
}

nv::ITopKLayer* Network::addTopK(nv::ITensor& input, nv::TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept {
  return add<nv::ITopKLayer>("INetworkDefinition::addTopK", LayerType::kTOPK, {&input}, [&](auto& layer) {
    layer.setOperation(checkedEnum(op, "operation"));
    layer.setK(k);
    layer.setReduceAxes(reduceAxes);
  });
}

nv::ITopKLayer* Network::addTopKV2(nv::ITensor& input, nv::TopKOperation op, int32_t k, uint32_t reduceAxes,
                                   nv::DataType indicesType) noexcept {
  return add<nv::ITopKLayer>("INetworkDefinition::addTopKV2", LayerType::kTOPK, {&input}, [&](auto& layer) {
    layer.setOperation(checkedEnum(op, "operation"));
    layer.setK(k);
    layer.setReduceAxes(reduceAxes);
    layer.setIndicesType(indicesType);
  });
}

nv::IRaggedSoftMaxLayer* Network::addRaggedSoftMax(nv::ITensor& input, nv::ITensor& bounds) noexcept {
  return add<nv::IRaggedSoftMaxLayer>("INetworkDefinition::addRaggedSoftMax", LayerType::kRAGGED_SOFTMAX,
                                      {&input, &bounds}, [](auto&) {});
}

nv::IMatrixMultiplyLayer* Network::addMatrixMultiply(nv::ITensor& input0, nv::MatrixOperation op0, nv::ITensor& input1,
                                                     nv::MatrixOperation op1) noexcept {
  return add<nv::IMatrixMultiplyLayer>("INetworkDefinition::addMatrixMultiply", LayerType::kMATRIX_MULTIPLY,
                                       {&input0, &input1}, [&](auto& layer) {
                                         layer.setOperation(0, checkedEnum(op0, "matrix operation"));
                                         layer.setOperation(1, checkedEnum(op1, "matrix operation"));
                                       });
}

nv::IParametricReLULayer* Network::addParametricReLU(nv::ITensor& input, nv::ITensor& slope) noexcept {
  return add<nv::IParametricReLULayer>("INetworkDefinition::addParametricReLU", LayerType::kPARAMETRIC_RELU,
                                       {&input, &slope}, [](auto&) {});
}

nv::IConvolutionLayer* Network::addConvolutionNd(nv::ITensor& input, int64_t nbOutputMaps, const nv::Dims& kernelSize,
                                                 nv::Weights kernelWeights, nv::Weights biasWeights) noexcept {
  return add<nv::IConvolutionLayer>("INetworkDefinition::addConvolutionNd", LayerType::kCONVOLUTION, {&input},
                                    [&](auto& layer) {
                                      layer.setNbOutputMaps(nbOutputMaps);
                                      layer.setKernelSizeNd(kernelSize);
                                      layer.setKernelWeights(kernelWeights);
                                      layer.setBiasWeights(biasWeights);
                                    });
}

nv::IDeconvolutionLayer* Network::addDeconvolutionNd(nv::ITensor& input, int64_t nbOutputMaps,
                                                     const nv::Dims& kernelSize, nv::Weights kernelWeights,
                                                     nv::Weights biasWeights) noexcept {
  return add<nv::IDeconvolutionLayer>("INetworkDefinition::addDeconvolutionNd", LayerType::kDECONVOLUTION, {&input},
                                      [&](auto& layer) {
                                        layer.setNbOutputMaps(nbOutputMaps);
                                        layer.setKernelSizeNd(kernelSize);
                                        layer.setKernelWeights(kernelWeights);
                                        layer.setBiasWeights(biasWeights);
                                      });
}

nv::IPoolingLayer* Network::addPoolingNd(nv::ITensor& input, nv::PoolingType type,
                                         const nv::Dims& windowSize) noexcept {
  return add<nv::IPoolingLayer>("INetworkDefinition::addPoolingNd", LayerType::kPOOLING, {&input}, [&](auto& layer) {
    layer.setPoolingType(checkedEnum(type, "pooling type"));
    layer.setWindowSizeNd(windowSize);
  });
}

nv::IDequantizeLayer* Network::addDequantize(nv::ITensor& input, nv::ITensor& scale) noexcept {
  return add<nv::IDequantizeLayer>("INetworkDefinition::addDequantize", LayerType::kDEQUANTIZE, {&input, &scale},
                                   [](auto&) {});
}

nv::IDequantizeLayer* Network::addDequantizeV2(nv::ITensor& input, nv::ITensor& scale,
                                               nv::DataType outputType) noexcept {
  return add<nv::IDequantizeLayer>("INetworkDefinition::addDequantizeV2", LayerType::kDEQUANTIZE, {&input, &scale},
                                   [&](auto& layer) { layer.setToType(checkedEnum(outputType, "data type")); });
}

nv::IQuantizeLayer* Network::addQuantize(nv::ITensor& input, nv::ITensor& scale) noexcept {
  return add<nv::IQuantizeLayer>("INetworkDefinition::addQuantize", LayerType::kQUANTIZE, {&input, &scale},
                                 [](auto&) {});
}

nv::IQuantizeLayer* Network::addQuantizeV2(nv::ITensor& input, nv::ITensor& scale, nv::DataType outputType) noexcept {
  return add<nv::IQuantizeLayer>("INetworkDefinition::addQuantizeV2", LayerType::kQUANTIZE, {&input, &scale},
                                 [&](auto& layer) { layer.setToType(checkedEnum(outputType, "data type")); });
}

nv::INormalizationLayer* Network::addNormalization(nv::ITensor& input, nv::ITensor& scale, nv::ITensor& bias,
                                                   uint32_t axesMask) noexcept {
  return add<nv::INormalizationLayer>("INetworkDefinition::addNormalization", LayerType::kNORMALIZATION,
                                      {&input, &scale, &bias}, [&](auto& layer) { layer.setAxes(axesMask); });
}

nv::INormalizationLayer* Network::addNormalizationV2(nv::ITensor& input, nv::ITensor& scale, nv::ITensor& bias,
                                                     uint32_t axesMask) noexcept {
  return add<nv::INormalizationLayer>("INetworkDefinition::addNormalizationV2", LayerType::kNORMALIZATION,
                                      {&input, &scale, &bias}, [&](auto& layer) {
                                        layer.setAxes(axesMask);
                                        dynamic_cast<LayerBase&>(layer).setVariant(LayerBase::kVariantV2);
                                      });
}

nv::IDynamicQuantizeLayer* Network::addDynamicQuantize(nv::ITensor& input, int32_t axis, int32_t blockSize,
                                                       nv::DataType toType, nv::DataType scaleType) noexcept {
  return add<nv::IDynamicQuantizeLayer>("INetworkDefinition::addDynamicQuantize", LayerType::kDYNAMIC_QUANTIZE,
                                        {&input}, [&](auto& layer) {
                                          layer.setAxis(axis);
                                          layer.setBlockSize(blockSize);
                                          layer.setToType(checkedEnum(toType, "data type"));
                                          layer.setScaleType(checkedEnum(scaleType, "data type"));
                                        });
}

nv::IDynamicQuantizeLayer* Network::addDynamicQuantizeV2(nv::ITensor& input, const nv::Dims& blockShape,
                                                         nv::DataType toType, nv::DataType scaleType) noexcept {
  return add<nv::IDynamicQuantizeLayer>("INetworkDefinition::addDynamicQuantizeV2", LayerType::kDYNAMIC_QUANTIZE,
                                        {&input}, [&](auto& layer) {
                                          layer.setBlockShape(blockShape);
                                          layer.setToType(checkedEnum(toType, "data type"));
                                          layer.setScaleType(checkedEnum(scaleType, "data type"));
                                        });
}

nv::ICumulativeLayer* Network::addCumulative(nv::ITensor& input, nv::ITensor& axis, nv::CumulativeOperation operation,
                                             bool exclusive, bool reverse) noexcept {
  return add<nv::ICumulativeLayer>("INetworkDefinition::addCumulative", LayerType::kCUMULATIVE, {&input, &axis},
                                   [&](auto& layer) {
                                     layer.setOperation(checkedEnum(operation, "operation"));
                                     layer.setExclusive(exclusive);
                                     layer.setReverse(reverse);
                                   });
}

nv::IRotaryEmbeddingLayer* Network::addRotaryEmbedding(nv::ITensor& input, nv::ITensor& cosCache, nv::ITensor& sinCache,
                                                       bool interleaved, int32_t rotaryEmbeddingDim) noexcept {
  return add<nv::IRotaryEmbeddingLayer>("INetworkDefinition::addRotaryEmbedding", LayerType::kROTARY_EMBEDDING,
                                        {&input, &cosCache, &sinCache}, [&](auto& layer) {
                                          layer.setInterleaved(interleaved);
                                          layer.setRotaryEmbeddingDim(rotaryEmbeddingDim);
                                        });
}

nv::IMoELayer* Network::addMoE(nv::ITensor& hiddenStates, nv::ITensor& selectedExpertsForTokens,
                               nv::ITensor& scoresForSelectedExperts) noexcept {
  return add<nv::IMoELayer>("INetworkDefinition::addMoE", LayerType::kMOE,
                            {&hiddenStates, &selectedExpertsForTokens, &scoresForSelectedExperts}, [](auto&) {});
}

nv::IEinsumLayer* Network::addEinsum(nv::ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept {
  return guarded(reporter_, "INetworkDefinition::addEinsum", static_cast<nv::IEinsumLayer*>(nullptr), [&] {
    checkUser(inputs != nullptr && nbInputs > 0, "an einsum needs at least one input, got {}", nbInputs);
    checkUser(equation != nullptr, "the equation is null");
    LayerBase& layer = create(LayerType::kEINSUM, {inputs, static_cast<size_t>(nbInputs)});
    auto* result = static_cast<nv::IEinsumLayer*>(&layer.interface());
    if (!result->setEquation(equation)) {
      dropLastLayer();
      return static_cast<nv::IEinsumLayer*>(nullptr);
    }
    return result;
  });
}

nv::IAttention* Network::addAttention(nv::ITensor& query, nv::ITensor& key, nv::ITensor& value,
                                      nv::AttentionNormalizationOp normOp, bool isCausal) noexcept {
  return guarded(reporter_, "INetworkDefinition::addAttention", static_cast<nv::IAttention*>(nullptr), [&] {
    Tensor* const inputs[] = {&own(query), &own(key), &own(value)};
    checkedEnum(normOp, "normalization operation");
    const auto layerName = [&](size_t place, LayerType type) {
      return fmt::format("(Unnamed Layer* {}) [{}]", layers_.size() + place, layerTypeName(type));
    };
    auto made = makeAttention(*this, fmt::format("(Unnamed Attention* {})", attentions_.size()),
                              layerName(0, LayerType::kATTENTION_INPUT), layerName(1, LayerType::kATTENTION_OUTPUT),
                              normOp, isCausal);
    attentions_.push_back(std::move(made.object));
    attach(std::move(made.input), inputs);
    attach(std::move(made.output), inputs);
    return made.interface;
  });
}

}  // namespace tenon::api
