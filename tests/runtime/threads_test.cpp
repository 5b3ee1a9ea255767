// Several contexts on several threads and streams; work that outlives its context; captured work.
#include <atomic>
#include <random>
#include <thread>

#include "runtime_test_support.h"
#include "tenon/hostcuda.h"

namespace tenon::runtime {
namespace {

class Stream {
 public:
  Stream() { EXPECT_EQ(hostcuda::streamCreate(&stream_), hostcuda::Status::kSuccess); }
  ~Stream() { EXPECT_EQ(hostcuda::streamDestroy(stream_), hostcuda::Status::kSuccess); }
  operator StreamHandle() const { return stream_; }  // NOLINT: tests read better

 private:
  hostcuda::StreamHandle stream_ = nullptr;
};

TEST(Threads, ContextsOfOneEngine) {
  const auto engine = engineOf(test::smallPlan(true));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(static_cast<uint64_t>(thread));
      Stream stream;
      Context context(engine, {}, log());
      for (int round = 0; round < 100; ++round) {
        const auto n = static_cast<int64_t>(random() % 9);
        auto x = ramp(static_cast<size_t>(3 * n), static_cast<float>(random() % 7) - 5);
        std::vector<float> y(x.size());
        context.setInputShape(0, {n, 3});
        context.setAddress(0, x.data());
        context.setAddress(1, y.data());
        context.enqueue(stream);
        finishWork(*engine, stream);
        ASSERT_EQ(y, smallExpected(x));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

void block(void* flag) {
  while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
}

// User work in front holds the packets back while addresses and shapes change, and the context goes away.
TEST(Threads, QueuedWorkKeepsItsAddressesShapesAndMemory) {
  auto engine = engineOf(test::smallPlan(true));
  Device& device = engine->device();
  Stream stream;
  std::atomic<bool> go{false};
  ASSERT_EQ(hostcuda::enqueue(static_cast<hostcuda::StreamHandle>(static_cast<StreamHandle>(stream)), &block, &go,
                              nullptr, hostcuda::Kind::kUser),
            hostcuda::Status::kSuccess);
  std::vector<std::vector<float>> xs;
  std::vector<std::vector<float>> ys;
  for (int64_t n = 0; n <= 8; ++n) {
    xs.push_back(ramp(static_cast<size_t>(3 * n), static_cast<float>(n)));
    ys.emplace_back(xs.back().size(), -1.f);
  }
  auto context = std::make_unique<Context>(engine, ContextOptions{}, log());
  for (int64_t n = 0; n <= 8; ++n) {
    const auto i = static_cast<size_t>(n);
    context->setInputShape(0, {n, 3});
    context->setAddress(0, xs[i].data());
    context->setAddress(1, ys[i].data());
    context->enqueue(stream);
  }
  for (size_t i = 1; i < ys.size(); ++i) EXPECT_EQ(ys[i][0], -1.f);
  context.reset();
  engine.reset();
  go = true;
  device.synchronize(stream);
  for (size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(ys[i], smallExpected(xs[i]));
}

class Failing final : public DebugHook {
 public:
  void process(const std::string&, const void*, bool, DataType, const Dims&, StreamHandle) override {
    throw UserError("the hook gave up");
  }
};

TEST(Threads, ErrorsOfQueuedWorkComeWithTheNextCall) {
  auto plan = test::smallPlan(false);
  for (auto& tensor : plan.programs[0].tensors) tensor.debug = true;
  const auto engine = engineOf(plan);
  Stream stream;
  std::atomic<bool> go{false};
  ASSERT_EQ(hostcuda::enqueue(static_cast<hostcuda::StreamHandle>(static_cast<StreamHandle>(stream)), &block, &go,
                              nullptr, hostcuda::Kind::kUser),
            hostcuda::Status::kSuccess);
  Context context(engine, {}, log());
  auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  Failing hook;
  context.setDebugHook(&hook);
  context.setAllDebugTensors(true);
  context.enqueue(stream);
  go = true;
  finishWork(*engine, stream);
  context.setDebugHook(nullptr);
  expectContains(messageOf([&] { context.enqueue(stream); }), {"the hook gave up"});
  context.enqueue(stream);
  finishWork(*engine, stream);
  EXPECT_EQ(y, smallExpected(x));
  expectContains(log().errors(), {"the hook gave up"});
}

// The functions of the CUDA runtime that graphs need, as our libcudart would call them.
template <typename Function>
Function cudaFunction(const char* name) {
  void* const function = tenon_hostcuda_symbol(name, 12);
  EXPECT_NE(function, nullptr) << name;
  return reinterpret_cast<Function>(function);
}

TEST(Threads, CapturedWorkRunsAgainWithItsAddressesAndShapes) {
  const auto begin = cudaFunction<int (*)(void*, int)>("cudaStreamBeginCapture");
  const auto end = cudaFunction<int (*)(void*, void**)>("cudaStreamEndCapture");
  const auto instantiate = cudaFunction<int (*)(void**, void*, unsigned long long)>("cudaGraphInstantiate");
  const auto launch = cudaFunction<int (*)(void*, void*)>("cudaGraphLaunch");
  const auto destroyGraph = cudaFunction<int (*)(void*)>("cudaGraphDestroy");
  const auto destroyExec = cudaFunction<int (*)(void*)>("cudaGraphExecDestroy");
  auto engine = engineOf(test::smallPlan(true));
  Device& device = engine->device();
  Stream stream;
  auto context = std::make_unique<Context>(engine, ContextOptions{}, log());
  auto x = ramp(15);
  const auto fill = [&](float start) {  // in place: the graph knows the address
    const auto values = ramp(15, start);
    std::copy(values.begin(), values.end(), x.begin());
  };
  std::vector<float> y(15, -1);
  context->setInputShape(0, {5, 3});
  context->setAddress(0, x.data());
  context->setAddress(1, y.data());
  ASSERT_EQ(begin(stream, 0), 0);
  context->enqueue(stream);
  void* graph = nullptr;
  ASSERT_EQ(end(stream, &graph), 0);
  EXPECT_EQ(y, std::vector<float>(15, -1)) << "captured work ran";
  void* exec = nullptr;
  ASSERT_EQ(instantiate(&exec, graph, 0), 0);

  auto other = ramp(6);
  std::vector<float> otherOut(6);
  context->setInputShape(0, {2, 3});
  context->setAddress(0, other.data());
  context->setAddress(1, otherOut.data());
  context->enqueue(stream);
  for (int round = 0; round < 3; ++round) {
    fill(static_cast<float>(round));
    ASSERT_EQ(launch(exec, stream), 0);
    finishWork(*engine, stream);
    EXPECT_EQ(y, smallExpected(x));
  }
  EXPECT_EQ(otherOut, smallExpected(other));
  context.reset();
  engine.reset();
  fill(9);
  ASSERT_EQ(launch(exec, stream), 0);
  device.synchronize(stream);
  EXPECT_EQ(y, smallExpected(x));
  EXPECT_EQ(destroyExec(exec), 0);
  EXPECT_EQ(destroyGraph(graph), 0);
}

}  // namespace
}  // namespace tenon::runtime
