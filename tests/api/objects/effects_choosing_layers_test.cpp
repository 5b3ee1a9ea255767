// The same for layers that choose, turn and count, and for those of language models.
#include "effects.h"

namespace setters {
namespace {

nv::IDynamicQuantizeLayer* quantizedAlongAnAxis(Scene& s) {
  return done(s,
              s.network->addDynamicQuantize(s.input("x", {32, 32}), 1, 16, nv::DataType::kFP8, nv::DataType::kFLOAT));
}
nv::IMoELayer* plainExperts(Scene& s) {
  auto* layer = experts(s);
  layer->setSwigluParams(2, 1, 0.5F);
  return layer;
}
nv::IMoELayer* staticExperts(Scene& s) {
  auto* layer = experts(s);
  layer->setQuantizationStatic(oneScale(s), nv::DataType::kINT8);
  return layer;
}
nv::IMoELayer* dynamicExperts(Scene& s) {
  auto* layer = experts(s);
  layer->setQuantizationDynamicDblQ(oneScale(s), nv::DataType::kFP4, dims({1, 1, 4}), nv::DataType::kFP8);
  return layer;
}
nv::IAssertionLayer* untrue(Scene& s) {
  static const int8_t kNo = 0;
  auto* truth = s.network->addConstant(dims({}), {nv::DataType::kBOOL, &kNo, 1});
  done(s, s.network->addIdentity(image(s)));
  return s.network->addAssertion(*truth->getOutput(0), "no");
}
nv::IAttention* inParts(Scene& s) {
  auto* made = attention(s);
  made->setDecomposable(true);
  return made;
}
nv::IAttention* withoutSoftmax(Scene& s) {
  auto* made = attention(s);
  made->setNormalizationOperation(nv::AttentionNormalizationOp::kNONE);
  return made;
}
nv::IAttention* quantizedAttention(Scene& s) {
  auto* made = inParts(s);
  made->setNormalizationQuantizeScale(oneScale(s));
  made->setNormalizationQuantizeToType(nv::DataType::kINT8);
  return made;
}
nv::IAttention* maskedAttention(Scene& s) {
  auto* made = attention(s);
  made->setMask(s.input("mask", {1, 4, 6, 6}));
  return made;
}

template <typename Object>
std::string planOf(Object* (*make)(Scene&)) {
  Scene scene;
  EXPECT_NE(make(scene), nullptr);
  return outcomeOf(scene).plan;
}

TEST(Effects, OfLayersThatChoose) {
  CHANGES(IEinsumLayer, setEquation, einsum, "ij,jk->ki");
  CHANGES(IGridSampleLayer, setInterpolationMode, gridSample, nv::InterpolationMode::kNEAREST);
  CHANGES(IGridSampleLayer, setAlignCorners, gridSample, true);
  CHANGES(IGridSampleLayer, setSampleMode, gridSample, nv::SampleMode::kCLAMP);
  CHANGES(INMSLayer, setBoundingBoxFormat, suppression, nv::BoundingBoxFormat::kCENTER_SIZES);
  CHANGES(INMSLayer, setTopKBoxLimit, suppression, 3);
  CHANGES(INMSLayer, setIndicesType, suppression, nv::DataType::kINT64);
  CHANGES(INonZeroLayer, setIndicesType, nonZero, nv::DataType::kINT64);
  CHANGES(IOneHotLayer, setAxis, oneHot, 0);
  CHANGES(IReverseSequenceLayer, setBatchAxis, reverseSequence, 2);
  CHANGES(IReverseSequenceLayer, setSequenceAxis, reverseSequence, 2);
  CHANGES(IRotaryEmbeddingLayer, setInterleaved, rotaryEmbedding, true);
  REFUSED(IRotaryEmbeddingLayer, setRotaryEmbeddingDim, rotaryEmbedding, "half of the 6 columns", 6);
  REFUSED(IAssertionLayer, setMessage, untrue, "the sky is green", "the sky is green");
}

TEST(Effects, OfLayersOfLanguageModels) {
  CHANGES(IDynamicQuantizeLayer, setToType, dynamicQuantize, nv::DataType::kINT8);
  CHANGES(IDynamicQuantizeLayer, setScaleType, dynamicQuantize, nv::DataType::kHALF);
  CHANGES(IDynamicQuantizeLayer, setBlockShape, dynamicQuantize, dims({1, 1, 3, 2}));
  CHANGES(IDynamicQuantizeLayer, setAxis, quantizedAlongAnAxis, 0);
  CHANGES(IDynamicQuantizeLayer, setBlockSize, quantizedAlongAnAxis, 8);
  REFUSED(IKVCacheUpdateLayer, setCacheMode, cacheUpdate, "cache mode", static_cast<nv::KVCacheMode>(1));
  CHANGES(IMoELayer, setActivationType, experts, nv::MoEActType::kNONE);
  CHANGES(IMoELayer, setSwigluParams, experts, 2.F, 1.5F, 0.5F);
  CHANGES(IMoELayer, setSwigluParamLimit, plainExperts, 3.F);
  CHANGES(IMoELayer, setSwigluParamAlpha, plainExperts, 1.5F);
  CHANGES(IMoELayer, setSwigluParamBeta, plainExperts, 0.25F);
  CHANGES(IMoELayer, setQuantizationToType, staticExperts, nv::DataType::kFP8);
  CHANGES(IMoELayer, setQuantizationBlockShape, dynamicExperts, dims({1, 1, 8}));
  REFUSED(IMoELayer, setDynQOutputScaleType, dynamicExperts, "the scales have type f16", nv::DataType::kHALF);
  const auto plain = planOf(&experts);
  SEEN(IMoELayer, setQuantizationStatic);
  EXPECT_NE(planOf(&staticExperts), plain);
  SEEN(IMoELayer, setQuantizationDynamicDblQ);
  EXPECT_NE(planOf(&dynamicExperts), planOf(&staticExperts));
  SEEN(IMoELayer, setGatedWeights);
  SEEN(IMoELayer, setGatedBiases);
  Scene biased;
  auto* layer = experts(biased);
  const auto bias = [&](int64_t width) -> nv::ITensor& {
    return *biased.network->addConstant(dims({2, width}), Scene::floats(2 * width))->getOutput(0);
  };
  layer->setGatedBiases(bias(8), bias(8), bias(4));
  EXPECT_NE(outcomeOf(biased).plan, plain);
}

TEST(Effects, OfAttention) {
  CHANGES(IAttention, setNormalizationOperation, inParts, nv::AttentionNormalizationOp::kNONE);
  CHANGES(IAttention, setCausal, attention, true);
  REFUSED(IAttention, setName, withoutSoftmax, "attention 'another name'", "another name");  // of messages
  CHANGES(IAttention, setMetadata, attention, "of the second block");
  CHANGES(IAttention, setNormalizationQuantizeToType, quantizedAttention, nv::DataType::kFP8);
  SEEN(IAttention, setNormalizationQuantizeScale);
  EXPECT_NE(planOf(&quantizedAttention), planOf(&inParts));
  SEEN(IAttention, setMask);
  EXPECT_NE(planOf(&maskedAttention), planOf(&attention));
  REFUSED(IAttention, setDecomposable, quantizedAttention, "ecompos", false);
}

}  // namespace
}  // namespace setters
