// SPDX-License-Identifier: Apache-2.0
// Plugins in graphs: those that a program captures, and those that an engine on a GPU records by itself.
#include <algorithm>
#include <cstring>

#include "support.h"
#include "tenon/plugin_replay.h"

namespace tenon::test {
namespace {

class Replayable final : public ReplayablePlugins {
 public:
  bool mayReplay(const char* name, const char* version, const char* space) const noexcept override {
    return std::strcmp(name, "OnStream") == 0 && std::strcmp(version, "1") == 0 && std::strcmp(space, "test") == 0;
  }
  int32_t release() noexcept override { return 0; }
  nv::IPluginResource* clone() noexcept override { return new Replayable; }
};

class PluginReplays : public testing::Test {
 protected:
  void SetUp() override {
    const auto plugin = make("OnStream", {{"factor", &kFactor, nv::PluginFieldType::kFLOAT32, 1}});
    const auto plan = build([&](auto& network) {
      nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({1000}));
      nv::ITensor* absolute = network.addUnary(*x, nv::UnaryOperation::kABS)->getOutput(0);
      nv::ILayer* layer = network.addPluginV3(&absolute, 1, nullptr, 0, *plugin);
      nv::ITensor* y = network.addUnary(*layer->getOutput(0), nv::UnaryOperation::kNEG)->getOutput(0);
      y->setName("y");
      network.markOutput(*y);
      return true;
    });
    ASSERT_NE(plan, nullptr) << log().take();
    engine_ = load(*plan);
    ASSERT_NE(engine_, nullptr) << log().take();
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    (void)library_.calls();
  }
  void TearDown() override {
    context_.reset();
    engine_.reset();
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(log().take(), "");
    EXPECT_EQ(library_.liveObjects(), 0);
  }
  void makeContext() {
    context_.reset(engine_->createExecutionContext());
    ASSERT_TRUE(context_->setTensorAddress("x", x_.data()));
    ASSERT_TRUE(context_->setTensorAddress("y", y_.data()));
  }
  void fill(int seed) {
    const auto values = eighths(dims({1000}), seed).values;
    std::copy(values.begin(), values.end(), x_.begin());
    std::fill(y_.begin(), y_.end(), -99.0F);
  }
  void expectRight(int seed) const {
    for (size_t i = 0; i < x_.size(); ++i) ASSERT_EQ(y_[i], -kFactor * std::abs(x_[i])) << seed << " " << i;
  }
  // How often enqueue() of the plugin was called in six executions of a new context.
  int64_t callsOfSix() {
    makeContext();
    (void)library_.calls();
    for (int seed = 0; seed < 6; ++seed) {
      fill(seed);
      EXPECT_TRUE(context_->enqueueV3(stream_));
      EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      expectRight(seed);
    }
    const auto calls = library_.calls();
    return std::count(calls.begin(), calls.end(), '\n');
  }

  static constexpr float kFactor = 1.5F;
  Library library_;
  std::unique_ptr<nv::ICudaEngine> engine_;
  std::unique_ptr<nv::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  SharedVector<float> x_ = SharedVector<float>(1000), y_ = SharedVector<float>(1000);
};

TEST_F(PluginReplays, CapturedByTheProgram) {
  makeContext();
  fill(1);
  ASSERT_TRUE(context_->enqueueV3(stream_));  // what is made on first use is there
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  expectRight(1);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_TRUE(context_->enqueueV3(stream_)) << log().take();
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t recorded = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&recorded, graph, 0), cudaSuccess);
  for (int seed = 2; seed < 6; ++seed) {
    fill(seed);
    ASSERT_EQ(cudaGraphLaunch(recorded, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    expectRight(seed);
  }
  EXPECT_EQ(cudaGraphExecDestroy(recorded), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// Two chains of plugins side by side, on the streams that the program gives.
TEST_F(PluginReplays, OnAuxiliaryStreams) {
  const auto plugin = make("OnStream", {{"factor", &kFactor, nv::PluginFieldType::kFLOAT32, 1}});
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  config->setMaxAuxStreams(2);
  nv::ITensor* x = network->addInput("x", nv::DataType::kFLOAT, dims({1000}));
  nv::ITensor* ends[2] = {x, x};
  for (nv::ITensor*& end : ends) {
    for (int i = 0; i < 3; ++i) end = network->addPluginV3(&end, 1, nullptr, 0, *plugin)->getOutput(0);
  }
  nv::ITensor* y = network->addElementWise(*ends[0], *ends[1], nv::ElementWiseOperation::kSUM)->getOutput(0);
  y->setName("y");
  network->markOutput(*y);
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr) << log().take();
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr) << log().take();
  std::vector<cudaStream_t> streams(static_cast<size_t>(engine->getNbAuxStreams()));
  for (auto& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    context->setAuxStreams(streams.data(), static_cast<int32_t>(streams.size()));
    ASSERT_TRUE(context->setTensorAddress("x", x_.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y_.data()));
    for (int seed = 0; seed < 6; ++seed) {
      fill(seed);
      ASSERT_TRUE(context->enqueueV3(stream_));
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      for (size_t i = 0; i < x_.size(); ++i)
        ASSERT_EQ(y_[i], 2 * kFactor * kFactor * kFactor * x_[i]) << seed << " " << i;
    }
  }
  for (const auto stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// Without a word of it every execution calls the plugin. Said that it may be replayed, an engine on a GPU records it.
TEST_F(PluginReplays, RecordedWhereSomebodySaysSo) {
  EXPECT_EQ(callsOfSix(), 6);
  Replayable prototype;
  ASSERT_NE(getPluginRegistry()->acquirePluginResource("replays of a test", &prototype), nullptr);
  const bool onGpu = std::strcmp(std::getenv("TENON_DEVICE"), "cpu") != 0;
  EXPECT_EQ(callsOfSix(), onGpu ? 2 : 6) << "one execution as it comes, one that is recorded";
  EXPECT_EQ(getPluginRegistry()->releasePluginResource("replays of a test"), 0);
}

}  // namespace
}  // namespace tenon::test
