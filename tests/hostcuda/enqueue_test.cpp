// What libnvinfer uses: own work in streams, inline where nothing stands before it, captured, released once.
#include <functional>

#include "support.h"
#include "tenon/hostcuda.h"

namespace hostcuda_test {
namespace {

using tenon::hostcuda::Kind;
using tenon::hostcuda::Status;

struct Job {
  int runs = 0;
  int releases = 0;
  std::thread::id thread;
  std::function<void()> inside;

  Status put(cudaStream_t stream, Kind kind = Kind::kOwn) {
    return tenon::hostcuda::enqueue(stream, &Job::run, this, &Job::release, kind);
  }

  static void run(void* job) {
    auto* self = static_cast<Job*>(job);
    ++self->runs;
    self->thread = std::this_thread::get_id();
    if (self->inside) self->inside();
  }
  static void release(void* job) { ++static_cast<Job*>(job)->releases; }
};

TEST(Enqueue, RunsOwnWorkInlineWhenNothingStandsBefore) {
  ASSERT_TRUE(tenon::hostcuda::isHostMode());
  Stream stream;
  Job job;
  ASSERT_EQ(Status::kSuccess, job.put(stream));
  EXPECT_EQ(1, job.runs);
  EXPECT_EQ(1, job.releases);
  EXPECT_EQ(std::this_thread::get_id(), job.thread);
  EXPECT_OK(cudaStreamQuery(stream));
}

TEST(Enqueue, NeverRunsUserWorkInline) {
  Stream stream;
  Job job;
  std::mutex mutex;
  job.inside = [&] { const std::lock_guard held(mutex); };
  {
    const std::lock_guard held(mutex);  // would not end if the work ran inside enqueue()
    ASSERT_EQ(Status::kSuccess, job.put(stream, Kind::kUser));
  }
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(1, job.runs);
  EXPECT_EQ(1, job.releases);
}

TEST(Enqueue, WaitsForWhatStandsBefore) {
  Stream stream;
  Gate gate;
  Job job;
  gate.put(stream);
  ASSERT_EQ(Status::kSuccess, job.put(stream));
  EXPECT_EQ(0, job.runs);
  EXPECT_EQ(Status::kNotReady, tenon::hostcuda::streamQuery(stream));
  cudaGetLastError();
  gate.open();
  ASSERT_EQ(Status::kSuccess, tenon::hostcuda::streamSynchronize(stream));
  EXPECT_EQ(1, job.runs);
  EXPECT_EQ(1, job.releases);
}

TEST(Enqueue, CapturedWorkLivesWithItsGraphs) {
  Stream stream;
  Job job;
  EXPECT_FALSE(tenon::hostcuda::isCapturing(stream));
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_TRUE(tenon::hostcuda::isCapturing(stream));
  ASSERT_EQ(Status::kSuccess, job.put(stream));
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(0, job.runs);
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_OK(cudaGraphDestroy(graph));
  EXPECT_EQ(0, job.releases);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_EQ(i, job.runs);  // own work alone: the launch may run inline too
  }
  ASSERT_OK(cudaGraphExecDestroy(exec));
  EXPECT_EQ(1, job.releases);
}

TEST(Enqueue, WorkMaySubmitToItsOwnStream) {
  Stream stream;
  Job inner;
  Job outer;
  int value = 3;
  int copied = 0;
  Event event;
  outer.inside = [&] {
    EXPECT_EQ(Status::kSuccess, inner.put(stream));
    EXPECT_EQ(1, inner.runs);
    EXPECT_OK(cudaMemcpyAsync(&copied, &value, sizeof value, cudaMemcpyDefault, stream));
    EXPECT_EQ(3, copied);
    EXPECT_OK(cudaEventRecord(event, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_OK(cudaMemcpy(&value, &copied, sizeof value, cudaMemcpyDefault));
  };
  ASSERT_EQ(Status::kSuccess, outer.put(stream));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(1, inner.releases);
  // The same from a worker, with the stream's queue filled.
  Gate gate;
  inner.runs = 0;
  gate.put(stream);
  ASSERT_EQ(Status::kSuccess, outer.put(stream));
  Job last;
  ASSERT_EQ(Status::kSuccess, last.put(stream));
  gate.open();
  EXPECT_TRUE(comesTrue([&] { return tenon::hostcuda::streamQuery(stream) == Status::kSuccess; }));
  EXPECT_EQ(2, outer.runs);
  EXPECT_EQ(1, last.runs);
  cudaGetLastError();
}

// Two works at once, each of which copies by the default stream before the other ends: neither waits for the other.
TEST(Enqueue, WorksOnTwoThreadsMayCopyByTheDefaultStream) {
  Stream streams[2];
  Job jobs[2];
  std::atomic<int> inside{0};
  int copied[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    jobs[i].inside = [&, i] {
      ++inside;
      EXPECT_TRUE(comesTrue([&] { return inside == 2; }));
      const int value = 7 + i;
      EXPECT_OK(cudaMemcpy(&copied[i], &value, sizeof value, cudaMemcpyDefault));
      EXPECT_OK(cudaStreamSynchronize(nullptr));
      EXPECT_EQ(7 + i, copied[i]);
    };
  }
  std::thread other([&] { EXPECT_EQ(Status::kSuccess, jobs[1].put(streams[1])); });
  EXPECT_EQ(Status::kSuccess, jobs[0].put(streams[0]));
  other.join();
  for (const auto& stream : streams) EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(1, jobs[0].runs);
  EXPECT_EQ(1, jobs[1].runs);
}

// Whoever runs the work, giving its argument back may free memory, which waits for all streams.
TEST(Enqueue, ReleaseMayFreeMemory) {
  Stream stream;
  Stream waiting;
  for (const bool isQueued : {false, true}) {
    void* memory = nullptr;
    ASSERT_EQ(Status::kSuccess, tenon::hostcuda::malloc(&memory, 100));
    Gate gate;
    Event event;
    if (isQueued) gate.put(stream);
    const auto release = [](void* arg) { EXPECT_EQ(Status::kSuccess, tenon::hostcuda::free(arg)); };
    ASSERT_EQ(Status::kSuccess, tenon::hostcuda::enqueue(
                                    stream, [](void*) {}, memory, release, Kind::kOwn));
    ASSERT_OK(cudaEventRecord(event, stream));
    ASSERT_OK(cudaStreamWaitEvent(waiting, event, 0));  // work that waits for the one that frees
    gate.open();
    ASSERT_OK(cudaStreamSynchronize(waiting));
    EXPECT_EQ(tenon::hostcuda::MemoryKind::kUnregistered, tenon::hostcuda::pointerInfo(memory).kind);
  }
}

TEST(Enqueue, OnAnErrorTheArgumentStaysWithTheCaller) {
  Job job;
  int number = 0;
  EXPECT_EQ(Status::kInvalidResourceHandle, job.put(reinterpret_cast<cudaStream_t>(&number)));
  EXPECT_EQ(Status::kInvalidValue, tenon::hostcuda::enqueue(nullptr, nullptr, &job, &Job::release, Kind::kOwn));
  Stream stream;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
  EXPECT_EQ(Status::kStreamCaptureInvalidated, job.put(stream));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(0, job.runs);
  EXPECT_EQ(0, job.releases);
  cudaGetLastError();
}

TEST(Enqueue, MemoryIsTheRuntimes) {
  void* pointer = nullptr;
  ASSERT_EQ(Status::kSuccess, tenon::hostcuda::malloc(&pointer, 1000));
  const auto info = tenon::hostcuda::pointerInfo(static_cast<char*>(pointer) + 10);
  EXPECT_EQ(tenon::hostcuda::MemoryKind::kDevice, info.kind);
  EXPECT_EQ(pointer, info.base);
  EXPECT_EQ(1000u, info.size);
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(Status::kSuccess, tenon::hostcuda::free(pointer));
  EXPECT_EQ(Status::kInvalidValue, tenon::hostcuda::free(pointer));
  cudaGetLastError();
}

}  // namespace
}  // namespace hostcuda_test
