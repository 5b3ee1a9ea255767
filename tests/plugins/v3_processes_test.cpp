// SPDX-License-Identifier: Apache-2.0
// Engines with plugins of IPluginV3: contexts on threads, timing caches, other processes, libraries within plans.
#include <cstdio>
#include <fstream>
#include <thread>

#include "v3.h"

namespace tenon::test {
namespace {

TEST_F(PluginV3, ContextsRunOnThreads) {
  const float factor = 3;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({-1})); },
                          {{"x", {dims({1}), dims({100}), dims({1000})}}});
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
      for (int round = 0; round < 50; ++round) {
        const auto x = eighths(dims({1 + (round * 37 + thread * 11) % 1000}), round);
        EXPECT_EQ(run(*engine, *context, {{"x", x}})["y0"].values, scaled(x.values, factor));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(PluginV3, ContextsShareAResource) {
  const auto plugin = make("Sharing");
  const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({1})); }, {}, 0);
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  const std::unique_ptr<nv::IExecutionContext> first(engine->createExecutionContext());
  auto y = run(*engine, *first, {{"x", {dims({1}), {0}}}})["y0"].values;
  EXPECT_EQ(y, std::vector<float>{1});
  const std::unique_ptr<nv::IExecutionContext> second(engine->createExecutionContext());
  y = run(*engine, *second, {{"x", {dims({1}), {0}}}})["y0"].values;
  EXPECT_EQ(y, std::vector<float>{2});
}

// Counts, and refuses the call of one number.
class CountingAllocator final : public nv::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t alignment, nv::AllocatorFlags) noexcept override {
    if (++calls == refused) return nullptr;
    void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    live[memory] = size;
    return memory;
  }
  bool deallocate(void* memory) noexcept override {
    strangers += live.erase(memory) == 0 ? 1 : 0;
    std::free(memory);
    return true;
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& [memory, size] : live) sum += size;
    return sum;
  }
  int calls = 0;
  int refused = 0;  // none
  int strangers = 0;
  std::map<void*, uint64_t> live;
};

TEST_F(PluginV3, MemoryForContextsIsTheUsersAllocators) {
  const auto plugin = make("Sharing");
  const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({1})); }, {}, 0);
  ASSERT_NE(plan, nullptr);
  CountingAllocator allocator;
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log()));
  runtime->setGpuAllocator(&allocator);
  {
    const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr);
    const uint64_t before = allocator.bytes();
    allocator.calls = 0;
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    const auto y = run(*engine, *context, {{"x", {dims({1}), {0}}}})["y0"].values;
    EXPECT_EQ(y, std::vector<float>{1});
    EXPECT_EQ(allocator.bytes(), before + 96 + static_cast<uint64_t>(engine->getDeviceMemorySizeV2()));
    // The plugin's call is the last of a context.
    allocator.refused = std::exchange(allocator.calls, 0);
    const auto live = allocator.live.size();
    EXPECT_EQ(engine->createExecutionContext(), nullptr);
    EXPECT_NE(log().take().find("attachToContext() returned null"), std::string::npos);
    EXPECT_EQ(allocator.live.size(), live);
  }
  EXPECT_TRUE(allocator.live.empty());
  EXPECT_EQ(allocator.strangers, 0);
}

TEST_F(PluginV3, TimesAreKeptUnderTheNameThatThePluginGives) {
  const float factor = 2;
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
  const auto text = [&] {
    const std::unique_ptr<nv::IHostMemory> bytes(cache->serialize());
    return std::string(static_cast<const char*>(bytes->data()), bytes->size());
  };
  const auto scale = make("Scale", {factorField(factor)});
  const auto first = build([&](auto& n) { return aroundV3(n, *scale, dims({64})); }, {}, 3, 0, cache.get());
  const auto second = build([&](auto& n) { return aroundV3(n, *scale, dims({64})); }, {}, 3, 0, cache.get());
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(std::string_view(static_cast<const char*>(first->data()), first->size()),
            std::string_view(static_cast<const char*>(second->data()), second->size()));
  EXPECT_NE(text().find(".plugin"), std::string::npos) << "both tactics were timed";
}

TEST_F(PluginV3, RunsInAnotherProcess) {
  const float factor = 2.5F;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto plan = build(
      [&](auto& network) {
        return aroundV3(network, *plugin, dims({-1, 2}));
      },
      {{"x", {dims({1, 2}), dims({2, 2}), dims({5, 2})}}});
  ASSERT_NE(plan, nullptr);
  const std::string file = testing::TempDir() + "/plugin_v3.engine";
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(plan->data()), static_cast<std::streamsize>(plan->size()));
  const std::string runner = runnerFile();
  EXPECT_EQ(outputOf(runner + " " + file + " " + libraryFile() + " 2 2"), "0\n2.5\n5\n7.5\n");
  const auto missing = outputOf(runner + " " + file + " - 2 2");
  for (const char* part : {"error: ", "the layer", "plugin 'Scale', version '1', namespace 'test'", "registerCreator",
                           "loadLibrary", "Registered: none"})
    EXPECT_NE(missing.find(part), std::string::npos) << part << " is not in: " << missing;
  std::remove(file.c_str());
}

// A library that one runtime loaded is of no use to another one.
TEST(PluginLibraries, OfOneRuntime) {
  std::unique_ptr<nv::IHostMemory> plan;
  {
    const Library library;
    const float factor = 2;
    const auto plugin = make("Scale", {factorField(factor)});
    plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({3})); });
    ASSERT_NE(plan, nullptr) << log().take();
  }
  const std::unique_ptr<nv::IRuntime> first(nv::createInferRuntime(log())), second(nv::createInferRuntime(log()));
  void* const handle = first->getPluginRegistry().loadLibrary(libraryFile());
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(second->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
  EXPECT_NE(log().take().find("no creator of it is registered"), std::string::npos);
  {
    const std::unique_ptr<nv::ICudaEngine> engine(first->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << log().take();
    EXPECT_EQ(run(*engine, {{"x", {dims({3}), {1, 2, 3}}}})["y0"].values, (std::vector<float>{2, 4, 6}));
  }
  first->getPluginRegistry().deregisterLibrary(handle);
}

TEST_F(PluginV3, EngineBringsItsLibrary) {
  const float factor = 2.5F;
  const auto plugin = make("Scale", {factorField(factor)});
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  ASSERT_TRUE(aroundV3(*network, *plugin, dims({2})));
  const char* library = libraryFile();
  config->setPluginsToSerialize(&library, 1);
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr) << "the creator is registered here: nothing is loaded from the engine";
  const std::unique_ptr<nv::IHostMemory> again(engine->serialize());
  const std::string file = testing::TempDir() + "/plugin_library.engine";
  for (const auto* bytes : {plan.get(), again.get()}) {
    ASSERT_NE(bytes, nullptr);
    std::ofstream(file, std::ios::binary)
        .write(static_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
    const std::string runner = runnerFile();
    EXPECT_EQ(outputOf(runner + " " + file + " + 2"), "0\n2.5\n");
    const auto refused = outputOf(runner + " " + file + " - 2");
    for (const char* part : {"error: ", "plugin 'Scale', version '1', namespace 'test'", "setEngineHostCodeAllowed"})
      EXPECT_NE(refused.find(part), std::string::npos) << part << " is not in: " << refused;
    std::remove(file.c_str());
  }
  const char* missing = "/nowhere/libplugins.so";
  config->setPluginsToSerialize(&missing, 1);
  EXPECT_EQ(std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config)), nullptr);
  EXPECT_NE(log().take().find("/nowhere/libplugins.so"), std::string::npos);
}

TEST_F(PluginV3, InspectorShowsThePlugin) {
  const float factor = 2;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto old = makeOld("OldDynamic", 1);
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  config->setProfilingVerbosity(nv::ProfilingVerbosity::kDETAILED);
  ASSERT_TRUE(aroundV3(*network, *plugin, dims({4})));
  nv::ITensor* x = network->getInput(0);
  network->markOutput(*network->addPluginV2(&x, 1, *old)->getOutput(0));
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  const std::unique_ptr<nv::IEngineInspector> inspector(engine->createEngineInspector());
  const std::string text = inspector->getEngineInformation(nv::LayerInformationFormat::kJSON);
  for (const char* part : {R"("LayerType": "PluginV3")", R"("PluginType": "Scale")", R"("PluginNamespace": "test")",
                           R"("LayerType": "PluginV2")", R"("Interface": "IPluginV2DynamicExt")", "made by a test"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

}  // namespace
}  // namespace tenon::test
