// Events: completion, time, errors.
#include "support.h"

namespace hostcuda_test {
namespace {

void sleepMilliseconds(void* milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int*>(milliseconds)));
}

TEST(Event, MeasuresTheTimeBetweenItsPlacesInTheStream) {
  Stream stream;
  Event start;
  Event end;
  int milliseconds = 30;
  ASSERT_OK(cudaEventRecord(start, stream));
  ASSERT_OK(cudaLaunchHostFunc(stream, &sleepMilliseconds, &milliseconds));
  ASSERT_OK(cudaEventRecord(end, stream));
  float elapsed = -1;
  ASSERT_OK(cudaEventSynchronize(end));
  ASSERT_OK(cudaEventElapsedTime(&elapsed, start, end));
  EXPECT_GE(elapsed, 29.9f);
  EXPECT_LT(elapsed, 10000.0f);
  ASSERT_OK(cudaEventElapsedTime(&elapsed, end, start));
  EXPECT_LE(elapsed, -29.9f);
  ASSERT_OK(cudaEventElapsedTime(&elapsed, end, end));
  EXPECT_EQ(0.0f, elapsed);
}

TEST(Event, TimeIsThatOfTheStreamNotOfTheCall) {
  Stream stream;
  Gate gate;
  Event start;
  Event end;
  gate.put(stream);
  ASSERT_OK(cudaEventRecord(start, stream));
  ASSERT_OK(cudaEventRecord(end, stream));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream));
  Event now;
  ASSERT_OK(cudaEventRecord(now, stream));
  float elapsed = 0;
  ASSERT_OK(cudaEventElapsedTime(&elapsed, start, now));
  EXPECT_LT(elapsed, 29.0f + 5000.0f);
  ASSERT_OK(cudaEventElapsedTime(&elapsed, start, end));
  EXPECT_GE(elapsed, 0.0f);
}

TEST(Event, IsCompleteBeforeItIsRecorded) {
  Event event;
  EXPECT_OK(cudaEventQuery(event));
  EXPECT_OK(cudaEventSynchronize(event));
}

TEST(Event, IsNotReadyUntilTheStreamComesThere) {
  Stream stream;
  Gate gate;
  Event event;
  gate.put(stream);
  ASSERT_OK(cudaEventRecord(event, stream));
  EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event));
  float elapsed = 0;
  EXPECT_ERROR(cudaErrorNotReady, cudaEventElapsedTime(&elapsed, event, event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaEventQuery(event));
}

TEST(Event, SynchronizeWaitsForTheEventAlone) {
  Stream stream;
  Gate gate;
  Event event;
  Log log;
  log.put(stream, 1);
  ASSERT_OK(cudaEventRecord(event, stream));
  gate.put(stream);
  ASSERT_OK(cudaEventSynchronize(event));
  EXPECT_EQ(1u, log.numbers().size());
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(stream));
}

TEST(Event, InTheLegacyStreamWaitsForBlockingStreams) {
  Stream stream;
  Gate gate;
  Event event;
  gate.put(stream);
  ASSERT_OK(cudaEventRecord(event, nullptr));
  EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
}

TEST(Event, RefusesTimeThatWasNotMeasured) {
  Stream stream;
  Event timed;
  Event untimed(cudaEventDisableTiming);
  Event never;
  float elapsed = 0;
  ASSERT_OK(cudaEventRecord(timed, stream));
  ASSERT_OK(cudaEventRecord(untimed, stream));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&elapsed, timed, untimed));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&elapsed, timed, never));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventElapsedTime(nullptr, timed, timed));
}

TEST(Event, RefusesWrongFlagsAndHandles) {
  cudaEvent_t event = nullptr;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x100));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreate(nullptr));
  ASSERT_OK(cudaEventCreate(&event));
  ASSERT_OK(cudaEventDestroy(event));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventRecord(event, nullptr));
}

TEST(Event, MayBeDestroyedWhilePending) {
  Stream first;
  Stream second;
  Gate gate;
  Log log;
  cudaEvent_t event = nullptr;
  ASSERT_OK(cudaEventCreate(&event));
  gate.put(first);
  log.put(first, 1);
  ASSERT_OK(cudaEventRecord(event, first));
  ASSERT_OK(cudaStreamWaitEvent(second, event, 0));
  log.put(second, 2);
  ASSERT_OK(cudaEventDestroy(event));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(second));
  EXPECT_EQ((std::vector<int>{1, 2}), log.numbers());
}

}  // namespace
}  // namespace hostcuda_test
