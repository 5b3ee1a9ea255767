// One context on several threads at once, which is not allowed: an error that says so, and nothing else happens.
#include <condition_variable>

#include "support.h"

namespace tenon::test {
namespace {

constexpr const char* kMessage = "the context is in use by another thread; expected one thread at a time";

// Output memory whose allocator lets another thread in, in the middle of an execution.
class OpenDoor final : public nv::IOutputAllocator {
 public:
  OpenDoor(nv::IExecutionContext& itsContext, size_t floats) : context(itsContext), memory(floats) {}
  void* reallocateOutputAsync(const char* tensor, void*, uint64_t, uint64_t, cudaStream_t) override {
    nested = context.getTensorShape(tensor);  // the same thread may ask
    std::unique_lock lock(mutex);
    isInside = true;
    changed.notify_all();
    changed.wait(lock, [&] { return mayLeave; });
    return memory.data();
  }
  void notifyShape(const char*, const nv::Dims&) noexcept override {}

  nv::IExecutionContext& context;
  std::vector<float> memory;
  nv::Dims nested{};
  std::mutex mutex;
  std::condition_variable changed;
  bool isInside = false;
  bool mayLeave = false;
};

TEST(OneContext, RefusesASecondThread) {
  const SmallNetwork network;
  const auto engine = smallEngine(network);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", SmallNetwork::inputDims(2)));
  const auto x = uniform(2 * SmallNetwork::kInput, 3);
  OpenDoor door(*context, 2 * SmallNetwork::kOutput);
  ASSERT_TRUE(context->setOutputAllocator("y", &door));
  bool ran = false;
  std::thread first([&] {
    void* bindings[] = {const_cast<float*>(x.data()), nullptr};
    ran = context->executeV2(bindings);
  });
  {
    std::unique_lock lock(door.mutex);
    door.changed.wait(lock, [&] { return door.isInside; });
  }
  std::vector<float> other(SmallNetwork::kMaxBatch * SmallNetwork::kInput);
  void* bindings[] = {other.data(), other.data()};
  EXPECT_FALSE(context->executeV2(bindings));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_FALSE(context->setInputShape("x", SmallNetwork::inputDims(8)));
  EXPECT_FALSE(context->setTensorAddress("y", other.data()));
  EXPECT_FALSE(context->setInputTensorAddress("x", other.data()));
  EXPECT_FALSE(context->setOptimizationProfileAsync(0, nullptr));
  EXPECT_FALSE(context->setOutputAllocator("y", nullptr));
  EXPECT_FALSE(context->setDebugListener(nullptr));
  EXPECT_FALSE(context->setAllTensorsDebugState(true));
  EXPECT_EQ(context->getTensorShape("y").nbDims, -1);
  EXPECT_EQ(context->inferShapes(0, nullptr), -1);
  EXPECT_EQ(context->updateDeviceMemorySizeForShapes(), 0U);
  EXPECT_EQ(context->getTensorAddress("x"), nullptr);
  context->setProfiler(nullptr);
  context->setAuxStreams(nullptr, 0);
  const auto errors = sharedLog().takeErrors();
  EXPECT_EQ(errors.size(), 15U);
  for (const auto& error : errors) EXPECT_NE(error.find(kMessage), std::string::npos) << error;
  {
    const std::lock_guard lock(door.mutex);
    door.mayLeave = true;
  }
  door.changed.notify_all();
  first.join();
  EXPECT_TRUE(ran);
  EXPECT_EQ(door.nested.nbDims, 4);
  EXPECT_LE(network.error(x, door.memory), kTolerance);
  EXPECT_TRUE(context->setInputShape("x", SmallNetwork::inputDims(1)));  // now it is free again
  EXPECT_EQ(sharedLog().takeErrors(), std::vector<std::string>{});
}

// Whoever gets in gets the right answer.
TEST(OneContext, AnswersRightWhereItAnswers) {
  const SmallNetwork network;
  const auto engine = smallEngine(network);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", SmallNetwork::inputDims(1)));
  std::atomic<int> ran{0};
  onThreads(8, [&](int thread) {
    const auto x = uniform(SmallNetwork::kInput, static_cast<uint32_t>(thread));
    std::vector<float> y(SmallNetwork::kOutput);
    void* bindings[] = {const_cast<float*>(x.data()), y.data()};
    for (int round = 0; round < 200; ++round) {
      std::fill(y.begin(), y.end(), -1.F);
      if (!context->executeV2(bindings)) continue;
      ++ran;
      ASSERT_LE(network.error(x, y), kTolerance) << "thread " << thread << ", round " << round;
    }
  });
  EXPECT_GT(ran, 0);
  const auto errors = sharedLog().takeErrors();
  EXPECT_EQ(static_cast<int>(errors.size()), 1600 - ran);
  for (const auto& error : errors) EXPECT_NE(error.find(kMessage), std::string::npos) << error;
}

}  // namespace
}  // namespace tenon::test
