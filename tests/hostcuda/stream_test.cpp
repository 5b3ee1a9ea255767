// Streams: order, who runs what, default streams, errors.
#include <random>

#include "support.h"

namespace hostcuda_test {
namespace {

TEST(Stream, RunsInOrder) {
  Stream stream;
  Log log;
  for (int i = 0; i < 300; ++i) log.put(stream, i);
  ASSERT_OK(cudaStreamSynchronize(stream));
  const std::vector<int> numbers = log.numbers();
  ASSERT_EQ(300u, numbers.size());
  for (int i = 0; i < 300; ++i) EXPECT_EQ(i, numbers[i]);
}

TEST(Stream, CopiesKeepTheirPlaceBetweenHostFunctions) {
  Stream stream;
  Gate gate;
  int source = 1;
  int copied = 0;
  gate.put(stream);
  ASSERT_OK(cudaMemcpyAsync(&copied, &source, sizeof source, cudaMemcpyDefault, stream));
  EXPECT_EQ(0, copied);
  source = 2;  // the copy reads the source when the stream comes to it
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(2, copied);
}

TEST(Stream, HostFunctionRunsWithoutSynchronizationInAnotherThread) {
  Stream stream;
  struct Seen {
    std::atomic<bool> isDone{false};
    std::thread::id thread;
  } seen;
  ASSERT_OK(cudaLaunchHostFunc(
      stream,
      [](void* arg) {
        static_cast<Seen*>(arg)->thread = std::this_thread::get_id();
        static_cast<Seen*>(arg)->isDone = true;
      },
      &seen));
  ASSERT_TRUE(comesTrue([&] { return seen.isDone.load(); }));
  EXPECT_NE(std::this_thread::get_id(), seen.thread);
}

TEST(Stream, QuerySaysNotReadyUntilDone) {
  Stream stream;
  Gate gate;
  EXPECT_OK(cudaStreamQuery(stream));
  gate.put(stream);
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(stream));
  gate.open();
  EXPECT_TRUE(comesTrue([&] { return cudaStreamQuery(stream) == cudaSuccess; }));
  cudaGetLastError();
}

TEST(Stream, LegacyDefaultStreamWaitsForBlockingStreams) {
  Stream stream;
  Gate gate;
  Log log;
  gate.put(stream);
  log.put(stream, 1);
  log.put(nullptr, 2);
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(nullptr));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ((std::vector<int>{1, 2}), log.numbers());
}

TEST(Stream, BlockingStreamWaitsForLegacyDefaultStream) {
  Stream stream;
  Gate gate;
  Log log;
  gate.put(cudaStreamLegacy);
  log.put(nullptr, 1);
  log.put(stream, 2);
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(stream));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ((std::vector<int>{1, 2}), log.numbers());
}

TEST(Stream, NonBlockingStreamIgnoresLegacyDefaultStream) {
  Stream stream(cudaStreamNonBlocking);
  Stream blocking;
  Gate gate;
  Gate other;
  Log log;
  gate.put(nullptr);
  log.put(stream, 1);
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(1u, log.numbers().size());
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  other.put(stream);
  log.put(nullptr, 2);
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(2u, log.numbers().size());
}

TEST(Stream, SynchronousCopyWaitsForBlockingStreams) {
  Stream stream;
  int value = 1;
  int copied = 0;
  ASSERT_OK(cudaLaunchHostFunc(
      stream,
      [](void* arg) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *static_cast<int*>(arg) = 7;
      },
      &value));
  ASSERT_OK(cudaMemcpy(&copied, &value, sizeof value, cudaMemcpyDefault));
  EXPECT_EQ(7, copied);
}

TEST(Stream, EachThreadHasItsOwnPerThreadStream) {
  Gate gate;
  gate.put(cudaStreamPerThread);
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
  unsigned long long mine = 0;
  ASSERT_OK(cudaStreamGetId(cudaStreamPerThread, &mine));
  std::thread([&] {
    unsigned long long theirs = 0;
    EXPECT_OK(cudaStreamGetId(cudaStreamPerThread, &theirs));
    EXPECT_NE(mine, theirs);
    EXPECT_OK(cudaStreamQuery(cudaStreamPerThread));
  }).join();
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(cudaStreamPerThread));
}

TEST(Stream, EndOfThreadLeavesItsWorkRunning) {
  std::atomic<int> done{0};
  Gate gate;
  std::thread([&] {
    gate.put(cudaStreamPerThread);
    EXPECT_OK(cudaLaunchHostFunc(
        cudaStreamPerThread, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &done));
  }).join();
  gate.open();
  EXPECT_TRUE(comesTrue([&] { return done == 1; }));
}

TEST(Stream, WaitEventOrdersAcrossStreams) {
  Stream first(cudaStreamNonBlocking);
  Stream second(cudaStreamNonBlocking);
  Event event;
  Gate gate;
  Log log;
  gate.put(first);
  log.put(first, 1);
  ASSERT_OK(cudaEventRecord(event, first));
  ASSERT_OK(cudaStreamWaitEvent(second, event, 0));
  log.put(second, 2);
  // Recording again must not move what the second stream waits for.
  Gate later;
  later.put(first);
  ASSERT_OK(cudaEventRecord(event, first));
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(second));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(second));
  EXPECT_EQ((std::vector<int>{1, 2}), log.numbers());
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(first));
}

TEST(Stream, WaitForAnEventNeverRecordedIsNothing) {
  Stream stream;
  Event event;
  EXPECT_OK(cudaStreamWaitEvent(stream, event, 0));
  EXPECT_OK(cudaStreamQuery(stream));
}

TEST(Stream, DestroyedStreamFinishesItsWork) {
  std::atomic<int> done{0};
  Gate gate;
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreate(&stream));
  gate.put(stream);
  ASSERT_OK(cudaLaunchHostFunc(
      stream, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &done));
  ASSERT_OK(cudaStreamDestroy(stream));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  gate.open();
  EXPECT_TRUE(comesTrue([&] { return done == 1; }));
}

TEST(Stream, RefusesWhatIsNoStream) {
  int number = 0;
  const auto bogus = reinterpret_cast<cudaStream_t>(&number);
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(bogus));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamDestroy(bogus));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaMemsetAsync(&number, 1, 4, bogus));
  EXPECT_EQ(0, number);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamCreateWithFlags(nullptr, 0));
  cudaStream_t stream = nullptr;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x80));
}

TEST(Stream, CallbackGetsItsStream) {
  Stream stream;
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  ASSERT_OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t given, cudaError_t status, void* arg) {
        static_cast<Seen*>(arg)->stream = given;
        static_cast<Seen*>(arg)->status = status;
      },
      &seen, 0));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(static_cast<cudaStream_t>(stream), seen.stream);
  EXPECT_EQ(cudaSuccess, seen.status);
}

TEST(Stream, HostFunctionMayNotCallTheRuntime) {
  Stream stream;
  std::vector<cudaError_t> errors;
  ASSERT_OK(cudaLaunchHostFunc(
      stream,
      [](void* arg) {
        auto* list = static_cast<std::vector<cudaError_t>*>(arg);
        list->push_back(cudaStreamSynchronize(cudaStreamPerThread));
        list->push_back(cudaDeviceSynchronize());
        list->push_back(cudaMemsetAsync(arg, 0, 0, cudaStreamPerThread));
      },
      &errors));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(std::vector<cudaError_t>(3, cudaErrorNotPermitted), errors);
  cudaGetLastError();
}

TEST(Stream, SleepingHostFunctionsDoNotHoldOtherStreams) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Gate>> gates;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency() + 4; ++i) {
    streams.push_back(std::make_unique<Stream>(cudaStreamNonBlocking));
    gates.push_back(std::make_unique<Gate>());
    gates.back()->put(*streams.back());
  }
  std::atomic<int> done{0};
  Stream last(cudaStreamNonBlocking);
  ASSERT_OK(cudaLaunchHostFunc(
      last, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &done));
  EXPECT_TRUE(comesTrue([&] { return done == 1; }));
  for (auto& gate : gates) gate->open();
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(Stream, PrioritiesAreClamped) {
  int least = 1;
  int greatest = 1;
  ASSERT_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least);
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 100));
  int priority = 0;
  unsigned flags = 0;
  EXPECT_OK(cudaStreamGetPriority(stream, &priority));
  EXPECT_OK(cudaStreamGetFlags(stream, &flags));
  EXPECT_EQ(greatest, priority);
  EXPECT_EQ(static_cast<unsigned>(cudaStreamNonBlocking), flags);
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(Stream, DeviceSynchronizeWaitsForAll) {
  Stream first;
  Stream second(cudaStreamNonBlocking);
  Log log;
  for (int i = 0; i < 50; ++i) log.put(i % 2 == 0 ? first : second, i);
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(50u, log.numbers().size());
}

// Threads work on shared and own streams at once; each stream must keep its order.
TEST(StreamStress, ManyThreadsKeepEachStreamsOrder) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 120;
  struct Counter {
    int value = 0;  // only the stream touches it
    std::atomic<int> errors{0};
  };
  struct Expectation {
    Counter* counter;
    int value;
  };
  Stream shared;
  std::atomic<int> sharedRuns{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      Stream own(t % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
      Event event(cudaEventDisableTiming);
      Counter counter;
      std::vector<std::unique_ptr<Expectation>> expectations;
      int copies[2] = {t, 0};
      int filled = 0;  // by the default stream alone: own streams that do not block are not ordered with it
      for (int i = 0; i < kRounds; ++i) {
        expectations.push_back(std::make_unique<Expectation>(Expectation{&counter, i}));
        EXPECT_OK(cudaLaunchHostFunc(
            own,
            [](void* arg) {
              auto* expected = static_cast<Expectation*>(arg);
              if (expected->counter->value++ != expected->value) ++expected->counter->errors;
            },
            expectations.back().get()));
        EXPECT_OK(cudaMemcpyAsync(&copies[1], &copies[0], sizeof(int), cudaMemcpyDefault, own));
        EXPECT_OK(cudaLaunchHostFunc(
            shared, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &sharedRuns));
        switch (random() % 5) {
          case 0: EXPECT_OK(cudaStreamSynchronize(own)); break;
          case 1:
            EXPECT_OK(cudaEventRecord(event, own));
            EXPECT_OK(cudaStreamWaitEvent(shared, event, 0));
            break;
          case 2:
            EXPECT_OK(cudaEventRecord(event, shared));
            EXPECT_OK(cudaEventSynchronize(event));
            break;
          case 3: EXPECT_OK(cudaMemsetAsync(&filled, 0, sizeof(int), nullptr)); break;
          default: break;
        }
      }
      EXPECT_OK(cudaStreamSynchronize(own));
      EXPECT_OK(cudaStreamSynchronize(nullptr));
      EXPECT_EQ(kRounds, counter.value);
      EXPECT_EQ(0, counter.errors);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(kThreads * kRounds, sharedRuns);
}

}  // namespace
}  // namespace hostcuda_test
