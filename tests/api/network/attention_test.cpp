// IAttention: its object and layers, what it becomes, what it comes to beside a sum in double, and refusals.
#include <cmath>
#include <random>

#include "core/error.h"
#include "fixture.h"

namespace tenon::api {
namespace {

using nv::AttentionNormalizationOp;
using Extents = std::vector<int64_t>;

class AttentionLayers : public NetworkTest {
 protected:
  nv::IAttention* attention(const Extents& q, const Extents& k, const Extents& v,
                            AttentionNormalizationOp op = AttentionNormalizationOp::kSOFTMAX, bool causal = false) {
    auto& query = input("q", q);
    auto& key = input("k", k);
    auto& value = input("v", v);
    return network->addAttention(query, key, value, op, causal);
  }
  // What assembling refuses.
  std::string refusal(nv::IAttention* attention) {
    if (network->getNbOutputs() == 0) network->markOutput(*attention->getOutput(0));
    try {
      network->assemble();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(AttentionLayers, HasTwoLayersAndGivesBackWhatWasSet) {
  auto* made = attention({1, 4, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 6});
  ASSERT_NE(made, nullptr);
  ASSERT_EQ(network->getNbLayers(), 2);
  EXPECT_EQ(network->getLayer(0)->getType(), nv::LayerType::kATTENTION_INPUT);
  EXPECT_EQ(network->getLayer(1)->getType(), nv::LayerType::kATTENTION_OUTPUT);
  EXPECT_EQ(static_cast<nv::IAttentionInputLayer*>(network->getLayer(0))->getAttention(), made);
  EXPECT_EQ(static_cast<nv::IAttentionOutputLayer*>(network->getLayer(1))->getAttention(), made);
  EXPECT_EQ(made->getNbInputs(), 3);
  EXPECT_EQ(made->getNbOutputs(), 1);
  EXPECT_EQ(made->getInput(1), network->getInput(1));
  EXPECT_EQ(made->getOutput(0), network->getLayer(1)->getOutput(0));
  EXPECT_EQ(made->getOutput(1), nullptr);
  EXPECT_EQ(extents(made->getOutput(0)), (Extents{1, 4, 5, 6}));
  EXPECT_EQ(made->getNormalizationOperation(), AttentionNormalizationOp::kSOFTMAX);
  EXPECT_FALSE(made->getCausal());
  EXPECT_FALSE(made->getDecomposable());
  EXPECT_EQ(made->getMask(), nullptr);
  EXPECT_EQ(made->getNormalizationQuantizeScale(), nullptr);
  EXPECT_EQ(made->getNbRanks(), 1);
  EXPECT_TRUE(made->setName("heads"));
  EXPECT_STREQ(made->getName(), "heads");
  EXPECT_TRUE(made->setMetadata("block 1"));
  EXPECT_STREQ(made->getMetadata(), "block 1");
  EXPECT_STREQ(network->getLayer(1)->getMetadata(), "block 1");
  EXPECT_TRUE(made->setCausal(true));
  EXPECT_TRUE(made->getCausal());
  EXPECT_TRUE(made->setDecomposable(true));
  EXPECT_TRUE(made->getDecomposable());
  auto& mask = input("m", {1, 1, 5, 7}, nv::DataType::kBOOL);
  EXPECT_TRUE(made->setMask(mask));
  EXPECT_EQ(made->getMask(), &mask);
  EXPECT_EQ(made->getNbInputs(), 4);
  EXPECT_TRUE(made->setNormalizationOperation(AttentionNormalizationOp::kNONE));
  EXPECT_EQ(made->getNormalizationOperation(), AttentionNormalizationOp::kNONE);
  EXPECT_TRUE(made->setNormalizationQuantizeScale(input("s", {})));
  EXPECT_TRUE(made->setNormalizationQuantizeToType(nv::DataType::kINT8));
  EXPECT_EQ(made->getNormalizationQuantizeToType(), nv::DataType::kINT8);
  auto& other = input("other", {1, 4, 9, 8});
  EXPECT_TRUE(made->setInput(0, other));
  EXPECT_EQ(network->getLayer(0)->getInput(0), &other);
  EXPECT_EQ(network->getLayer(1)->getInput(0), &other);
}

TEST_F(AttentionLayers, SettersRefuse) {
  auto* made = attention({1, 4, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 6});
  EXPECT_FALSE(made->setInput(3, *network->getInput(0)));
  expectError("there is no input 3 to set; expected 0 (query), 1 (key) or 2 (value)");
  EXPECT_FALSE(made->setName(nullptr));
  expectError("the new name is null");
  EXPECT_FALSE(made->setNormalizationQuantizeToType(nv::DataType::kHALF));
  expectError("expected kFP8 or kINT8");
  EXPECT_FALSE(made->setNormalizationOperation(static_cast<AttentionNormalizationOp>(2)));
  expectError("normalization operation");
  EXPECT_FALSE(made->setNbRanks(2));
  expectError("IAttention::setNbRanks is not supported yet");
  EXPECT_EQ(network->addAttention(*network->getInput(0), *network->getInput(1), *network->getInput(2),
                                  static_cast<AttentionNormalizationOp>(7), false),
            nullptr);
  expectError("normalization operation");
  EXPECT_EQ(network->getNbLayers(), 2);
}

TEST_F(AttentionLayers, BecomesOneOperator) {
  auto* made = attention({1, 4, -1, 8}, {1, 2, -1, 8}, {1, 2, -1, 8}, AttentionNormalizationOp::kSOFTMAX, true);
  made->getInput(1)->setDimensionName(2, "keys");
  made->getInput(2)->setDimensionName(2, "keys");
  EXPECT_EQ(operators(made->getOutput(0)), "attention{causal=true}");
}

TEST_F(AttentionLayers, RefusesWhatDoesNotFit) {
  auto* made = attention({1, 3, 5, 8}, {1, 2, 7, 8}, {1, 2, 7, 8});
  made->setName("a");
  EXPECT_EQ(refusal(made), "attention 'a': the query has 3 heads, no multiple of the 2 of key and value");
  made->setInput(0, input("flat", {3, 5, 8}));
  EXPECT_NE(refusal(made).find("have shapes [3,5,8], [1,2,7,8] and [1,2,7,8]; expected [batch, heads, length, width]"),
            std::string::npos);
  made->setInput(0, input("ints", {1, 2, 5, 8}, nv::DataType::kINT32));
  EXPECT_NE(refusal(made).find("have types i32, f32 and f32; expected one floating type"), std::string::npos);
  made->setInput(0, input("good", {1, 2, 5, 8}));
  made->setCausal(true);
  made->setMask(input("m", {1, 1, 5, 7}));
  EXPECT_NE(refusal(made).find("it is causal and has a mask"), std::string::npos);
  made->setCausal(false);
  EXPECT_EQ(refusal(made), "accepted");
  made->setMask(input("line", {7}));
  EXPECT_NE(refusal(made).find("the mask has shape [7]; expected 4 dimensions that broadcast to [1,2,5,7]"),
            std::string::npos);
  made->setMask(input("whole", {1, 1, 5, 7}, nv::DataType::kINT32));
  EXPECT_NE(refusal(made).find("the mask has type i32; expected bool or f32"), std::string::npos);
  made->setMask(*network->getInput(6));
  made->setNormalizationQuantizeScale(input("s", {}));
  EXPECT_NE(refusal(made).find("call setNormalizationQuantizeToType()"), std::string::npos);
  made->setNormalizationQuantizeToType(nv::DataType::kINT8);
  EXPECT_NE(refusal(made).find("computed in steps"), std::string::npos);
  EXPECT_NE(refusal(made).find("setDecomposable(true)"), std::string::npos);
  made->setDecomposable(true);
  EXPECT_EQ(refusal(made), "accepted");
  log.errors.clear();
}

// All that an attention may be, beside its definition in double.
TEST_F(AttentionLayers, ComputesItsDefinition) {
  enum class Mask { kNone, kBool, kNumbers };
  struct Case {
    AttentionNormalizationOp op;
    bool causal;
    Mask mask;
    bool quantized;
  };
  constexpr auto kNone = AttentionNormalizationOp::kNONE;
  constexpr auto kSoftmax = AttentionNormalizationOp::kSOFTMAX;
  const int64_t batch = 2, heads = 4, keyHeads = 2, rows = 5, keys = 7, width = 3, columns = 6;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const Case& c : {Case{kSoftmax, false, Mask::kNone, false}, Case{kSoftmax, true, Mask::kNone, false},
                        Case{kSoftmax, false, Mask::kBool, false}, Case{kSoftmax, false, Mask::kNumbers, false},
                        Case{kNone, false, Mask::kNone, false}, Case{kNone, true, Mask::kNone, false},
                        Case{kNone, false, Mask::kBool, false}, Case{kNone, false, Mask::kNumbers, false},
                        Case{kSoftmax, true, Mask::kNone, true}, Case{kSoftmax, false, Mask::kBool, true}}) {
    SCOPED_TRACE(fmt::format("normalization {} causal {} mask {} quantized {}", static_cast<int>(c.op), c.causal,
                             static_cast<int>(c.mask), c.quantized));
    network = std::make_unique<Network>(builder, reporter, 0U);
    auto* made = attention({batch, heads, rows, width}, {batch, keyHeads, keys, width},
                           {batch, keyHeads, keys, columns}, c.op, c.causal);
    made->setDecomposable(true);
    std::vector<HostTensor> values;
    const auto fill = [&](DataType type, const Dims& dims) {
      values.emplace_back(type, dims);
      for (int64_t i = 0; i < dims.count(); ++i) {
        const float x = normal(random);
        values.back().view().storeDouble(i, type == DataType::kBool ? (x > -0.7F ? 1 : 0) : x);
      }
    };
    fill(DataType::kF32, {batch, heads, rows, width});
    fill(DataType::kF32, {batch, keyHeads, keys, width});
    fill(DataType::kF32, {batch, keyHeads, keys, columns});
    if (c.mask != Mask::kNone) {
      const bool isBool = c.mask == Mask::kBool;
      made->setMask(input("m", {batch, 1, rows, keys}, isBool ? nv::DataType::kBOOL : nv::DataType::kFLOAT));
      fill(isBool ? DataType::kBool : DataType::kF32, {batch, 1, rows, keys});
      for (int64_t i = 0; isBool && i < batch * rows; ++i) values.back().view().storeInt(i * keys, 1);
    }
    const double scale = 1.0 / 128;
    if (c.quantized) {
      made->setNormalizationQuantizeScale(*network->addConstant(dims({}), floats(1, scale))->getOutput(0));
      made->setNormalizationQuantizeToType(nv::DataType::kINT8);
    }
    network->markOutput(*made->getOutput(0));
    const graph::Graph graph = network->assemble();
    graph::verify(graph);
    std::vector<TensorView> views;
    for (const auto& value : values) views.push_back(value.view());
    const auto found = graph::evaluate(graph, views);
    const auto at = [&](int tensor, int64_t b, int64_t h, int64_t row, int64_t column) {
      const auto view = values[static_cast<size_t>(tensor)].view();
      return view.loadDouble(((b * view.dims[1] + h) * view.dims[2] + row) * view.dims[3] + column);
    };
    for (int64_t i = 0; i < batch * heads * rows; ++i) {
      const int64_t row = i % rows, head = i / rows % heads, b = i / rows / heads;
      const int64_t shared = head / (heads / keyHeads);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t key = 0; key < keys; ++key) {
        double score = 0;
        for (int64_t d = 0; d < width; ++d) score += at(0, b, head, row, d) * at(1, b, shared, key, d);
        if (c.mask == Mask::kNumbers) score += at(3, b, 0, row, key);
        const bool counts = (!c.causal || key <= row) && (c.mask != Mask::kBool || at(3, b, 0, row, key) != 0);
        weights.push_back(c.op == kSoftmax ? (counts ? std::exp(score) : 0) : (counts ? score : 0));
        sum += weights.back();
      }
      for (double& weight : weights) {
        if (c.op == kSoftmax) weight /= sum;
        if (c.quantized) weight = std::clamp(std::nearbyint(weight / scale), -128.0, 127.0) * scale;
      }
      for (int64_t column = 0; column < columns; ++column) {
        double expected = 0;
        for (int64_t key = 0; key < keys; ++key)
          expected += weights[static_cast<size_t>(key)] * at(2, b, shared, key, column);
        EXPECT_NEAR(found[0].view().loadDouble(i * columns + column), expected, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::api
