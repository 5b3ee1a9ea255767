// SPDX-License-Identifier: Apache-2.0
// Plugins whose outputs share the memory of their inputs: the plugin sees one address, whatever else reads the input.
#include "support.h"

namespace tenon::test {
namespace {

class Aliases : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  static nv::ITensor* increase(nv::INetworkDefinition& network, nv::ITensor* x) {
    const auto plugin = make("Aliasing");
    auto* layer = network.addPluginV3(&x, 1, nullptr, 0, *plugin);
    return layer != nullptr ? layer->getOutput(0) : nullptr;
  }
  static void mark(nv::INetworkDefinition& network, nv::ITensor* tensor, const char* name) {
    tensor->setName(name);
    network.markOutput(*tensor);
  }
  Library library_;
};

TEST_F(Aliases, OfTheCallersMemory) {
  for (const auto& shape : {dims({4}), dims({0, 3}), dims({2, 3, 257}), dims({})}) {
    const auto plan = build(
        [&](auto& network) {
          mark(network, increase(network, network.addInput("x", nv::DataType::kFLOAT, shape)), "y");
          return true;
        },
        {}, 3, 0, nullptr, true);
    ASSERT_NE(plan, nullptr);
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr);
    auto x = eighths(shape);
    const auto before = x.values;
    const auto y = run(*engine, {{"x", x}})["y"].values;
    ASSERT_EQ(y.size(), static_cast<size_t>(volume(shape)));
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], before[i] + 1);
  }
}

// The engine says which memory may be one, and leaves the copy out where it is.
TEST_F(Aliases, AreToldAndTakenInPlace) {
  for (const bool isReadElsewhere : {false, true}) {
    const auto plan = build(
        [&](auto& network) {
          nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({-1, 3}));
          mark(network, increase(network, x), "y");
          if (isReadElsewhere) mark(network, network.addUnary(*x, nv::UnaryOperation::kNEG)->getOutput(0), "minus");
          return true;
        },
        {{"x", {dims({1, 3}), dims({5, 3}), dims({9, 3})}}}, 3, 0, nullptr, true);
    ASSERT_NE(plan, nullptr);
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getAliasedInputTensor("x"), nullptr);
    if (isReadElsewhere) {
      EXPECT_EQ(engine->getAliasedInputTensor("y"), nullptr);
      continue;
    }
    EXPECT_STREQ(engine->getAliasedInputTensor("y"), "x");
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    const auto x = eighths(dims({7, 3}));
    SharedVector<float> memory(x.values.begin(), x.values.end());
    ASSERT_TRUE(context->setInputShape("x", dims({7, 3})));
    void* bindings[] = {memory.data(), memory.data()};
    ASSERT_TRUE(context->executeV2(bindings));
    for (size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory[i], x.values[i] + 1) << i;
  }
}

// The input of the plugin is read before and after it, and is an output itself; the last plugin's input dies with it.
TEST_F(Aliases, OfTensorsThatOthersRead) {
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({-1, 5}));
        nv::ITensor* minus = network.addUnary(*x, nv::UnaryOperation::kNEG)->getOutput(0);
        nv::ITensor* first = increase(network, minus);
        nv::ITensor* second = increase(network, first);
        nv::ITensor* sum = network.addElementWise(*minus, *first, nv::ElementWiseOperation::kSUM)->getOutput(0);
        mark(network, minus, "minus");
        mark(network, second, "second");
        mark(network, sum, "sum");
        mark(network, increase(network, network.addUnary(*sum, nv::UnaryOperation::kABS)->getOutput(0)), "last");
        return true;
      },
      {{"x", {dims({1, 5}), dims({3, 5}), dims({9, 5})}}}, 3, 0, nullptr, true);
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t rows : {3, 1, 9, 2}) {
    auto x = eighths(dims({rows, 5}), static_cast<int>(rows));
    auto found = run(*engine, *context, {{"x", x}});
    for (size_t i = 0; i < x.values.size(); ++i) {
      const float minus = -x.values[i];
      ASSERT_EQ(found["minus"].values[i], minus) << rows << " " << i;
      ASSERT_EQ(found["second"].values[i], minus + 2);
      ASSERT_EQ(found["sum"].values[i], minus + (minus + 1));
      ASSERT_EQ(found["last"].values[i], std::abs(minus + (minus + 1)) + 1);
    }
  }
}

// The tensor is given twice, and dies here: the other input must not see what is written.
TEST_F(Aliases, OfATensorThatIsGivenTwice) {
  const auto plan = build(
      [&](auto& network) {
        nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({7}));
        nv::ITensor* minus = network.addUnary(*x, nv::UnaryOperation::kNEG)->getOutput(0);
        nv::ITensor* both[] = {minus, minus};
        const auto plugin = make("Aliasing");
        nv::ITensor* y = network.addPluginV3(both, 2, nullptr, 0, *plugin)->getOutput(0);
        mark(network, network.addUnary(*y, nv::UnaryOperation::kNEG)->getOutput(0), "y");
        return true;
      },
      {}, 3, 0, nullptr, true);
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr);
  auto x = eighths(dims({7}));
  const auto y = run(*engine, {{"x", x}})["y"].values;
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], -(1 - x.values[y.size() - 1 - i])) << i;
}

}  // namespace
}  // namespace tenon::test
