// The functions of INetworkDefinition that add layers which move, choose or make data, and those of control flow.
#include "api/network/network_add.h"

namespace tenon::api {

using nv::LayerType;

nv::IShuffleLayer* Network::addShuffle(nv::ITensor& input) noexcept {
  return add<nv::IShuffleLayer>("INetworkDefinition::addShuffle", LayerType::kSHUFFLE, {&input}, [](auto&) {});
}

nv::IGatherLayer* Network::addGather(nv::ITensor& data, nv::ITensor& indices, int32_t axis) noexcept {
  return add<nv::IGatherLayer>("INetworkDefinition::addGather", LayerType::kGATHER, {&data, &indices},
                               [&](auto& layer) { layer.setGatherAxis(axis); });
}

nv::IGatherLayer* Network::addGatherV2(nv::ITensor& data, nv::ITensor& indices, nv::GatherMode mode) noexcept {
  return add<nv::IGatherLayer>("INetworkDefinition::addGatherV2", LayerType::kGATHER, {&data, &indices},
                               [&](auto& layer) { layer.setMode(checkedEnum(mode, "gather mode")); });
}

nv::IConstantLayer* Network::addConstant(const nv::Dims& dimensions, nv::Weights weights) noexcept {
  return add<nv::IConstantLayer>("INetworkDefinition::addConstant", LayerType::kCONSTANT, {}, [&](auto& layer) {
    layer.setDimensions(dimensions);
    layer.setWeights(weights);
  });
}

nv::IIdentityLayer* Network::addIdentity(nv::ITensor& input) noexcept {
  return add<nv::IIdentityLayer>("INetworkDefinition::addIdentity", LayerType::kIDENTITY, {&input}, [](auto&) {});
}

nv::ISliceLayer* Network::addSlice(nv::ITensor& input, const nv::Dims& start, const nv::Dims& size,
                                   const nv::Dims& stride) noexcept {
  return add<nv::ISliceLayer>("INetworkDefinition::addSlice", LayerType::kSLICE, {&input}, [&](auto& layer) {
    layer.setStart(start);
    layer.setSize(size);
    layer.setStride(stride);
  });
}

nv::IShapeLayer* Network::addShape(nv::ITensor& input) noexcept {
  return add<nv::IShapeLayer>("INetworkDefinition::addShape", LayerType::kSHAPE, {&input}, [](auto&) {});
}

nv::IResizeLayer* Network::addResize(nv::ITensor& input) noexcept {
  return add<nv::IResizeLayer>("INetworkDefinition::addResize", LayerType::kRESIZE, {&input}, [](auto&) {});
}

nv::ISelectLayer* Network::addSelect(nv::ITensor& condition, nv::ITensor& thenInput, nv::ITensor& elseInput) noexcept {
  return add<nv::ISelectLayer>("INetworkDefinition::addSelect", LayerType::kSELECT,
                               {&condition, &thenInput, &elseInput}, [](auto&) {});
}

nv::IFillLayer* Network::addFill(const nv::Dims& dimensions, nv::FillOperation op) noexcept {
  return add<nv::IFillLayer>("INetworkDefinition::addFill", LayerType::kFILL, {}, [&](auto& layer) {
    layer.setDimensions(dimensions);
    layer.setOperation(checkedEnum(op, "fill operation"));
  });
}

nv::IFillLayer* Network::addFillV2(const nv::Dims& dimensions, nv::FillOperation op, nv::DataType outputType) noexcept {
  return add<nv::IFillLayer>("INetworkDefinition::addFillV2", LayerType::kFILL, {}, [&](auto& layer) {
    layer.setDimensions(dimensions);
    layer.setOperation(checkedEnum(op, "fill operation"));
    layer.setToType(checkedEnum(outputType, "data type"));
  });
}

nv::IPaddingLayer* Network::addPaddingNd(nv::ITensor& input, const nv::Dims& prePadding,
                                         const nv::Dims& postPadding) noexcept {
  return add<nv::IPaddingLayer>("INetworkDefinition::addPaddingNd", LayerType::kPADDING, {&input}, [&](auto& layer) {
    layer.setPrePaddingNd(prePadding);
    layer.setPostPaddingNd(postPadding);
  });
}

nv::IScatterLayer* Network::addScatter(nv::ITensor& data, nv::ITensor& indices, nv::ITensor& updates,
                                       nv::ScatterMode mode) noexcept {
  return add<nv::IScatterLayer>("INetworkDefinition::addScatter", LayerType::kSCATTER, {&data, &indices, &updates},
                                [&](auto& layer) { layer.setMode(checkedEnum(mode, "scatter mode")); });
}

nv::IAssertionLayer* Network::addAssertion(nv::ITensor& condition, const char* message) noexcept {
  return add<nv::IAssertionLayer>("INetworkDefinition::addAssertion", LayerType::kASSERTION, {&condition},
                                  [&](auto& layer) {
                                    checkUser(message != nullptr, "the message of the assertion is null");
                                    layer.setMessage(message);
                                  });
}

nv::IOneHotLayer* Network::addOneHot(nv::ITensor& indices, nv::ITensor& values, nv::ITensor& depth,
                                     int32_t axis) noexcept {
  return add<nv::IOneHotLayer>("INetworkDefinition::addOneHot", LayerType::kONE_HOT, {&indices, &values, &depth},
                               [&](auto& layer) { layer.setAxis(axis); });
}

nv::INonZeroLayer* Network::addNonZero(nv::ITensor& input) noexcept {
  return add<nv::INonZeroLayer>("INetworkDefinition::addNonZero", LayerType::kNON_ZERO, {&input}, [](auto&) {});
}

nv::INonZeroLayer* Network::addNonZeroV2(nv::ITensor& input, nv::DataType indicesType) noexcept {
  return add<nv::INonZeroLayer>("INetworkDefinition::addNonZeroV2", LayerType::kNON_ZERO, {&input},
                                [&](auto& layer) { layer.setIndicesType(checkedEnum(indicesType, "data type")); });
}

nv::IGridSampleLayer* Network::addGridSample(nv::ITensor& input, nv::ITensor& grid) noexcept {
  return add<nv::IGridSampleLayer>("INetworkDefinition::addGridSample", LayerType::kGRID_SAMPLE, {&input, &grid},
                                   [](auto&) {});
}

nv::INMSLayer* Network::addNMS(nv::ITensor& boxes, nv::ITensor& scores, nv::ITensor& maxOutputBoxesPerClass) noexcept {
  return add<nv::INMSLayer>("INetworkDefinition::addNMS", LayerType::kNMS, {&boxes, &scores, &maxOutputBoxesPerClass},
                            [](auto&) {});
}

nv::INMSLayer* Network::addNMSV2(nv::ITensor& boxes, nv::ITensor& scores, nv::ITensor& maxOutputBoxesPerClass,
                                 nv::DataType indicesType) noexcept {
  return add<nv::INMSLayer>("INetworkDefinition::addNMSV2", LayerType::kNMS, {&boxes, &scores, &maxOutputBoxesPerClass},
                            [&](auto& layer) { layer.setIndicesType(checkedEnum(indicesType, "data type")); });
}

nv::IReverseSequenceLayer* Network::addReverseSequence(nv::ITensor& input, nv::ITensor& sequenceLens) noexcept {
  return add<nv::IReverseSequenceLayer>("INetworkDefinition::addReverseSequence", LayerType::kREVERSE_SEQUENCE,
                                        {&input, &sequenceLens}, [](auto&) {});
}

nv::ICastLayer* Network::addCast(nv::ITensor& input, nv::DataType toType) noexcept {
  return add<nv::ICastLayer>("INetworkDefinition::addCast", LayerType::kCAST, {&input},
                             [&](auto& layer) { layer.setToType(checkedEnum(toType, "data type")); });
}

nv::ISqueezeLayer* Network::addSqueeze(nv::ITensor& input, nv::ITensor& axes) noexcept {
  return add<nv::ISqueezeLayer>("INetworkDefinition::addSqueeze", LayerType::kSQUEEZE, {&input, &axes}, [](auto&) {});
}

nv::IUnsqueezeLayer* Network::addUnsqueeze(nv::ITensor& input, nv::ITensor& axes) noexcept {
  return add<nv::IUnsqueezeLayer>("INetworkDefinition::addUnsqueeze", LayerType::kUNSQUEEZE, {&input, &axes},
                                  [](auto&) {});
}

nv::IKVCacheUpdateLayer* Network::addKVCacheUpdate(nv::ITensor& cache, nv::ITensor& update, nv::ITensor& writeIndices,
                                                   nv::KVCacheMode cacheMode) noexcept {
  return add<nv::IKVCacheUpdateLayer>("INetworkDefinition::addKVCacheUpdate", LayerType::kKVCACHE_UPDATE,
                                      {&cache, &update, &writeIndices},
                                      [&](auto& layer) { layer.setCacheMode(checkedEnum(cacheMode, "cache mode")); });
}

nv::IConcatenationLayer* Network::addConcatenation(nv::ITensor* const* inputs, int32_t nbInputs) noexcept {
  return guarded(
      reporter_, "INetworkDefinition::addConcatenation", static_cast<nv::IConcatenationLayer*>(nullptr), [&] {
        checkUser(inputs != nullptr && nbInputs > 0, "a concatenation needs at least one input, got {}", nbInputs);
        LayerBase& layer = create(LayerType::kCONCATENATION, {inputs, static_cast<size_t>(nbInputs)});
        return static_cast<nv::IConcatenationLayer*>(&layer.interface());
      });
}

nv::ILoop* Network::addLoop() noexcept {
  return guarded(reporter_, "INetworkDefinition::addLoop", static_cast<nv::ILoop*>(nullptr), [&] {
    nv::ILoop* loop = nullptr;
    constructs_.push_back(makeLoop(*this, fmt::format("(Unnamed Loop* {})", constructs_.size()), loop));
    return loop;
  });
}

nv::IIfConditional* Network::addIfConditional() noexcept {
  return guarded(reporter_, "INetworkDefinition::addIfConditional", static_cast<nv::IIfConditional*>(nullptr), [&] {
    nv::IIfConditional* conditional = nullptr;
    constructs_.push_back(
        makeConditional(*this, fmt::format("(Unnamed Conditional* {})", constructs_.size()), conditional));
    return conditional;
  });
}

nv::IDistCollectiveLayer* Network::addDistCollective(nv::ITensor&, nv::CollectiveOperation, nv::ReduceOperation,
                                                     int64_t, int64_t*, int64_t) noexcept {
  return guarded(reporter_, "INetworkDefinition::addDistCollective", static_cast<nv::IDistCollectiveLayer*>(nullptr),
                 []() -> nv::IDistCollectiveLayer* {
                   throw Unsupported(
                       "INetworkDefinition::addDistCollective is not supported yet: an engine runs on one device, so "
                       "that there is no other to exchange with; build one network for each device and exchange "
                       "between their executions");
                 });
}

}  // namespace tenon::api
