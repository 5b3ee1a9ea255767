// The scene with one small network for each kind of layer, some of which an implementation may refuse.
#include "program.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace scenes {
namespace {

struct Place {
  INetworkDefinition& net;
  ITensor& x;  // [2,3,8,8], float
  Store& store;
};

ITensor* out(ILayer* layer) { return layer != nullptr ? layer->getOutput(0) : nullptr; }

ITensor* convolution(Place p) {
  auto* layer = p.net.addConvolutionNd(p.x, 4, Dims{2, {3, 3}}, p.store.floats(4 * 3 * 9), p.store.floats(4));
  layer->setPaddingNd(Dims{2, {1, 1}});
  layer->setStrideNd(Dims{2, {2, 1}});
  layer->setName("conv \"quoted\" \xc3\xa9");
  return out(layer);
}
ITensor* deconvolution(Place p) {
  return out(p.net.addDeconvolutionNd(p.x, 2, Dims{2, {2, 2}}, p.store.floats(3 * 2 * 4),
                                      Weights{DataType::kFLOAT, nullptr, 0}));
}
ITensor* activation(Place p) {
  auto* layer = p.net.addActivation(p.x, ActivationType::kLEAKY_RELU);
  layer->setAlpha(0.1F);
  return out(layer);
}
ITensor* pooling(Place p) {
  auto* layer = p.net.addPoolingNd(p.x, PoolingType::kAVERAGE, Dims{2, {2, 2}});
  layer->setStrideNd(Dims{2, {2, 2}});
  layer->setAverageCountExcludesPadding(false);
  return out(layer);
}
ITensor* lrn(Place p) { return out(p.net.addLRN(p.x, 3, 1e-4F, 0.75F, 1.0F)); }
ITensor* scale(Place p) {
  return out(p.net.addScale(p.x, ScaleMode::kCHANNEL, p.store.floats(3), p.store.floats(3, 0.5F, 1.5F),
                            Weights{DataType::kFLOAT, nullptr, 0}));
}
ITensor* softmax(Place p) {
  auto* layer = p.net.addSoftMax(p.x);
  layer->setAxes(1U << 1);
  return out(layer);
}
ITensor* concatenation(Place p) {
  ITensor* both[] = {&p.x, &p.x};
  auto* layer = p.net.addConcatenation(both, 2);
  layer->setAxis(1);
  return out(layer);
}
ITensor* elementwise(Place p) { return out(p.net.addElementWise(p.x, p.x, ElementWiseOperation::kPROD)); }
ITensor* unary(Place p) { return out(p.net.addUnary(p.x, UnaryOperation::kABS)); }
ITensor* padding(Place p) { return out(p.net.addPaddingNd(p.x, Dims{2, {1, 1}}, Dims{2, {0, 2}})); }
ITensor* shuffle(Place p) {
  auto* layer = p.net.addShuffle(p.x);
  layer->setFirstTranspose(Permutation{{0, 2, 3, 1}});
  layer->setReshapeDimensions(Dims{2, {0, -1}});
  return out(layer);
}
ITensor* reduce(Place p) { return out(p.net.addReduce(p.x, ReduceOperation::kMAX, 1U << 2, true)); }
ITensor* topk(Place p) { return out(p.net.addTopK(p.x, TopKOperation::kMAX, 3, 1U << 3)); }
ITensor* gather(Place p) { return out(p.net.addGather(p.x, *constant(p.net, p.store, Dims{1, {2}}, {2, 0}), 1)); }
ITensor* matmul(Place p) {
  return out(p.net.addMatrixMultiply(p.x, MatrixOperation::kNONE, p.x, MatrixOperation::kTRANSPOSE));
}
ITensor* ragged(Place p) {
  auto* flat = p.net.addShuffle(p.x);
  flat->setReshapeDimensions(Dims{3, {2, 3, 64}});
  return out(
      p.net.addRaggedSoftMax(*flat->getOutput(0), *constant(p.net, p.store, Dims{3, {2, 3, 1}}, {1, 2, 3, 4, 5, 6})));
}
ITensor* constantLayer(Place p) {
  auto* layer = p.net.addConstant(Dims{4, {2, 3, 8, 8}}, p.store.floats(384));
  p.net.setWeightsName(layer->getWeights(), "constant");
  return out(p.net.addElementWise(p.x, *layer->getOutput(0), ElementWiseOperation::kSUM));
}
ITensor* identity(Place p) { return out(p.net.addIdentity(p.x)); }
ITensor* cast(Place p) { return out(p.net.addCast(p.x, DataType::kINT32)); }
ITensor* slice(Place p) {
  auto* layer = p.net.addSlice(p.x, Dims{4, {0, 0, 1, 1}}, Dims{4, {2, 3, 3, 3}}, Dims{4, {1, 1, 2, 2}});
  layer->setMode(SampleMode::kWRAP);
  return out(layer);
}
ITensor* shape(Place p) { return out(p.net.addShape(p.x)); }
ITensor* parametricRelu(Place p) {
  auto* slope = p.net.addConstant(Dims{4, {1, 3, 1, 1}}, p.store.floats(3))->getOutput(0);
  return out(p.net.addParametricReLU(p.x, *slope));
}
ITensor* resize(Place p) {
  auto* layer = p.net.addResize(p.x);
  const float scales[] = {1, 1, 2, 1.5F};
  layer->setScales(scales, 4);
  float back[4] = {};
  layer->getScales(4, back);
  layer->setResizeMode(InterpolationMode::kLINEAR);
  return out(layer);
}
ITensor* loop(Place p) {
  ILoop* loop = p.net.addLoop();
  if (loop == nullptr) {
    return nullptr;
  }
  loop->setName("loop");
  loop->addTripLimit(*constant(p.net, p.store, Dims{0, {}}, {4}), TripLimit::kCOUNT);
  auto* state = loop->addRecurrence(p.x);
  auto* next = p.net.addElementWise(*state->getOutput(0), p.x, ElementWiseOperation::kSUM);
  state->setInput(1, *next->getOutput(0));
  return out(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE));
}
ITensor* conditional(Place p) {
  IIfConditional* branch = p.net.addIfConditional();
  if (branch == nullptr) {
    return nullptr;
  }
  auto* condition = p.net.addConstant(Dims{0, {}}, p.store.of<int8_t>(DataType::kBOOL, {1}));
  branch->setCondition(*condition->getOutput(0));
  auto* input = branch->addInput(p.x);
  auto* then = p.net.addUnary(*input->getOutput(0), UnaryOperation::kNEG);
  return out(branch->addOutput(*then->getOutput(0), *input->getOutput(0)));
}
ITensor* select(Place p) {
  auto* greater = p.net.addElementWise(p.x, p.x, ElementWiseOperation::kGREATER);
  return out(p.net.addSelect(*greater->getOutput(0), p.x, p.x));
}
ITensor* fill(Place p) {
  auto* layer = p.net.addFill(Dims{2, {3, 5}}, FillOperation::kLINSPACE, DataType::kFLOAT);
  layer->setInput(1, *p.net.addConstant(Dims{0, {}}, p.store.floats(1))->getOutput(0));
  layer->setInput(2, *p.net.addConstant(Dims{1, {2}}, p.store.floats(2))->getOutput(0));
  return out(layer);
}
ITensor* quantize(Place p) {
  auto* factor = p.net.addConstant(Dims{0, {}}, p.store.floats(1, 0.1F, 0.2F))->getOutput(0);
  auto* quantized = p.net.addQuantize(p.x, *factor, DataType::kINT8);
  if (quantized == nullptr) {
    return nullptr;
  }
  return out(p.net.addDequantize(*quantized->getOutput(0), *factor, DataType::kFLOAT));
}
ITensor* scatter(Place p) {
  auto* layer =
      p.net.addScatter(p.x, *constant(p.net, p.store, Dims{2, {1, 1}}, {1}),
                       *p.net.addConstant(Dims{4, {1, 3, 8, 8}}, p.store.floats(192))->getOutput(0), ScatterMode::kND);
  return out(layer);
}
ITensor* einsum(Place p) {
  ITensor* inputs[] = {&p.x, &p.x};
  return out(p.net.addEinsum(inputs, 2, "abcd,abed->abce"));
}
ITensor* assertion(Place p) {
  auto* truth = p.net.addConstant(Dims{0, {}}, p.store.of<int8_t>(DataType::kBOOL, {1}))->getOutput(0);
  p.net.addAssertion(*truth, "holds");
  return out(p.net.addIdentity(p.x));
}
ITensor* oneHot(Place p) {
  auto* values = p.net.addConstant(Dims{1, {2}}, p.store.floats(2))->getOutput(0);
  return out(p.net.addOneHot(*constant(p.net, p.store, Dims{1, {3}}, {0, 2, 1}), *values,
                             *constant(p.net, p.store, Dims{0, {}}, {4}), -1));
}
ITensor* nonZero(Place p) { return out(p.net.addNonZero(p.x)); }
ITensor* gridSample(Place p) {
  auto* grid = p.net.addConstant(Dims{4, {2, 4, 4, 2}}, p.store.floats(64))->getOutput(0);
  auto* layer = p.net.addGridSample(p.x, *grid);
  if (layer != nullptr) {
    layer->setAlignCorners(true);
  }
  return out(layer);
}
ITensor* nms(Place p) {
  auto* boxes = p.net.addConstant(Dims{3, {1, 6, 4}}, p.store.floats(24, 0, 1))->getOutput(0);
  auto* scores = p.net.addConstant(Dims{3, {1, 6, 1}}, p.store.floats(6, 0, 1))->getOutput(0);
  return out(p.net.addNMS(*boxes, *scores, *constant(p.net, p.store, Dims{0, {}}, {3})));
}
ITensor* reverse(Place p) {
  return out(p.net.addReverseSequence(p.x, *constant(p.net, p.store, Dims{1, {3}}, {1, 2, 2})));
}
ITensor* normalization(Place p) {
  auto* factor = p.net.addConstant(Dims{4, {1, 3, 1, 1}}, p.store.floats(3))->getOutput(0);
  auto* bias = p.net.addConstant(Dims{4, {1, 3, 1, 1}}, p.store.floats(3))->getOutput(0);
  auto* layer = p.net.addNormalization(p.x, *factor, *bias, (1U << 2) | (1U << 3));
  if (layer != nullptr) {
    layer->setEpsilon(1e-3F);
  }
  return out(layer);
}
ITensor* squeeze(Place p) {
  ITensor* wide = out(p.net.addUnsqueeze(p.x, *constant(p.net, p.store, Dims{1, {1}}, {0})));
  return wide == nullptr ? nullptr : out(p.net.addSqueeze(*wide, *constant(p.net, p.store, Dims{1, {1}}, {0})));
}
ITensor* cumulative(Place p) {
  return out(
      p.net.addCumulative(p.x, *constant(p.net, p.store, Dims{0, {}}, {2}), CumulativeOperation::kSUM, true, false));
}
// The data, back in floating point.
ITensor* withScales(Place p, IDynamicQuantizeLayer* layer) {
  if (layer == nullptr) {
    return nullptr;
  }
  auto* scale = p.net.addConstant(Dims{0, {}}, p.store.floats(1, 0.1F, 0.2F))->getOutput(0);
  layer->setInput(1, *scale);
  auto* scales = p.net.addDequantize(*layer->getOutput(1), *scale, DataType::kFLOAT)->getOutput(0);
  return out(p.net.addDequantize(*layer->getOutput(0), *scales, DataType::kFLOAT));
}
ITensor* dynamicQuantize(Place p) {
  return withScales(p, p.net.addDynamicQuantize(p.x, 3, 8, DataType::kFP4, DataType::kFP8));
}
ITensor* attention(Place p) {
  IAttention* layer = p.net.addAttention(p.x, p.x, p.x, AttentionNormalizationOp::kSOFTMAX, true);
  if (layer == nullptr) {
    return nullptr;
  }
  layer->setName("attention");
  layer->setDecomposable(true);
  return layer->getOutput(0);
}
ITensor* rotary(Place p) {
  auto* angles = p.net.addConstant(Dims{3, {2, 8, 4}}, p.store.floats(64))->getOutput(0);
  return out(p.net.addRotaryEmbedding(p.x, *angles, *angles, false, 0));
}
ITensor* cacheUpdate(Place p) {
  auto* update = p.net.addConstant(Dims{4, {2, 3, 1, 8}}, p.store.floats(48))->getOutput(0);
  return out(
      p.net.addKVCacheUpdate(p.x, *update, *constant(p.net, p.store, Dims{1, {2}}, {0, 1}), KVCacheMode::kLINEAR));
}
ITensor* experts(Place p) {
  auto* rows = p.net.addShuffle(p.x);
  rows->setReshapeDimensions(Dims{3, {2, 24, 8}});
  std::vector<int32_t> chosen(96);
  for (size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = static_cast<int32_t>(i % 3);
  }
  auto* tokens = constant(p.net, p.store, Dims{3, {2, 24, 2}}, std::move(chosen));
  const auto weights = [&](const Dims& dims, int64_t count) -> ITensor& {
    return *p.net.addConstant(dims, p.store.floats(count))->getOutput(0);
  };
  auto* layer = p.net.addMoE(*rows->getOutput(0), *tokens, weights(Dims{3, {2, 24, 2}}, 96));
  if (layer == nullptr) {
    return nullptr;
  }
  layer->setGatedWeights(weights(Dims{3, {3, 8, 4}}, 96), weights(Dims{3, {3, 8, 4}}, 96),
                         weights(Dims{3, {3, 4, 8}}, 96), MoEActType::kSILU);
  layer->setGatedBiases(weights(Dims{2, {3, 4}}, 12), weights(Dims{2, {3, 4}}, 12), weights(Dims{2, {3, 8}}, 24));
  layer->setSwigluParams(4.0F, 1.5F, 0.5F);
  return out(layer);
}
// The older or newer function beside each that the layers above use.
ITensor* quantizeAsTyped(Place p) {
  auto* factor = p.net.addConstant(Dims{0, {}}, p.store.floats(1, 0.1F, 0.2F))->getOutput(0);
  auto* quantized = p.net.addQuantize(p.x, *factor);
  return quantized == nullptr ? nullptr : out(p.net.addDequantize(*quantized->getOutput(0), *factor));
}
ITensor* dynamicQuantizeBlocks(Place p) {
  return withScales(p, p.net.addDynamicQuantizeV2(p.x, Dims{4, {1, 1, 1, 8}}, DataType::kFP4, DataType::kFP8));
}
ITensor* fillAsTyped(Place p) {
  auto* layer = p.net.addFill(Dims{1, {5}}, FillOperation::kLINSPACE);
  layer->setAlpha(1.5);
  layer->setBeta(0.25);
  return out(layer);
}
ITensor* gatherElements(Place p) {
  std::vector<int32_t> rows(384);
  std::generate(rows.begin(), rows.end(), [n = 0]() mutable { return n++ % 8; });
  auto* layer =
      p.net.addGatherV2(p.x, *constant(p.net, p.store, Dims{4, {2, 3, 8, 8}}, std::move(rows)), GatherMode::kELEMENT);
  layer->setGatherAxis(3);
  return out(layer);
}
ITensor* nmsTyped(Place p) {
  auto* boxes = p.net.addConstant(Dims{3, {1, 6, 4}}, p.store.floats(24, 0, 1))->getOutput(0);
  auto* scores = p.net.addConstant(Dims{3, {1, 6, 1}}, p.store.floats(6, 0, 1))->getOutput(0);
  return out(p.net.addNMS(*boxes, *scores, *constant(p.net, p.store, Dims{0, {}}, {3}), DataType::kINT64));
}
ITensor* nonZeroTyped(Place p) { return out(p.net.addNonZero(p.x, DataType::kINT64)); }
ITensor* normalizationOfChannels(Place p) {
  auto* factor = p.net.addConstant(Dims{4, {1, 3, 1, 1}}, p.store.floats(3))->getOutput(0);
  auto* bias = p.net.addConstant(Dims{4, {1, 3, 1, 1}}, p.store.floats(3))->getOutput(0);
  return out(p.net.addNormalizationV2(p.x, *factor, *bias, (1U << 2) | (1U << 3)));
}
ITensor* scaleOfAxis(Place p) {
  return out(p.net.addScaleNd(p.x, ScaleMode::kCHANNEL, p.store.floats(3), p.store.floats(3, 0.5F, 1.5F),
                              Weights{DataType::kFLOAT, nullptr, 0}, 1));
}
ITensor* topkTyped(Place p) { return out(p.net.addTopK(p.x, TopKOperation::kMIN, 2, 1U << 3, DataType::kINT64)); }
ITensor* collective(Place p) {
  int64_t groups[] = {0, 1};
  return out(p.net.addDistCollective(p.x, CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, 0, groups, 2));
}

using Make = ITensor* (*)(Place);
constexpr Make kLayers[] = {convolution,
                            deconvolution,
                            activation,
                            pooling,
                            lrn,
                            scale,
                            softmax,
                            concatenation,
                            elementwise,
                            unary,
                            padding,
                            shuffle,
                            reduce,
                            topk,
                            gather,
                            matmul,
                            ragged,
                            constantLayer,
                            identity,
                            cast,
                            slice,
                            shape,
                            parametricRelu,
                            resize,
                            loop,
                            conditional,
                            select,
                            fill,
                            quantize,
                            scatter,
                            einsum,
                            assertion,
                            oneHot,
                            nonZero,
                            gridSample,
                            nms,
                            reverse,
                            normalization,
                            squeeze,
                            cumulative,
                            dynamicQuantize,
                            attention,
                            rotary,
                            cacheUpdate,
                            experts,
                            collective,
                            quantizeAsTyped,
                            dynamicQuantizeBlocks,
                            fillAsTyped,
                            gatherElements,
                            nmsTyped,
                            nonZeroTyped,
                            normalizationOfChannels,
                            scaleOfAxis,
                            topkTyped};

}  // namespace

int everyLayer(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  int number = 0;
  int built = 0;
  for (const Make make : kLayers) {
    Store store(static_cast<uint32_t>(number + 1));
    std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    ITensor* input = network->addInput("x", DataType::kFLOAT, Dims{4, {2, 3, 8, 8}});
    ITensor* output = make({*network, *input, store});
    if (output != nullptr) {
      network->markOutput(*output);
    }
    for (int i = 0; i < network->getNbLayers(); ++i) {
      if (network->getLayer(i)->getNbInputs() < 0 || network->getLayer(i)->getName() == nullptr) {
        return 1;
      }
    }
    built += build(*builder, *network, prefix + std::to_string(number)) ? 1 : 0;
    ++number;
  }
  std::printf("%d of %d networks built\n", built, number);
  return built > 20 ? 0 : 1;
}

}  // namespace scenes
