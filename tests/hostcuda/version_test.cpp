// What differs between CUDA 12 and 13: names, structures, arguments; and the names of the per-thread default stream.
#include <dlfcn.h>

#include <cstring>

#include "support.h"

namespace hostcuda_test {
namespace {

template <class Function>
Function* symbol(const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  EXPECT_NE(nullptr, found) << name;
  return found;
}

TEST(Version, AdviceAndPrefetchNeedManagedMemory) {
  char* managed = nullptr;
  char* device = nullptr;
  ASSERT_OK(cudaMallocManaged(&managed, 1000));
  ASSERT_OK(cudaMalloc(&device, 1000));
#if CUDART_VERSION >= 13000
  cudaMemLocation place{};
  place.type = cudaMemLocationTypeDevice;
  const auto prefetch = [&](void* pointer, size_t size) {
    return cudaMemPrefetchAsync(pointer, size, place, 0, nullptr);
  };
  const auto advise = [&](void* pointer, size_t size) {
    return cudaMemAdvise(pointer, size, cudaMemAdviseSetReadMostly, place);
  };
#else
  const auto prefetch = [&](void* pointer, size_t size) { return cudaMemPrefetchAsync(pointer, size, 0, nullptr); };
  const auto advise = [&](void* pointer, size_t size) {
    return cudaMemAdvise(pointer, size, cudaMemAdviseSetReadMostly, cudaCpuDeviceId);
  };
#endif
  EXPECT_OK(prefetch(managed, 1000));
  EXPECT_OK(advise(managed + 10, 900));
  EXPECT_ERROR(cudaErrorInvalidValue, prefetch(managed, 1001));
  EXPECT_ERROR(cudaErrorInvalidValue, prefetch(device, 1000));
  EXPECT_ERROR(cudaErrorInvalidValue, advise(device, 1000));
  EXPECT_OK(cudaFree(managed));
  EXPECT_OK(cudaFree(device));
}

#if CUDART_VERSION < 13000
TEST(Version, OldPropertiesAreAPrefix) {
  cudaDeviceProp properties{};
  ASSERT_OK(cudaGetDeviceProperties(&properties, 0));
  unsigned char old[sizeof properties];
  std::memset(old, 0xee, sizeof old);
#undef cudaGetDeviceProperties
  ASSERT_OK(symbol<cudaError_t(void*, int)>("cudaGetDeviceProperties")(old, 0));
  const size_t size = offsetof(cudaDeviceProp, hostRegisterSupported);
  EXPECT_EQ(0, std::memcmp(&properties, old, size));
  EXPECT_EQ(0xee, old[size]);
}

TEST(Version, NamesWithANumberTakeMoreArguments) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t nodes[2] = {};
  ASSERT_OK(cudaGraphCreate(&graph, 0));
  ASSERT_OK(cudaGraphAddEmptyNode(&nodes[0], graph, nullptr, 0));
  ASSERT_OK(cudaGraphAddEmptyNode(&nodes[1], graph, nullptr, 0));
  ASSERT_OK(cudaGraphAddDependencies_v2(graph, &nodes[0], &nodes[1], nullptr, 1));
  size_t count = 1;
  cudaGraphNode_t from = nullptr;
  cudaGraphNode_t to = nullptr;
  cudaGraphEdgeData edge;
  std::memset(&edge, 0xee, sizeof edge);
  ASSERT_OK(cudaGraphGetEdges_v2(graph, &from, &to, &edge, &count));
  EXPECT_EQ(1u, count);
  EXPECT_EQ(nodes[0], from);
  EXPECT_EQ(nodes[1], to);
  EXPECT_EQ(0, edge.type);
  ASSERT_OK(cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], 1));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &nodes[0], &nodes[1], 1));
  EXPECT_OK(cudaGraphDestroy(graph));
}
#endif

TEST(Version, PerThreadNamesTakeZeroForTheThreadsOwnStream) {
  auto* query = symbol<cudaError_t(cudaStream_t)>("cudaStreamQuery_ptsz");
  auto* launch = symbol<cudaError_t(cudaStream_t, cudaHostFn_t, void*)>("cudaLaunchHostFunc_ptsz");
  auto* identify = symbol<cudaError_t(cudaStream_t, unsigned long long*)>("cudaStreamGetId_ptsz");
  unsigned long long own = 0;
  unsigned long long named = 1;
  unsigned long long legacy = 0;
  ASSERT_OK(identify(nullptr, &own));
  ASSERT_OK(cudaStreamGetId(cudaStreamPerThread, &named));
  ASSERT_OK(cudaStreamGetId(nullptr, &legacy));
  EXPECT_EQ(named, own);
  EXPECT_NE(legacy, own);
  std::atomic<bool> isOpen{false};
  ASSERT_OK(launch(
      nullptr,
      [](void* flag) {
        while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::sleep_for(std::chrono::microseconds(100));
      },
      &isOpen));
  EXPECT_ERROR(cudaErrorNotReady, query(nullptr));
  std::thread([&] { EXPECT_OK(query(nullptr)); }).join();
  isOpen = true;
  EXPECT_OK(cudaStreamSynchronize(cudaStreamPerThread));
}

}  // namespace
}  // namespace hostcuda_test
