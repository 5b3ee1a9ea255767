// SPDX-License-Identifier: Apache-2.0
// The four classes of the IPluginV2 family: answers, and the order in which an object is called.
#include <bit>

#include "support.h"

namespace tenon::test {
namespace {

class PluginV2 : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { EXPECT_EQ(log().take(), ""); }
  Library library_;
};

TEST_P(PluginV2, AddsToFixedShapes) {
  for (const auto& shape : {dims({1}), dims({3, 5}), dims({2, 0}), dims({1, 3, 7, 2})}) {
    const auto plugin = makeOld(GetParam(), -2.5F);
    ASSERT_NE(plugin, nullptr);
    const auto plan = build([&](auto& network) { return aroundV2(network, *plugin, shape); });
    ASSERT_NE(plan, nullptr);
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr);
    const auto x = eighths(shape);
    auto expected = x.values;
    for (float& value : expected) value += -2.5F;
    for (int round = 0; round < 2; ++round) EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected);
  }
}

TEST_P(PluginV2, CopiesAreDestroyed) {
  (void)library_.calls();
  {
    const auto plugin = makeOld(GetParam(), 1);
    const auto plan = build([&](auto& network) { return aroundV2(network, *plugin, dims({4})); });
    ASSERT_NE(plan, nullptr);
    const auto engine = load(*plan);
    run(*engine, {{"x", eighths(dims({4}))}});
  }
  const std::string calls = library_.calls();
  const auto count = [&](const std::string& call) {
    size_t found = 0;
    for (size_t at = 0; (at = calls.find("." + call + "\n", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("clone") + count("deserialize") + 1, count("destroy")) << calls;  // and the one made here
  EXPECT_EQ(count("initialize"), count("terminate")) << calls;
  EXPECT_EQ(count("attach"), count("detach")) << calls;
  EXPECT_EQ(count("deserialize"), 1U) << calls;
}

INSTANTIATE_TEST_SUITE_P(Classes, PluginV2, testing::Values("Oldest", "OldExt", "OldIo", "OldDynamic"),
                         [](const auto& info) { return std::string(info.param); });

// Outputs of integers beside those that are computed, as detection plugins have.
TEST(OldCountingPlugin, HasAnIntegerOutput) {
  const Library library;
  const auto plugin = makeOld("OldCounting", 1);
  ASSERT_NE(plugin, nullptr);
  const auto plan = build([&](auto& network) { return aroundV2(network, *plugin, dims({3, 5})); });
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  EXPECT_EQ(engine->getTensorDataType("y1"), nv::DataType::kINT32);
  const auto outputs = run(*engine, {{"x", eighths(dims({3, 5}))}});
  EXPECT_EQ(std::bit_cast<int32_t>(outputs.at("y1").values.at(0)), 15);
  EXPECT_EQ(log().take(), "");
}

class OldDynamicPlugin : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(log().take(), ""); }
  Library library_;
};

TEST_F(OldDynamicPlugin, TakesShapesThatVary) {
  const auto plugin = makeOld("OldDynamic", 1);
  const auto plan = build(
      [&](auto& network) {
        return aroundV2(network, *plugin, dims({-1, 3}));
      },
      {{"x", {dims({1, 3}), dims({2, 3}), dims({6, 3})}}});
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t n : {2, 6, 1, 2}) {
    const auto x = eighths(dims({n, 3}));
    auto expected = x.values;
    for (float& value : expected) value += 1;
    EXPECT_EQ(run(*engine, *context, {{"x", x}})["y0"].values, expected);
  }
}

// With the engine: made from its bytes and initialized. With the context: a copy that is attached, told its shapes, and
// detached. At the end the engine's object is terminated.
TEST_F(OldDynamicPlugin, IsCalledInOrder) {
  std::unique_ptr<nv::IHostMemory> plan;
  {
    const auto plugin = makeOld("OldDynamic", 1);
    plan = build([&](auto& network) { return aroundV2(network, *plugin, dims({2})); }, {}, 0);
  }
  ASSERT_NE(plan, nullptr);
  const auto building = library_.calls();
  EXPECT_LT(building.find(".configure"), building.find(".initialize")) << building;
  EXPECT_LT(building.find(".initialize"), building.find(".serialize")) << building;
  EXPECT_LT(building.find(".serialize"), building.find(".terminate")) << building;
  auto engine = load(*plan);
  EXPECT_EQ(library_.calls(), "OldDynamic.deserialize\nOldDynamic.initialize\n");
  std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  const auto x = eighths(dims({2}));
  run(*engine, *context, {{"x", x}});
  run(*engine, *context, {{"x", x}});
  EXPECT_EQ(library_.calls(),
            "OldDynamic.clone\nOldDynamic.attach\nOldDynamic.configure\nOldDynamic.enqueue\nOldDynamic.enqueue\n");
  context.reset();
  EXPECT_EQ(library_.calls(), "OldDynamic.detach\nOldDynamic.destroy\n");
  engine.reset();
  EXPECT_EQ(library_.calls(), "OldDynamic.terminate\nOldDynamic.destroy\n");
}

}  // namespace
}  // namespace tenon::test
