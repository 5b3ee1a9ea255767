// SPDX-License-Identifier: Apache-2.0
// Plugins within loops and conditionals.
#include <fstream>

#include "support.h"

namespace tenon::test {
namespace {

class PluginsInBodies : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  static nv::PluginField factor(const float& value) { return {"factor", &value, nv::PluginFieldType::kFLOAT32, 1}; }
  static nv::ITensor* number(nv::INetworkDefinition& network, const int32_t& value) {
    return network.addConstant(dims({}), {nv::DataType::kINT32, &value, 1})->getOutput(0);
  }
  static void mark(nv::INetworkDefinition& network, nv::ITensor* tensor, const char* name) {
    tensor->setName(name);
    network.markOutput(*tensor);
  }
  static nv::ITensor* apply(nv::INetworkDefinition& network, nv::IPluginV3& plugin, nv::ITensor* x) {
    nv::ILayer* layer = network.addPluginV3(&x, 1, nullptr, 0, plugin);
    layer->setName("the layer");
    return layer->getOutput(0);
  }
  using Body = std::function<nv::ITensor*(nv::ITensor* state)>;
  // y0 = body(body(...(x))), as often as `count` says.
  static void repeated(nv::INetworkDefinition& network, nv::ITensor* x, const int32_t& count, const Body& body) {
    nv::ILoop* loop = network.addLoop();
    loop->addTripLimit(*number(network, count), nv::TripLimit::kCOUNT);
    nv::IRecurrenceLayer* state = loop->addRecurrence(*x);
    state->setInput(1, *body(state->getOutput(0)));
    mark(network, loop->addLoopOutput(*state->getOutput(0), nv::LoopOutput::kLAST_VALUE)->getOutput(0), "y0");
  }
  static void expectReported(std::initializer_list<const char*> parts) {
    const auto errors = log().take();
    for (const char* part : parts) EXPECT_NE(errors.find(part), std::string::npos) << part << " in: " << errors;
  }
  static std::string saved(const nv::IHostMemory& plan) {
    const std::string file = testing::TempDir() + "/plugin_bodies.engine";
    std::ofstream(file, std::ios::binary)
        .write(static_cast<const char*>(plan.data()), static_cast<std::streamsize>(plan.size()));
    return file;
  }
  Library library_;
  const int32_t three_ = 3;
};

TEST_F(PluginsInBodies, RepeatedByALoop) {
  const float two = 2;
  const auto plugin = make("Scale", {factor(two)});
  for (const int level : {0, 3}) {
    const auto plan = build(
        [&](auto& network) {
          nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({-1, 5}));
          repeated(network, x, three_, [&](nv::ITensor* state) {
            nv::ITensor* more = network.addElementWise(*state, *x, nv::ElementWiseOperation::kSUM)->getOutput(0);
            return network.addUnary(*apply(network, *plugin, more), nv::UnaryOperation::kNEG)->getOutput(0);
          });
          return true;
        },
        {{"x", {dims({0, 5}), dims({4, 5}), dims({9, 5})}}}, level);
    ASSERT_NE(plan, nullptr) << log().take();
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr) << log().take();
    const std::unique_ptr<nv::IExecutionContext> first(engine->createExecutionContext());
    const std::unique_ptr<nv::IExecutionContext> second(engine->createExecutionContext());
    for (const int64_t rows : {4, 1, 9, 0, 4}) {
      const auto x = eighths(dims({rows, 5}), static_cast<int>(rows) + 1);
      auto expected = x.values;
      for (size_t i = 0; i < expected.size(); ++i) {
        for (int k = 0; k < 3; ++k) expected[i] = -2 * (expected[i] + x.values[i]);
      }
      for (auto* context : {first.get(), second.get()})
        EXPECT_EQ(run(*engine, *context, {{"x", x}})["y0"].values, expected) << rows;
    }
  }
}

TEST_F(PluginsInBodies, OfEveryOlderClass) {
  for (const char* name : {"Oldest", "OldExt", "OldIo", "OldDynamic"}) {
    const auto plugin = makeOld(name, 0.5F);
    const auto plan = build([&](auto& network) {
      nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({2, 3}));
      repeated(network, x, three_,
               [&](nv::ITensor* state) { return network.addPluginV2(&state, 1, *plugin)->getOutput(0); });
      return true;
    });
    ASSERT_NE(plan, nullptr) << name << log().take();
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr) << name << log().take();
    const auto x = eighths(dims({2, 3}));
    auto expected = x.values;
    for (float& value : expected) value += 1.5F;
    EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected) << name;
  }
}

// Rows of x and of its scaled form, both ways, with what a plugin within says of them.
TEST_F(PluginsInBodies, OverSlices) {
  const float half = 0.5F;
  const auto scale = make("Scale", {factor(half)});
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({-1, 7}));
        nv::ILoop* loop = network.addLoop();
        nv::ITensor* shape = network.addShape(*x)->getOutput(0);
        nv::ITensor* rows =
            network
                .addCast(*network.addSlice(*shape, dims({0}), dims({1}), dims({1}))->getOutput(0), nv::DataType::kINT32)
                ->getOutput(0);
        auto* scalar = network.addShuffle(*rows);
        scalar->setReshapeDimensions(dims({}));
        loop->addTripLimit(*scalar->getOutput(0), nv::TripLimit::kCOUNT);
        nv::ITensor* row = loop->addIterator(*x, 0, true)->getOutput(0);
        auto* stacked = loop->addLoopOutput(*apply(network, *scale, row), nv::LoopOutput::kCONCATENATE, 0);
        stacked->setInput(1, *scalar->getOutput(0));
        mark(network, stacked->getOutput(0), "y0");
        return true;
      },
      {{"x", {dims({1, 7}), dims({3, 7}), dims({6, 7})}}});
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr) << log().take();
  for (const int64_t rows : {3, 1, 6}) {
    const auto x = eighths(dims({rows, 7}));
    std::vector<float> expected;
    for (int64_t row = rows - 1; row >= 0; --row) {
      for (int64_t i = 0; i < 7; ++i) expected.push_back(half * x.values[static_cast<size_t>(row * 7 + i)]);
    }
    EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected) << rows;
  }
}

// The condition depends on what the plugin gives: until the sum reaches 100.
TEST_F(PluginsInBodies, DecideHowOftenALoopRuns) {
  const float two = 2;
  const float limit = 100;
  const auto plugin = make("Scale", {factor(two)});
  const auto plan = build([&](auto& network) {
    nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({4}));
    nv::ILoop* loop = network.addLoop();
    nv::IRecurrenceLayer* state = loop->addRecurrence(*x);
    nv::ITensor* sum = network.addReduce(*state->getOutput(0), nv::ReduceOperation::kSUM, 1, false)->getOutput(0);
    nv::ITensor* most = network.addConstant(dims({}), {nv::DataType::kFLOAT, &limit, 1})->getOutput(0);
    loop->addTripLimit(*network.addElementWise(*sum, *most, nv::ElementWiseOperation::kLESS)->getOutput(0),
                       nv::TripLimit::kWHILE);
    state->setInput(1, *apply(network, *plugin, state->getOutput(0)));
    mark(network, loop->addLoopOutput(*state->getOutput(0), nv::LoopOutput::kLAST_VALUE)->getOutput(0), "y0");
    return true;
  });
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr) << log().take();
  EXPECT_EQ(run(*engine, {{"x", {dims({4}), {1, 2, 3, 1}}}})["y0"].values, (std::vector<float>{16, 32, 48, 16}));
  EXPECT_EQ(run(*engine, {{"x", {dims({4}), {100, 2, 3, 1}}}})["y0"].values, (std::vector<float>{100, 2, 3, 1}));
}

// A plugin in each branch, one of them within a loop.
TEST_F(PluginsInBodies, OfAConditional) {
  const float two = 2;
  const auto scale = make("Scale", {factor(two)});
  const auto add = makeOld("OldDynamic", 1);
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({-1}));
        const float nothing = 0;
        nv::ITensor* zero = network.addConstant(dims({}), {nv::DataType::kFLOAT, &nothing, 1})->getOutput(0);
        nv::ITensor* sum = network.addReduce(*x, nv::ReduceOperation::kSUM, 1, false)->getOutput(0);
        nv::IIfConditional* choice = network.addIfConditional();
        choice->setCondition(*network.addElementWise(*sum, *zero, nv::ElementWiseOperation::kGREATER)->getOutput(0));
        nv::ITensor* inside = choice->addInput(*x)->getOutput(0);
        nv::ILoop* loop = network.addLoop();
        loop->addTripLimit(*number(network, three_), nv::TripLimit::kCOUNT);
        nv::IRecurrenceLayer* state = loop->addRecurrence(*inside);
        state->setInput(1, *apply(network, *scale, state->getOutput(0)));
        nv::ITensor* scaled = loop->addLoopOutput(*state->getOutput(0), nv::LoopOutput::kLAST_VALUE)->getOutput(0);
        nv::ITensor* added = network.addPluginV2(&inside, 1, *add)->getOutput(0);
        mark(network, choice->addOutput(*scaled, *added)->getOutput(0), "y0");
        return true;
      },
      {{"x", {dims({1}), dims({3}), dims({8})}}});
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr) << log().take();
  EXPECT_EQ(run(*engine, {{"x", {dims({2}), {1, 2}}}})["y0"].values, (std::vector<float>{8, 16}));
  EXPECT_EQ(run(*engine, {{"x", {dims({3}), {-1, -2, -3}}}})["y0"].values, (std::vector<float>{0, -1, -2}));
}

TEST_F(PluginsInBodies, InPlace) {
  const auto plugin = make("Aliasing");
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({5}));
        repeated(network, x, three_, [&](nv::ITensor* state) { return apply(network, *plugin, state); });
        return true;
      },
      {}, 3, 0, nullptr, true);
  ASSERT_NE(plan, nullptr) << log().take();
  const auto x = eighths(dims({5}));
  auto expected = x.values;
  for (float& value : expected) value += 3;
  EXPECT_EQ(run(*load(*plan), {{"x", x}})["y0"].values, expected);
}

// Sizes that the body computes: how many elements of the state are not 0 decides the shape that the plugin sees; and
// its own, of a plugin that counts.
TEST_F(PluginsInBodies, OfSizesThatTheBodyComputes) {
  (void)log();
  if (std::strcmp(std::getenv("TENON_DEVICE"), "cpu") != 0)
    GTEST_SKIP() << "bodies compute sizes on the processor only";
  const float two = 2;
  const auto scale = make("Scale", {factor(two)});
  const auto places = make("Places");
  for (const bool isCounted : {false, true}) {
    const auto plan = build([&](nv::INetworkDefinition& network) {
      nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({3, 4}));
      repeated(network, x, three_, [&](nv::ITensor* state) {
        nv::ITensor* found = nullptr;  // [n, 2]
        if (isCounted) {
          auto* turned = network.addShuffle(*apply(network, *places, state));
          turned->setFirstTranspose({1, 0});
          found = turned->getOutput(0);
        } else {
          auto* turned = network.addShuffle(*network.addNonZero(*state)->getOutput(0));
          turned->setFirstTranspose({1, 0});
          found = network.addCast(*turned->getOutput(0), nv::DataType::kINT32)->getOutput(0);
        }
        nv::ITensor* values = network.addGatherV2(*state, *found, nv::GatherMode::kND)->getOutput(0);
        nv::ITensor* scaled = network.addPluginV3(&values, 1, nullptr, 0, *scale)->getOutput(0);
        nv::ITensor* sum = network.addReduce(*scaled, nv::ReduceOperation::kSUM, 1, true)->getOutput(0);
        auto* wide = network.addShuffle(*sum);
        wide->setReshapeDimensions(dims({1, 1}));
        nv::ITensor* one = network.addUnary(*state, nv::UnaryOperation::kSIGN)->getOutput(0);
        return network.addElementWise(*one, *wide->getOutput(0), nv::ElementWiseOperation::kPROD)->getOutput(0);
      });
      return true;
    });
    ASSERT_NE(plan, nullptr) << log().take();
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr) << log().take();
    const Tensor x{dims({3, 4}), {0, 1, 2, 0, 0, 3, 0, 0, 1, 0, 0, 0.5F}};
    auto expected = x.values;
    for (int k = 0; k < 3; ++k) {
      float sum = 0;
      for (const float value : expected) sum += 2 * value;
      for (float& value : expected) value = value > 0 ? sum : 0;
    }
    EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected) << isCounted;
  }
}

TEST_F(PluginsInBodies, InAnotherProcess) {
  const float factor = 2.5F;
  const auto plugin = make("Scale", {PluginsInBodies::factor(factor)});
  const int32_t two = 2;
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  nv::ITensor* input = network->addInput("x", nv::DataType::kFLOAT, dims({3}));
  repeated(*network, input, two, [&](nv::ITensor* state) { return apply(*network, *plugin, state); });
  const std::unique_ptr<nv::IHostMemory> plain(builder->buildSerializedNetwork(*network, *config));
  const char* library = libraryFile();
  config->setPluginsToSerialize(&library, 1);
  const std::unique_ptr<nv::IHostMemory> whole(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plain, nullptr);
  ASSERT_NE(whole, nullptr);
  const std::string runner = runnerFile();
  auto file = saved(*plain);
  EXPECT_EQ(outputOf(runner + " " + file + " " + libraryFile() + " 3"), "0\n6.25\n12.5\n");
  const auto missing = outputOf(runner + " " + file + " - 3");
  for (const char* part : {"error: ", "the layer", "plugin 'Scale', version '1', namespace 'test'", "registerCreator"})
    EXPECT_NE(missing.find(part), std::string::npos) << part << " is not in: " << missing;
  file = saved(*whole);
  EXPECT_EQ(outputOf(runner + " " + file + " + 3"), "0\n6.25\n12.5\n");
  const auto refused = outputOf(runner + " " + file + " - 3");
  EXPECT_NE(refused.find("setEngineHostCodeAllowed"), std::string::npos) << refused;
  std::remove(file.c_str());
}

TEST_F(PluginsInBodies, OfOtherFormatsAreRefused) {
  const auto plugin = make("Vectors");
  EXPECT_EQ(build([&](auto& network) {
              nv::ITensor* x = network.addInput("x", nv::DataType::kHALF, dims({1, 8, 2, 3}));
              repeated(network, x, three_, [&](nv::ITensor* state) { return apply(network, *plugin, state); });
              return true;
            }),
            nullptr);
  expectReported({"the layer", "plugin 'Vectors'", "within loops and conditionals they are row-major"});
}

// The error of a plugin that runs within a body names its layer.
TEST_F(PluginsInBodies, ReportWhatFails) {
  std::string where = "enqueue";
  const auto plugin = make("Fails", {{"where", where.data(), nv::PluginFieldType::kCHAR, 7}});
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({2}));
        repeated(network, x, three_, [&](nv::ITensor* state) { return apply(network, *plugin, state); });
        return true;
      },
      {}, 0);
  ASSERT_NE(plan, nullptr) << log().take();
  EXPECT_TRUE(run(*load(*plan), {{"x", eighths(dims({2}))}}).empty());
  expectReported({"the layer", "plugin 'Fails'", "enqueue() returned 7"});
}

}  // namespace
}  // namespace tenon::test
