// Networks of one layer each, ready to be built, as the object whose setters are called.
#pragma once

#include "setters.h"

namespace setters {

template <typename Layer>
Layer* done(Scene& scene, Layer* layer) {
  if (layer != nullptr) scene.output(*layer);
  return layer;
}

inline nv::ITensor& image(Scene& s) { return s.input("x", {1, 4, 6, 6}); }

inline nv::IConvolutionLayer* convolution(Scene& s) {
  return done(s, s.network->addConvolutionNd(image(s), 4, dims({3, 3}), Scene::floats(144), Scene::floats(4)));
}
inline nv::IDeconvolutionLayer* deconvolution(Scene& s) {
  return done(s, s.network->addDeconvolutionNd(image(s), 4, dims({3, 3}), Scene::floats(144), Scene::floats(4)));
}
inline nv::IPoolingLayer* pooling(Scene& s) {
  return done(s, s.network->addPoolingNd(image(s), nv::PoolingType::kAVERAGE, dims({2, 2})));
}
inline nv::IPaddingLayer* padding(Scene& s) {
  return done(s, s.network->addPaddingNd(image(s), dims({1, 1}), dims({0, 1})));
}
inline nv::ILRNLayer* lrn(Scene& s) { return done(s, s.network->addLRN(image(s), 3, 1, 0.75F, 1)); }
inline nv::IResizeLayer* resize(Scene& s) {
  auto* layer = s.network->addResize(image(s));
  layer->setOutputDimensions(dims({1, 4, 3, 9}));
  return done(s, layer);
}
inline nv::IResizeLayer* cubic(Scene& s) {
  auto* layer = resize(s);
  layer->setResizeMode(nv::InterpolationMode::kCUBIC);
  return layer;
}
inline nv::IScaleLayer* scale(Scene& s) {
  return done(
      s, s.network->addScale(image(s), nv::ScaleMode::kCHANNEL, Scene::floats(4), Scene::floats(4), Scene::floats(4)));
}
inline nv::ISliceLayer* slice(Scene& s) {
  return done(s, s.network->addSlice(image(s), dims({0, 0, 1, 1}), dims({1, 4, 2, 2}), dims({1, 1, 2, 2})));
}
inline nv::ISliceLayer* clampedSlice(Scene& s) {
  auto* layer = slice(s);
  layer->setMode(nv::SampleMode::kCLAMP);
  return layer;
}
inline nv::IShuffleLayer* shuffle(Scene& s) { return done(s, s.network->addShuffle(image(s))); }
inline nv::ISoftMaxLayer* softmax(Scene& s) { return done(s, s.network->addSoftMax(image(s))); }
inline nv::IReduceLayer* reduce(Scene& s) {
  return done(s, s.network->addReduce(image(s), nv::ReduceOperation::kSUM, 4, true));
}
inline nv::ITopKLayer* topk(Scene& s) { return done(s, s.network->addTopK(image(s), nv::TopKOperation::kMAX, 2, 4)); }
inline nv::IActivationLayer* activation(Scene& s) {
  return done(s, s.network->addActivation(image(s), nv::ActivationType::kCLIP));
}
inline nv::IUnaryLayer* unary(Scene& s) { return done(s, s.network->addUnary(image(s), nv::UnaryOperation::kABS)); }
inline nv::ILayer* anyLayer(Scene& s) { return unary(s); }
inline nv::ICastLayer* cast(Scene& s) { return done(s, s.network->addCast(image(s), nv::DataType::kINT32)); }
inline nv::IElementWiseLayer* elementwise(Scene& s) {
  auto& x = image(s);
  return done(s, s.network->addElementWise(x, x, nv::ElementWiseOperation::kSUM));
}
inline nv::IConcatenationLayer* concatenation(Scene& s) {
  nv::ITensor* parts[] = {&image(s), s.network->getInput(0)};
  return done(s, s.network->addConcatenation(parts, 2));
}
inline nv::IConstantLayer* constant(Scene& s) {
  return done(s, s.network->addConstant(dims({2, 3}), Scene::floats(6)));
}
inline nv::ICumulativeLayer* cumulative(Scene& s) {
  static int64_t axis = 1;
  auto* where = s.network->addConstant(dims({}), {nv::DataType::kINT64, &axis, 1});
  return done(s, s.network->addCumulative(image(s), *where->getOutput(0), nv::CumulativeOperation::kSUM, false, false));
}
// A running sum over axis 2 of the image: what slices it, and what gives the sums of all iterations.
struct LoopLayers {
  nv::IIteratorLayer* iterator;
  nv::ILoopOutputLayer* output;
};
inline LoopLayers runningSum(Scene& s) {
  static int64_t count = 6;
  auto* loop = s.network->addLoop();
  auto* length = s.network->addConstant(dims({}), {nv::DataType::kINT64, &count, 1})->getOutput(0);
  loop->addTripLimit(*length, nv::TripLimit::kCOUNT);
  auto* iterator = loop->addIterator(image(s), 2);
  auto* sum = loop->addRecurrence(*s.network->addConstant(dims({1, 4, 6}), Scene::floats(24))->getOutput(0));
  auto* next = s.network->addElementWise(*sum->getOutput(0), *iterator->getOutput(0), nv::ElementWiseOperation::kSUM);
  sum->setInput(1, *next->getOutput(0));
  auto* output = loop->addLoopOutput(*next->getOutput(0), nv::LoopOutput::kCONCATENATE, 3);
  output->setInput(1, *length);
  return {iterator, done(s, output)};
}
inline nv::IIteratorLayer* iterator(Scene& s) { return runningSum(s).iterator; }
inline nv::ILoopOutputLayer* loopOutput(Scene& s) { return runningSum(s).output; }
inline nv::IFillLayer* fill(Scene& s) {
  auto* layer = s.network->addFill(dims({6}), nv::FillOperation::kLINSPACE, nv::DataType::kFLOAT);
  layer->setAlpha(1);
  layer->setBeta(2);
  return done(s, layer);
}
inline nv::IGatherLayer* gather(Scene& s) { return done(s, s.network->addGather(image(s), s.ints({1, 0}), 1)); }
inline nv::IMatrixMultiplyLayer* product(Scene& s) {
  auto& x = image(s);
  return done(s, s.network->addMatrixMultiply(x, nv::MatrixOperation::kNONE, x, nv::MatrixOperation::kTRANSPOSE));
}
inline nv::INormalizationLayer* normalization(Scene& s) {
  auto* ones = s.network->addConstant(dims({1, 4, 1, 1}), Scene::floats(4));
  return done(s, s.network->addNormalization(image(s), *ones->getOutput(0), *ones->getOutput(0), 12));
}
inline nv::ITensor& oneScale(Scene& s) { return *s.network->addConstant(dims({}), Scene::floats(1))->getOutput(0); }
inline nv::IQuantizeLayer* quantize(Scene& s) {
  return done(s, s.network->addQuantize(image(s), oneScale(s), nv::DataType::kINT8));
}
inline nv::IDequantizeLayer* dequantize(Scene& s) {
  auto* layer = s.network->addQuantize(image(s), oneScale(s), nv::DataType::kINT8);
  return done(s, s.network->addDequantize(*layer->getOutput(0), oneScale(s), nv::DataType::kFLOAT));
}
inline nv::IScatterLayer* scatter(Scene& s) {
  static std::vector<int64_t> zeros(144, 0);
  auto* where = s.network->addConstant(dims({1, 4, 6, 6}), {nv::DataType::kINT64, zeros.data(), 144});
  auto& x = image(s);
  return done(s, s.network->addScatter(x, *where->getOutput(0), x, nv::ScatterMode::kELEMENT));
}

inline nv::IDynamicQuantizeLayer* dynamicQuantize(Scene& s) {
  return done(s,
              s.network->addDynamicQuantizeV2(image(s), dims({1, 1, 2, 3}), nv::DataType::kFP8, nv::DataType::kFLOAT));
}
inline nv::IKVCacheUpdateLayer* cacheUpdate(Scene& s) {
  return done(s, s.network->addKVCacheUpdate(image(s), s.input("update", {1, 4, 2, 6}),
                                             s.input("start", {1}, nv::DataType::kINT32), nv::KVCacheMode::kLINEAR));
}
inline nv::IMoELayer* experts(Scene& s) {
  auto* layer = s.network->addMoE(s.input("x", {1, 3, 4}), s.input("e", {1, 3, 2}, nv::DataType::kINT32),
                                  s.input("s", {1, 3, 2}));
  const auto weights = [&](const std::vector<int64_t>& shape) -> nv::ITensor& {
    return *s.network->addConstant(dims(shape), Scene::floats(shape[0] * shape[1] * shape[2]))->getOutput(0);
  };
  layer->setGatedWeights(weights({2, 4, 8}), weights({2, 4, 8}), weights({2, 8, 4}), nv::MoEActType::kSILU);
  return done(s, layer);
}
inline nv::IAssertionLayer* assertion(Scene& s) {
  static const int8_t kYes = 1;
  auto* truth = s.network->addConstant(dims({}), {nv::DataType::kBOOL, &kYes, 1});
  done(s, s.network->addIdentity(image(s)));
  return s.network->addAssertion(*truth->getOutput(0), "yes");
}
inline nv::IAttention* attention(Scene& s) {
  auto& x = image(s);
  auto* made = s.network->addAttention(x, x, x, nv::AttentionNormalizationOp::kSOFTMAX, false);
  made->getOutput(0)->setName("y");
  s.network->markOutput(*made->getOutput(0));
  return made;
}

inline nv::IEinsumLayer* einsum(Scene& s) {
  nv::ITensor* inputs[] = {&s.input("x", {2, 3}), &s.input("z", {3, 2})};
  return done(s, s.network->addEinsum(inputs, 2, "ij,jk->ik"));
}
inline nv::IGridSampleLayer* gridSample(Scene& s) {
  return done(s, s.network->addGridSample(image(s), s.input("grid", {1, 3, 3, 2})));
}
inline nv::INMSLayer* suppression(Scene& s) {
  static const int32_t kMost = 4;
  auto* most = s.network->addConstant(dims({}), {nv::DataType::kINT32, &kMost, 1});
  return done(s, s.network->addNMS(s.input("boxes", {1, 9, 4}), s.input("scores", {1, 9, 2}), *most->getOutput(0),
                                   nv::DataType::kINT32));
}
inline nv::INonZeroLayer* nonZero(Scene& s) { return done(s, s.network->addNonZero(image(s), nv::DataType::kINT32)); }
inline nv::IOneHotLayer* oneHot(Scene& s) {
  static const int32_t kDepth = 3;
  auto* depth = s.network->addConstant(dims({}), {nv::DataType::kINT32, &kDepth, 1});
  auto* values = s.network->addConstant(dims({2}), Scene::floats(2));
  return done(s, s.network->addOneHot(s.input("x", {2, 4}, nv::DataType::kINT32), *values->getOutput(0),
                                      *depth->getOutput(0), -1));
}
inline nv::IReverseSequenceLayer* reverseSequence(Scene& s) {
  return done(s, s.network->addReverseSequence(s.input("x", {3, 3, 3}), s.input("l", {3}, nv::DataType::kINT32)));
}
inline nv::IRotaryEmbeddingLayer* rotaryEmbedding(Scene& s) {
  return done(s, s.network->addRotaryEmbedding(s.input("x", {1, 2, 3, 8}), s.input("cosines", {1, 3, 2}),
                                               s.input("sines", {1, 3, 2}), false, 4));
}

}  // namespace setters
