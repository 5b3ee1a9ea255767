// Stream capture: forks and joins, replays, and what must not happen meanwhile.
#include <cstring>

#include "support.h"

namespace hostcuda_test {
namespace {

cudaStreamCaptureStatus statusOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_OK(cudaStreamIsCapturing(stream, &status));
  return status;
}

size_t nodeCount(cudaGraph_t graph) {
  size_t count = 0;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &count));
  return count;
}

TEST(Capture, RecordsInsteadOfRunningAndReplays) {
  Stream stream;
  int source = 1;
  int copied = 0;
  int calls = 0;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaStreamCaptureStatusActive, statusOf(stream));
  ASSERT_OK(cudaMemcpyAsync(&copied, &source, sizeof source, cudaMemcpyDefault, stream));
  ASSERT_OK(cudaLaunchHostFunc(
      stream, [](void* arg) { ++*static_cast<int*>(arg); }, &calls));
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaStreamCaptureStatusNone, statusOf(stream));
  EXPECT_EQ(0, copied);
  EXPECT_EQ(0, calls);
  EXPECT_EQ(2u, nodeCount(graph));
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_OK(cudaGraphDestroy(graph));
  for (int i = 1; i <= 3; ++i) {
    source = 10 * i;
    ASSERT_OK(cudaGraphLaunch(exec, stream));
    ASSERT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(10 * i, copied);
    EXPECT_EQ(i, calls);
  }
  ASSERT_OK(cudaGraphExecDestroy(exec));
}

TEST(Capture, FollowsForkAndJoinByEvents) {
  Stream origin;
  Stream branch(cudaStreamNonBlocking);
  Event fork;
  Event join;
  Log log;
  ASSERT_OK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  log.put(origin, 1);
  ASSERT_OK(cudaEventRecord(fork, origin));
  ASSERT_OK(cudaStreamWaitEvent(branch, fork, 0));
  EXPECT_EQ(cudaStreamCaptureStatusActive, statusOf(branch));
  log.put(branch, 2);
  log.put(origin, 3);
  ASSERT_OK(cudaEventRecord(join, branch));
  ASSERT_OK(cudaStreamWaitEvent(origin, join, 0));
  log.put(origin, 4);
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaStreamEndCapture(origin, &graph));
  EXPECT_EQ(cudaStreamCaptureStatusNone, statusOf(branch));
  ASSERT_EQ(4u, nodeCount(graph));
  size_t roots = 0;
  ASSERT_OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(1u, roots);
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_OK(cudaGraphLaunch(exec, origin));
  ASSERT_OK(cudaStreamSynchronize(origin));
  ASSERT_EQ(4u, log.numbers().size());
  EXPECT_EQ(0u, log.position(1));
  EXPECT_EQ(3u, log.position(4));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

TEST(Capture, RefusesABranchThatDoesNotJoin) {
  Stream origin;
  Stream branch;
  Event fork;
  Log log;
  ASSERT_OK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed));
  log.put(origin, 1);
  ASSERT_OK(cudaEventRecord(fork, origin));
  ASSERT_OK(cudaStreamWaitEvent(branch, fork, 0));
  log.put(branch, 2);
  cudaGraph_t graph = nullptr;
  EXPECT_ERROR(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(branch, &graph));
  EXPECT_ERROR(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(origin, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_EQ(cudaStreamCaptureStatusNone, statusOf(origin));
  EXPECT_EQ(cudaStreamCaptureStatusNone, statusOf(branch));
  EXPECT_OK(cudaStreamSynchronize(branch));
}

TEST(Capture, SynchronizingInvalidatesIt) {
  Stream stream;
  Log log;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  log.put(stream, 1);
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  EXPECT_EQ(cudaStreamCaptureStatusInvalidated, statusOf(stream));
  int number = 0;
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(&number, 0, sizeof number, stream));
  cudaGraph_t graph = nullptr;
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_TRUE(log.numbers().empty());
}

TEST(Capture, ModesDecideAboutUnsafeCalls) {
  Stream stream(cudaStreamNonBlocking);
  void* pointer = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_OK(cudaMalloc(&pointer, 10));
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphDestroy(graph));

  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::thread([] {
    void* other = nullptr;
    EXPECT_OK(cudaMalloc(&other, 10));
    EXPECT_OK(cudaFree(other));
  }).join();
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaFree(pointer));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));

  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::thread([] {
    void* other = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(cudaStreamCaptureModeGlobal, mode);
    EXPECT_OK(cudaMalloc(&other, 10));
    EXPECT_OK(cudaFree(other));
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaMalloc(&other, 10));
  }).join();
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_OK(cudaFree(pointer));
}

TEST(Capture, LegacyStreamMayNotDependOnIt) {
  Stream stream;
  int number = 0;
  cudaGraph_t graph = nullptr;
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(&number, 1, sizeof number, nullptr));
  EXPECT_EQ(0, number);
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
}

TEST(Capture, QuestionsLeaveItAsItIs) {
  Stream stream;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(nullptr, &status));
  unsigned long long id = 0;
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 7;
#if CUDART_VERSION >= 13000
  ASSERT_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, nullptr, &count));
#else
  ASSERT_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, &count));
#endif
  EXPECT_EQ(cudaStreamCaptureStatusActive, status);
  EXPECT_NE(nullptr, graph);
  EXPECT_EQ(0u, count);
  cudaGraph_t ended = nullptr;
  ASSERT_OK(cudaStreamEndCapture(stream, &ended));
  EXPECT_EQ(graph, ended);
  EXPECT_OK(cudaGraphDestroy(ended));
}

TEST(Capture, EndsWithItsStreamOrThread) {
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreate(&stream));
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASSERT_OK(cudaStreamDestroy(stream));
  std::thread([] { EXPECT_OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeGlobal)); }).join();
  // Nothing captures any more: what captures forbid is allowed.
  EXPECT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(Capture, EventsDoNotCrossItsBorder) {
  Stream stream(cudaStreamNonBlocking);
  Stream outside(cudaStreamNonBlocking);
  Event before;
  Event inside;
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaEventRecord(before, outside));
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_ERROR(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, before, 0));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));

  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaEventRecord(inside, stream));
  EXPECT_ERROR(cudaErrorCapturedEvent, cudaEventSynchronize(inside));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_ERROR(cudaErrorCapturedEvent, cudaEventQuery(inside));
  ASSERT_OK(cudaEventRecord(inside, outside));
  EXPECT_OK(cudaEventQuery(inside));
}

TEST(Capture, EndsOnlyWhereItBegan) {
  Stream stream;
  cudaGraph_t graph = nullptr;
  EXPECT_ERROR(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_ERROR(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::thread([&] { EXPECT_ERROR(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stream, &graph)); }).join();
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(0u, nodeCount(graph));
  EXPECT_OK(cudaGraphDestroy(graph));
}

TEST(Capture, TwoCapturesMayNotMerge) {
  Stream first(cudaStreamNonBlocking);
  Stream second(cudaStreamNonBlocking);
  Event event;
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaEventRecord(event, first));
  EXPECT_ERROR(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(second, event, 0));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(first, &graph));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(second, &graph));
}

TEST(Capture, AllocationsBelongToTheGraph) {
  Stream stream(cudaStreamNonBlocking);
  int* pointer = nullptr;
  int back = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaMallocAsync(&pointer, sizeof(int), stream));
  ASSERT_OK(cudaMemsetAsync(pointer, 3, sizeof(int), stream));
  ASSERT_OK(cudaMemcpyAsync(&back, pointer, sizeof(int), cudaMemcpyDefault, stream));
  ASSERT_OK(cudaFreeAsync(pointer, stream));
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_OK(cudaGraphDestroy(graph));
  for (int i = 0; i < 2; ++i) {
    back = 0;
    ASSERT_OK(cudaGraphLaunch(exec, stream));
    ASSERT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(0x03030303, back);
  }
  ASSERT_OK(cudaGraphExecDestroy(exec));
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, pointer));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
}

TEST(Capture, ExternalEventsAreNodes) {
  Stream stream(cudaStreamNonBlocking);
  Event event;
  Gate gate;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASSERT_OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  ASSERT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(1u, nodeCount(graph));
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  gate.put(stream);
  ASSERT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaEventQuery(event));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

TEST(Capture, GoesIntoAGivenGraph) {
  Stream stream(cudaStreamNonBlocking);
  Log log;
  cudaGraph_t graph = nullptr;
  cudaGraph_t ended = nullptr;
  cudaGraphNode_t first = nullptr;
  ASSERT_OK(cudaGraphCreate(&graph, 0));
  ASSERT_OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  ASSERT_OK(cudaStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, cudaStreamCaptureModeRelaxed));
  log.put(stream, 1);
  ASSERT_OK(cudaStreamEndCapture(stream, &ended));
  EXPECT_EQ(graph, ended);
  size_t roots = 0;
  ASSERT_OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(1u, roots);
  EXPECT_EQ(2u, nodeCount(graph));
  EXPECT_OK(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace hostcuda_test
