// SPDX-License-Identifier: Apache-2.0
// What plugins cannot do, and what they report: each error names the layer, the plugin and the call.
#include "support.h"

namespace tenon::test {
namespace {

class Refusals : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(library_.liveObjects(), 0); }
  // Everything that was reported since the last time holds each of the parts.
  static void expectReported(std::initializer_list<const char*> parts) {
    const std::string text = log().take();
    for (const char* part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
  static std::unique_ptr<nv::IPluginV3> failing(std::string where) {
    return make("Fails", {{"where", where.data(), nv::PluginFieldType::kCHAR, static_cast<int32_t>(where.size())}});
  }
  Library library_;
};

TEST_F(Refusals, ListWhatWasAsked) {
  const auto plugin = make("Never");
  EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *plugin, dims({1, 3, 4, 4})); }), nullptr);
  expectReported({"the layer", "plugin 'Never', version '1', namespace 'test'", "input 0 f32 kLINEAR",
                  "input 0 f32 kHWC8", "input 0 f32 kCHW32"});
}

TEST_F(Refusals, NameTheCallThatFailedWhileBuilding) {
  for (const std::string call : {"getOutputDataTypes", "getOutputShapes", "configurePlugin", "setTactic"}) {
    const auto plugin = failing(call);
    EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *plugin, dims({4})); }), nullptr) << call;
    expectReported({"the layer", "plugin 'Fails'", (call + "() returned 7").c_str()});
  }
}

TEST_F(Refusals, NameTheCallThatFailedWhileRunning) {
  for (const std::string call : {"onShapeChange", "enqueue", "attachToContext", "attach itself"}) {
    const auto plugin = failing(call);
    const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({4})); }, {}, 0);
    ASSERT_NE(plan, nullptr) << call << log().take();
    const auto engine = load(*plan);
    ASSERT_NE(engine, nullptr);
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    if (context != nullptr) {
      for (int round = 0; round < 2; ++round) run(*engine, *context, {{"x", eighths(dims({4}))}});
    }
    const auto said = call == "attachToContext" ? "attachToContext() returned null"
                      : call == "attach itself" ? "attachToContext() returned the plugin itself"
                                                : call + "() returned 7";
    expectReported({"the layer", "plugin 'Fails'", said.c_str()});
  }
}

TEST_F(Refusals, AreSaidByName) {
  const auto sizes = failing("declareSizeTensor");
  EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *sizes, dims({4})); }), nullptr);
  expectReported({"the layer", "output 0 is declared a size tensor", "expected a scalar"});
  const auto foreign = failing("foreign expression");
  EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *foreign, dims({4})); }), nullptr);
  expectReported({"the layer", "output 0, dimension 0"});
  const auto aliasing = make("Aliasing");
  EXPECT_EQ(build([&](auto& network) { return aroundV3(network, *aliasing, dims({4})); }), nullptr);
  expectReported({"the layer", "getAliasedInput", "kALIASED_PLUGIN_IO_10_03"});
}

TEST_F(Refusals, FixedShapesOnlyForTheOldestClasses) {
  for (const char* name : {"Oldest", "OldExt", "OldIo"}) {
    const auto plugin = makeOld(name, 1);
    const auto plan = build(
        [&](auto& network) {
          return aroundV2(network, *plugin, dims({-1, 2}));
        },
        {{"x", {dims({1, 2}), dims({2, 2}), dims({3, 2})}}});
    EXPECT_EQ(plan, nullptr);
    expectReported({"the layer", name, "fixed shapes only", "IPluginV2DynamicExt"});
  }
}

TEST_F(Refusals, ListsOfInputs) {
  const auto plugin = make("Never");
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  nv::ITensor* none = nullptr;
  EXPECT_EQ(network->addPluginV3(&none, 1, nullptr, 0, *plugin), nullptr);
  expectReported({"addPluginV3", "input 0", "null"});
  EXPECT_EQ(network->addPluginV3(nullptr, 2, nullptr, 0, *plugin), nullptr);
  expectReported({"addPluginV3", "list of 2 inputs is null"});
  EXPECT_EQ(network->addPluginV3(nullptr, 0, nullptr, -1, *plugin), nullptr);
  expectReported({"addPluginV3", "number of inputs is -1"});
  EXPECT_EQ(network->getNbLayers(), 0);
}

}  // namespace
}  // namespace tenon::test
