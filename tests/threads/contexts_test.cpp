// Many contexts of one engine on many threads and streams: right answers, no growth, contexts that come and go.
#include <random>

#include "support.h"

namespace tenon::test {
namespace {

class Threads : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(sharedLog().takeErrors(), std::vector<std::string>{}); }
  SmallNetwork network_;
};

// Inputs of each batch size with their answers, so that the loop below spends its time in the library.
struct Question {
  std::vector<float> x;
  std::vector<float> y;
};

std::vector<Question> questions(const SmallNetwork& network, uint32_t seed) {
  std::vector<Question> result;
  for (int64_t batch = 1; batch <= SmallNetwork::kMaxBatch; ++batch) {
    auto x = uniform(batch * SmallNetwork::kInput, seed + static_cast<uint32_t>(batch));
    auto y = network.expected(x);
    result.push_back({std::move(x), std::move(y)});
  }
  return result;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst;
}

TEST_F(Threads, SixteenContextsOfOneEngineAnswerRight) {
  constexpr int kThreads = 16;
  const auto engine = smallEngine(network_);
  ASSERT_NE(engine, nullptr);
  const auto asked = questions(network_, 100);
  std::atomic<uint64_t> runs{0};
  std::atomic<double> warm{0};
  const auto begin = SteadyClock::now();
  onThreads(kThreads, [&](int thread) {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    ASSERT_NE(context, nullptr);
    const Stream stream;
    std::mt19937 random(static_cast<uint32_t>(thread));
    std::vector<float> y;
    uint64_t mine = 0;
    do {
      const Question& question = asked[random() % asked.size()];
      ASSERT_TRUE(enqueueSmall(*context, question.x, y, stream.get()));
      stream.wait();
      ASSERT_LE(distance(y, question.y), kTolerance) << "thread " << thread << ", run " << mine;
      // After a tenth of the time every thread has seen every shape, so from here on memory stays what it is.
      if (thread == 0 && warm == 0 && SteadyClock::now() - begin > soakTime() / 10) warm = residentMebibytes();
      ++mine;
    } while (SteadyClock::now() - begin < soakTime());
    runs += mine;
  });
  const double end = residentMebibytes();
  std::printf("%d threads, %.0f s: %llu runs, %.1f MiB resident after a tenth of the time, %.1f MiB at the end\n",
              kThreads, soakTime().count(), static_cast<unsigned long long>(runs), warm.load(), end);
  if (!kSanitized) {  // a sanitizer keeps what was freed
    EXPECT_LE(end, warm * 1.1 + 8);
  }
}

// Work waits in the queues of streams while addresses change; the answers must be those of the time of the call.
TEST_F(Threads, QueuedRunsOfOneContextKeepTheirAddresses) {
  const auto engine = smallEngine(network_);
  ASSERT_NE(engine, nullptr);
  onThreads(4, [&](int thread) {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    const Stream stream;
    const auto asked = questions(network_, static_cast<uint32_t>(1000 * thread));
    std::vector<std::vector<float>> answers(asked.size());
    for (int round = 0; round < 20; ++round) {
      // The user's function holds the work behind it back in the queue.
      ASSERT_EQ(cudaLaunchHostFunc(
                    stream.get(), [](void*) { std::this_thread::yield(); }, nullptr),
                cudaSuccess);
      for (size_t i = 0; i < asked.size(); ++i)
        ASSERT_TRUE(enqueueSmall(*context, asked[i].x, answers[i], stream.get()));
      stream.wait();
      for (size_t i = 0; i < asked.size(); ++i) ASSERT_LE(distance(answers[i], asked[i].y), kTolerance);
    }
  });
}

TEST_F(Threads, ContextsComeAndGoWhileOthersRun) {
  auto engine = smallEngine(network_);
  ASSERT_NE(engine, nullptr);
  const auto begin = SteadyClock::now();
  onThreads(8, [&](int thread) {
    const auto x = uniform((1 + thread) * SmallNetwork::kInput, static_cast<uint32_t>(thread));
    const auto wanted = network_.expected(x);
    std::vector<float> y;
    do {
      const Stream stream;
      std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
      ASSERT_NE(context, nullptr);
      ASSERT_TRUE(enqueueSmall(*context, x, y, stream.get()));
      if (thread % 2 == 0) context.reset();  // work that is under way outlives its context
      stream.wait();
      ASSERT_LE(distance(y, wanted), kTolerance);
    } while (SteadyClock::now() - begin < soakTime() / 4);
  });
}

// Each thread hands its output to the next over an event: the second stream may run only after the first.
TEST_F(Threads, EventsOrderStreamsOfDifferentThreads) {
  const auto engine = smallEngine(network_);
  ASSERT_NE(engine, nullptr);
  onThreads(4, [&](int thread) {
    const Stream first;
    const Stream second;
    cudaEvent_t done = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), cudaSuccess);
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    for (int round = 0; round < 25; ++round) {
      const auto x = uniform((1 + round % 8) * SmallNetwork::kInput, static_cast<uint32_t>(100 * thread + round));
      std::vector<float> y;
      ASSERT_EQ(cudaLaunchHostFunc(
                    first.get(), [](void*) { std::this_thread::yield(); }, nullptr),
                cudaSuccess);
      ASSERT_TRUE(enqueueSmall(*context, x, y, first.get()));
      ASSERT_EQ(cudaEventRecord(done, first.get()), cudaSuccess);
      std::vector<float> copy(y.size());
      std::thread consumer([&] {
        ASSERT_EQ(cudaStreamWaitEvent(second.get(), done, 0), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(copy.data(), y.data(), y.size() * sizeof(float), cudaMemcpyDefault, second.get()),
                  cudaSuccess);
        second.wait();
      });
      consumer.join();
      ASSERT_LE(network_.error(x, copy), kTolerance);
    }
    EXPECT_EQ(cudaEventDestroy(done), cudaSuccess);
  });
}

class GrowingAllocator final : public nv::IOutputAllocator {
 public:
  void* reallocateOutputAsync(char const*, void*, uint64_t size, uint64_t, cudaStream_t) noexcept override {
    if (memory.size() * sizeof(float) < size) memory.resize(size / sizeof(float));
    return memory.data();
  }
  void notifyShape(char const*, nv::Dims const& dims) noexcept override { shape = dims; }
  std::vector<float> memory = std::vector<float>(1);
  nv::Dims shape{};
};

TEST_F(Threads, OutputAllocatorsOfManyThreads) {
  const auto engine = smallEngine(network_);
  ASSERT_NE(engine, nullptr);
  onThreads(6, [&](int thread) {
    const Stream stream;
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    GrowingAllocator allocator;
    ASSERT_TRUE(context->setOutputAllocator("y", &allocator));
    for (int round = 0; round < 25; ++round) {
      const int64_t batch = 1 + (round + thread) % SmallNetwork::kMaxBatch;
      const auto x = uniform(batch * SmallNetwork::kInput, static_cast<uint32_t>(round));
      ASSERT_TRUE(context->setInputShape("x", SmallNetwork::inputDims(batch)));
      ASSERT_TRUE(context->setInputTensorAddress("x", x.data()));
      ASSERT_TRUE(context->enqueueV3(stream.get()));
      stream.wait();
      ASSERT_EQ(allocator.shape.d[0], batch);
      const auto count = static_cast<std::ptrdiff_t>(batch * SmallNetwork::kOutput);
      ASSERT_LE(network_.error(x, {allocator.memory.begin(), allocator.memory.begin() + count}), kTolerance);
    }
  });
}

}  // namespace
}  // namespace tenon::test
