// Builders, runtimes, the registry, loggers and error recorders used by several threads at once.
#include <NvInferRuntimePlugin.h>

#include "support.h"

namespace tenon::test {
namespace {

class Shared : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(sharedLog().takeErrors(), std::vector<std::string>{}); }
};

void expectRight(const SmallNetwork& network, nv::ICudaEngine& engine, int64_t batch) {
  const std::unique_ptr<nv::IExecutionContext> context(engine.createExecutionContext());
  ASSERT_NE(context, nullptr);
  const Stream stream;
  const auto x = uniform(batch * SmallNetwork::kInput, static_cast<uint32_t>(batch));
  std::vector<float> y;
  ASSERT_TRUE(enqueueSmall(*context, x, y, stream.get()));
  stream.wait();
  EXPECT_LE(network.error(x, y), kTolerance);
}

// Measured builds: the profiler of each, the tables of kernels, the device.
TEST_F(Shared, BuildsSideBySide) {
  onThreads(3, [&](int thread) {
    const SmallNetwork network(static_cast<uint32_t>(thread));
    for (int round = 0; round < 3; ++round) {
      const auto engine = smallEngine(network, round == 0 ? 3 : 0);
      ASSERT_NE(engine, nullptr);
      expectRight(network, *engine, 1 + thread);
    }
  });
}

TEST_F(Shared, BuildsShareATimingCache) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(sharedLog()));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
  ASSERT_NE(cache, nullptr);
  const SmallNetwork network;
  onThreads(3, [&](int thread) {
    const std::unique_ptr<nv::IBuilder> own(nv::createInferBuilder(sharedLog()));
    const auto plan = network.build(*own, 3, cache.get());
    ASSERT_NE(plan, nullptr);
    const std::unique_ptr<nv::IHostMemory> bytes(cache->serialize());
    ASSERT_NE(bytes, nullptr);
    EXPECT_GT(bytes->size(), 0U);
  });
}

TEST_F(Shared, OneRuntimeLoadsOnManyThreads) {
  const SmallNetwork network;
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(sharedLog()));
  const auto plan = network.build(*builder);
  ASSERT_NE(plan, nullptr);
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(sharedLog()));
  onThreads(6, [&](int thread) {
    for (int round = 0; round < 5; ++round) {
      const auto engine = loadEngine(*runtime, *plan);
      ASSERT_NE(engine, nullptr);
      expectRight(network, *engine, 1 + thread);
      const std::unique_ptr<nv::IEngineInspector> inspector(engine->createEngineInspector());
      EXPECT_NE(inspector->getEngineInformation(nv::LayerInformationFormat::kJSON), nullptr);
    }
  });
}

class Recorder final : public nv::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return errors_; }
  nv::ErrorCode getErrorCode(int32_t) const noexcept override { return nv::ErrorCode::kSUCCESS; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return ""; }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors_ = 0; }
  bool reportError(nv::ErrorCode, ErrorDesc) noexcept override { return ++errors_ > 0; }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::atomic<int32_t> references{0};

 private:
  std::atomic<int32_t> errors_{0};
};

TEST_F(Shared, ErrorsOfManyThreadsReachOneRecorder) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 50;
  Recorder recorder;
  {
    const auto engine = smallEngine(SmallNetwork{});
    ASSERT_NE(engine, nullptr);
    engine->setErrorRecorder(&recorder);
    onThreads(kThreads, [&](int) {
      for (int round = 0; round < kRounds; ++round) {
        const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
        EXPECT_FALSE(context->setInputShape("x", SmallNetwork::inputDims(99)));
        EXPECT_EQ(engine->getTensorIOMode("none"), nv::TensorIOMode::kNONE);
        EXPECT_FALSE(context->enqueueV3(nullptr));
      }
    });
  }
  EXPECT_GE(recorder.getNbErrors(), 2 * kThreads * kRounds);
  EXPECT_EQ(recorder.references, 0);
}

TEST_F(Shared, ErrorsOfManyThreadsReachOneLog) {
  const auto engine = smallEngine(SmallNetwork{});
  ASSERT_NE(engine, nullptr);
  onThreads(4, [&](int) {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    for (int round = 0; round < 50; ++round) EXPECT_FALSE(context->setTensorAddress("none", nullptr));
  });
  EXPECT_EQ(sharedLog().takeErrors().size(), 200U);
}

class Creator final : public nv::IPluginCreatorV3One {
 public:
  explicit Creator(std::string name) : name_(std::move(name)) {}
  nv::AsciiChar const* getPluginName() const noexcept override { return name_.c_str(); }
  nv::AsciiChar const* getPluginVersion() const noexcept override { return "1"; }
  nv::AsciiChar const* getPluginNamespace() const noexcept override { return ""; }
  nv::PluginFieldCollection const* getFieldNames() noexcept override { return &fields_; }
  nv::IPluginV3* createPlugin(nv::AsciiChar const*, nv::PluginFieldCollection const*,
                              nv::TensorRTPhase) noexcept override {
    return nullptr;
  }

 private:
  std::string name_;
  nv::PluginFieldCollection fields_{};
};

TEST_F(Shared, TheRegistryServesManyThreads) {
  nv::IPluginRegistry* const registry = getPluginRegistry();
  ASSERT_NE(registry, nullptr);
  onThreads(6, [&](int thread) {
    Creator creator("threads_test_" + std::to_string(thread));
    for (int round = 0; round < 200; ++round) {
      ASSERT_TRUE(registry->registerCreator(creator, ""));
      ASSERT_EQ(registry->getCreator(creator.getPluginName(), "1", ""), &creator);
      EXPECT_EQ(registry->getCreator("threads_test_none", "1", ""), nullptr);
      ASSERT_TRUE(registry->deregisterCreator(creator));
    }
  });
}

}  // namespace
}  // namespace tenon::test
