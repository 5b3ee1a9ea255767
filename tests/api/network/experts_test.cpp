// Quantization with computed scales and mixtures of experts: setters, what they come to beside sums in double,
// refusals.
#include <cmath>
#include <random>

#include "core/error.h"
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;
using Numbers = std::vector<double>;

class ComputedByFormula : public NetworkTest {
 protected:
  HostTensor random(const Extents& shape, double low = -1, double high = 1) {
    Dims dims;
    for (const int64_t extent : shape) dims.push(extent);
    HostTensor result(DataType::kF32, dims);
    for (int64_t i = 0; i < dims.count(); ++i)
      result.view().storeDouble(i, std::uniform_real_distribution<double>(low, high)(generator));
    return result;
  }
  nv::ITensor& feed(const char* name, HostTensor value, nv::DataType type = nv::DataType::kFLOAT) {
    Extents shape(value.view().dims.begin(), value.view().dims.end());
    values.push_back(std::move(value));
    return input(name, shape, type);
  }
  nv::ITensor& number(float value) { return *network->addConstant(dims({}), floats(1, value))->getOutput(0); }
  std::vector<HostTensor> run() {
    const graph::Graph graph = network->assemble();
    graph::verify(graph);
    std::vector<TensorView> views;
    for (const auto& value : values) views.push_back(value.view());
    return graph::evaluate(graph, views);
  }
  std::string refusal() {
    try {
      network->assemble();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  std::vector<HostTensor> values;  // of the inputs, in order
  std::mt19937 generator{11};
};

TEST_F(ComputedByFormula, ScalesOfBlocksAreTheLargestMagnitudes) {
  struct Case {
    nv::DataType type, scaleType;
    double largest, step;  // of the type: its largest number, and how far neighbours are apart at most, in shares of it
    Extents block;
  };
  for (const Case& c : {Case{nv::DataType::kFP4, nv::DataType::kFP8, 6, 2.0 / 6, {1, 16}},
                        Case{nv::DataType::kFP8, nv::DataType::kE8M0, 448, 32.0 / 448, {1, 32}},
                        Case{nv::DataType::kFP8, nv::DataType::kFLOAT, 448, 32.0 / 448, {2, 16}},
                        Case{nv::DataType::kINT8, nv::DataType::kHALF, 127, 1.0 / 127, {-1, 8}}}) {
    network = std::make_unique<Network>(builder, reporter, 1U);
    values.clear();
    auto& x = feed("x", random({4, 64}, -3, 3));
    for (int64_t i = 0; i < 32; ++i) values[0].view().storeDouble(i, 0);  // blocks of zeros, or parts of blocks
    auto* layer = network->addDynamicQuantizeV2(x, dims(c.block), c.type, c.scaleType);
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->getToType(), c.type);
    EXPECT_EQ(layer->getScaleType(), c.scaleType);
    EXPECT_TRUE(layer->getBlockShape() == c.block);
    if (c.scaleType == nv::DataType::kFP8) layer->setInput(1, number(0.01F));
    const int64_t height = c.block[0] == -1 ? 4 : c.block[0];
    ASSERT_EQ(extents(layer->getOutput(0)), (Extents{4, 64}));
    ASSERT_EQ(extents(layer->getOutput(1)), (Extents{4 / height, 64 / c.block[1]}));
    EXPECT_EQ(layer->getOutput(1)->getType(), c.scaleType);
    network->markOutput(*layer->getOutput(0));
    layer->getOutput(1)->setName("scales");
    network->markOutput(*layer->getOutput(1));
    const auto found = run();
    for (int64_t i = 0; i < 4 * 64; ++i) {
      const int64_t block = i / 64 / height * (64 / c.block[1]) + i % 64 / c.block[1];
      double largest = 0;
      for (int64_t j = 0; j < 4 * 64; ++j) {
        if (j / 64 / height * (64 / c.block[1]) + j % 64 / c.block[1] == block)
          largest = std::max(largest, std::abs(values[0].view().loadDouble(j)));
      }
      const double scale = found[1].view().loadDouble(block) * (c.scaleType == nv::DataType::kFP8 ? 0.01F : 1);
      if (largest == 0) {
        EXPECT_EQ(found[0].view().loadDouble(i), 0);
        continue;
      }
      if (c.scaleType == nv::DataType::kE8M0) {
        EXPECT_GE(scale, largest / c.largest * (1 - 1e-6));
        EXPECT_LT(scale, 2 * largest / c.largest);
      } else {
        EXPECT_NEAR(scale, largest / c.largest,
                    largest / c.largest * (c.scaleType == nv::DataType::kFP8 ? 0.07 : 1e-3));
      }
      const double half = scale * c.largest * c.step / 2;
      const double most = std::min(std::abs(values[0].view().loadDouble(i)), scale * c.largest);
      EXPECT_NEAR(std::abs(found[0].view().loadDouble(i)) * scale, most, half * 1.001);
      EXPECT_GE(found[0].view().loadDouble(i) * values[0].view().loadDouble(i), 0);
    }
  }
}

TEST_F(ComputedByFormula, DynamicQuantizationRefuses) {
  auto& x = input("x", {4, 64});
  auto* layer = network->addDynamicQuantize(x, 1, 16, nv::DataType::kFP4, nv::DataType::kFP8);
  EXPECT_EQ(layer->getAxis(), 1);
  EXPECT_EQ(layer->getBlockSize(), 16);
  network->markOutput(*layer->getOutput(0));
  EXPECT_NE(refusal().find("scales of kFP8 are quantized themselves; set their scale as input 1"), std::string::npos);
  layer->setInput(1, input("s", {}));
  EXPECT_EQ(refusal(), "accepted");
  layer->setBlockSize(24);
  EXPECT_NE(refusal().find("blocks of 24 elements do not divide axis 1 of the input [4,64]"), std::string::npos);
  layer->setBlockSize(0);
  EXPECT_NE(refusal().find("the block size is 0"), std::string::npos);
  layer->setBlockSize(16);
  layer->setAxis(2);
  EXPECT_NE(refusal().find("axis 2 is outside [-2, 2)"), std::string::npos);
  layer->setAxis(-1);
  layer->setToType(nv::DataType::kINT64);
  EXPECT_NE(refusal().find("dynamic quantization to i64 is not supported"), std::string::npos);
  layer->setToType(nv::DataType::kFP8);
  layer->setScaleType(nv::DataType::kINT8);
  EXPECT_NE(refusal().find("input 1 is a scale for scales of kFP8"), std::string::npos);
  log.errors.clear();
}

// A token's experts: down(silu(clip(gate)) * (clip(up) + beta)), by scores.
TEST_F(ComputedByFormula, ExpertsAreAddedByTheirScores) {
  const int64_t tokens = 6, width = 5, inner = 7, experts = 4, chosen = 2;
  for (const bool full : {false, true}) {
    network = std::make_unique<Network>(builder, reporter, 0U);
    values.clear();
    auto& hidden = feed("x", random({2, tokens / 2, width}));
    HostTensor which(DataType::kI32, {2, tokens / 2, chosen});
    for (int64_t i = 0; i < tokens * chosen; ++i) which.view().storeInt(i, (i * 5 + i / 3) % experts);
    auto& selected = feed("e", std::move(which), nv::DataType::kINT32);
    auto& scores = feed("s", random({2, tokens / 2, chosen}, 0, 1));
    auto* layer = network->addMoE(hidden, selected, scores);
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->getSwigluParamLimit(), std::numeric_limits<float>::infinity());
    EXPECT_EQ(layer->getSwigluParamAlpha(), 1);
    EXPECT_EQ(layer->getSwigluParamBeta(), 0);
    auto& gate = feed("gate", random({experts, width, inner}, -2, 2));
    auto& up = feed("up", random({experts, width, inner}, -2, 2));
    auto& down = feed("down", random({experts, inner, width}));
    layer->setGatedWeights(gate, up, down, nv::MoEActType::kSILU);
    EXPECT_EQ(layer->getActivationType(), nv::MoEActType::kSILU);
    const double limit = full ? 0.75F : INFINITY, alpha = full ? 1.5F : 1, beta = full ? 0.25F : 0;
    if (full) {
      auto& gateBias = feed("gb", random({experts, inner}));
      auto& upBias = feed("ub", random({experts, inner}));
      auto& downBias = feed("db", random({experts, width}));
      layer->setGatedBiases(gateBias, upBias, downBias);
      layer->setSwigluParams(0.75F, 1.5F, 0.25F);
      EXPECT_EQ(layer->getSwigluParamLimit(), 0.75F);
    }
    network->markOutput(*layer->getOutput(0));
    const auto found = run();
    const auto at = [&](size_t tensor, int64_t i) { return values[tensor].view().loadDouble(i); };
    for (int64_t t = 0; t < tokens; ++t) {
      Numbers expected(static_cast<size_t>(width));
      for (int64_t k = 0; k < chosen; ++k) {
        const auto e = values[1].view().loadInt(t * chosen + k);
        Numbers between;
        for (int64_t n = 0; n < inner; ++n) {
          double g = full ? at(6, e * inner + n) : 0, u = full ? at(7, e * inner + n) : 0;
          for (int64_t d = 0; d < width; ++d) {
            g += at(0, t * width + d) * at(3, (e * width + d) * inner + n);
            u += at(0, t * width + d) * at(4, (e * width + d) * inner + n);
          }
          g = std::min(g, limit);
          u = std::clamp(u, -limit, limit);
          between.push_back(g / (1 + std::exp(-alpha * g)) * (u + beta));
        }
        for (int64_t d = 0; d < width; ++d) {
          double sum = full ? at(8, e * width + d) : 0;
          for (int64_t n = 0; n < inner; ++n)
            sum += between[static_cast<size_t>(n)] * at(5, (e * inner + n) * width + d);
          expected[static_cast<size_t>(d)] += sum * at(2, t * chosen + k);
        }
      }
      for (int64_t d = 0; d < width; ++d)
        EXPECT_NEAR(found[0].view().loadDouble(t * width + d), expected[static_cast<size_t>(d)], 1e-4);
    }
  }
}

TEST_F(ComputedByFormula, ExpertsMayBeQuantizedInBetween) {
  auto* layer =
      network->addMoE(input("x", {1, 3, 4}), input("e", {1, 3, 2}, nv::DataType::kINT32), input("s", {1, 3, 2}));
  layer->setActivationType(nv::MoEActType::kSILU);
  network->markOutput(*layer->getOutput(0));
  EXPECT_NE(refusal().find("the weights are missing; call setGatedWeights()"), std::string::npos);
  layer->setGatedWeights(input("gate", {2, 4, 32}), input("up", {2, 4, 32}), input("down", {2, 32, 4}),
                         nv::MoEActType::kNONE);
  EXPECT_EQ(layer->getActivationType(), nv::MoEActType::kNONE);
  EXPECT_EQ(refusal(), "accepted");
  layer->setQuantizationStatic(number(0.5F), nv::DataType::kINT8);
  EXPECT_EQ(layer->getQuantizationToType(), nv::DataType::kINT8);
  EXPECT_EQ(refusal(), "accepted");
  layer->setQuantizationDynamicDblQ(number(0.5F), nv::DataType::kFP4, dims({1, 1, 16}), nv::DataType::kFP8);
  EXPECT_EQ(layer->getDynQOutputScaleType(), nv::DataType::kFP8);
  EXPECT_TRUE(layer->getQuantizationBlockShape() == (Extents{1, 1, 16}));
  EXPECT_EQ(refusal(), "accepted");
  layer->setQuantizationBlockShape(dims({1, 16}));
  EXPECT_NE(refusal().find("the quantization blocks have shape [1,16]; expected [1, 1, n]"), std::string::npos);
  log.errors.clear();
}

}  // namespace
}  // namespace tenon::api
