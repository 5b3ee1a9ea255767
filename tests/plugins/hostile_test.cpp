// SPDX-License-Identifier: Apache-2.0
// Plugins that answer null, themselves, or numbers that cannot be: an error that names plugin and call, nothing lost.
#include "support.h"

namespace tenon::test {
namespace {

class HostilePlugins : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(library_.liveObjects(), 0); }
  // Everything that was reported since the last time holds each of the parts.
  static void expectReported(std::initializer_list<const char*> parts, const std::string& where) {
    const std::string text = log().take();
    for (const char* part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << where << ": '" << part << "' is not in: " << text;
  }
  static std::unique_ptr<nv::IPluginV3> failing(const std::string& where) {
    return make("Fails", {{"where", where.data(), nv::PluginFieldType::kCHAR, static_cast<int32_t>(where.size())}});
  }
  static std::unique_ptr<nv::IPluginV2, DestroyPlugin> failingOld(const std::string& where) {
    auto* creator = static_cast<nv::IPluginCreator*>(getPluginRegistry()->getCreator("OldFails", "2", ""));
    const nv::PluginFieldCollection none{0, nullptr};
    return std::unique_ptr<nv::IPluginV2, DestroyPlugin>(creator->createPlugin(where.c_str(), &none));
  }
  static std::unique_ptr<nv::IHostMemory> planOf(nv::IPluginV3& plugin) {
    return build([&](auto& network) { return aroundV3(network, plugin, dims({4})); });
  }
  static std::unique_ptr<nv::IHostMemory> planOf(nv::IPluginV2& plugin) {
    return build([&](auto& network) { return aroundV2(network, plugin, dims({4})); }, {}, 0);
  }
  Library library_;
};

TEST_F(HostilePlugins, AreRefusedWhenTheyAreAdded) {
  const std::pair<const char*, const char*> cases[] = {{"clone", "clone() returned null"},
                                                       {"clone itself", "clone() returned the plugin itself"},
                                                       {"no outputs", "getNbOutputs() returned 0; expected 1 to"},
                                                       {"outputs", "getNbOutputs() returned -1; expected 1 to"}};
  for (const auto& [where, said] : cases) {
    const auto plugin = failing(where);
    EXPECT_EQ(planOf(*plugin), nullptr) << where;
    expectReported({"addPluginV3", "plugin 'Fails', version '1', namespace 'test'", said}, where);
  }
  const auto headless = failing("kCORE");
  EXPECT_EQ(planOf(*headless), nullptr);
  expectReported({"addPluginV3", "getCapabilityInterface(kCORE) returned null"}, "kCORE");
  const auto blind = failing("kBUILD");
  EXPECT_EQ(planOf(*blind), nullptr);
  expectReported({"plugin 'Fails'", "getCapabilityInterface(kBUILD) returned null"}, "kBUILD");
}

TEST_F(HostilePlugins, EndTheBuild) {
  const std::pair<const char*, const char*> cases[] = {
      {"kRUNTIME", "getCapabilityInterface(kRUNTIME) returned null"},
      {"getNbTactics", "getNbTactics() returned -1; expected 0 to"},
      {"getValidTactics", "getValidTactics() returned 7"},
      {"getFieldsToSerialize", "getFieldsToSerialize() returned null"}};
  for (const auto& [where, said] : cases) {
    const auto plugin = failing(where);
    EXPECT_EQ(planOf(*plugin), nullptr) << where;
    expectReported({"the layer", "plugin 'Fails'", said}, where);
  }
}

TEST_F(HostilePlugins, AreNotLoadedWhereTheCreatorMakesNone) {
  const auto plugin = failing("createPlugin");
  const auto plan = planOf(*plugin);
  ASSERT_NE(plan, nullptr) << log().take();
  EXPECT_EQ(load(*plan), nullptr);
  expectReported({"the layer", "plugin 'Fails'", "createPlugin(kRUNTIME) of its creator returned null"}, "");
}

TEST_F(HostilePlugins, OfTheOlderFamily) {
  const std::pair<const char*, const char*> cases[] = {{"clone", "clone() returned null"},
                                                       {"clone itself", "clone() returned the plugin itself"},
                                                       {"outputs", "getNbOutputs() returned 0; expected 1 to"},
                                                       {"initialize", "initialize() returned 7"}};
  for (const auto& [where, said] : cases) {
    const auto plugin = failingOld(where);
    EXPECT_EQ(planOf(*plugin), nullptr) << where;
    expectReported({"plugin 'OldFails', version '2', namespace ''", said}, where);
  }
  const auto lost = failingOld("deserializePlugin");
  const auto plan = planOf(*lost);
  ASSERT_NE(plan, nullptr) << log().take();
  EXPECT_EQ(load(*plan), nullptr);
  expectReported({"the layer", "plugin 'OldFails'", "deserializePlugin() of its creator returned null for 17 bytes"},
                 "");
}

TEST_F(HostilePlugins, FailInAnExecutionAndTheNextOneRuns) {
  const auto plugin = failingOld("enqueue");
  const auto plan = planOf(*plugin);
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(run(*engine, *context, {{"x", eighths(dims({4}))}}).empty());
    expectReported({"the layer", "plugin 'OldFails'", "enqueue() returned 7"}, "enqueue");
  }
  const auto good = failingOld("");
  const auto other = planOf(*good);
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(run(*load(*other), {{"x", eighths(dims({4}))}}).empty()) << log().take();
}

// The older family counts the bytes of its state itself.
TEST_F(HostilePlugins, AStateMayHaveNoBytes) {
  const auto plugin = failingOld("");
  ASSERT_EQ(plugin->getSerializationSize(), 0U);
  const auto plan = planOf(*plugin);
  ASSERT_NE(plan, nullptr) << log().take();
  const auto x = eighths(dims({4}));
  auto expected = x.values;
  for (float& value : expected) value = -value;
  EXPECT_EQ(run(*load(*plan), {{"x", x}})["y0"].values, expected);
  EXPECT_EQ(log().take(), "");
}

}  // namespace
}  // namespace tenon::test
