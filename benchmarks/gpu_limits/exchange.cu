// Between blocks: sums of 64 x 96 floats joined over a cluster through shared memory, and a counter in global memory
// from all blocks to all.
#include "limits.h"

namespace {

constexpr int kThreads = 128;
constexpr int kTile = 64 * 96;
constexpr int kRounds = 200;

// Registers into shared memory, a barrier, then each block adds up its part of all blocks' in order and writes it. Two
// buffers take turns, so that one barrier is enough.
template <int kCluster, bool kJoin>
__global__ void __launch_bounds__(kThreads) join(float* out, double* cycles) {
  extern __shared__ __align__(16) float4 tiles[];
  constexpr int kEach = kTile / 4 / kThreads;  // packs of a thread
  const unsigned rank = kCluster > 1 ? clusterRank() : 0;
  float4 sums[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) sums[i] = make_float4(threadIdx.x, i, rank, 1);
  if (kCluster > 1) clusterBarrier();
  const long long begin = clock64();
  for (int round = 0; round < kRounds; ++round) {
    float4* const tile = tiles + round % 2 * (kTile / 4);
    if (kJoin) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) tile[i * kThreads + threadIdx.x] = sums[i];
    }
    if (kCluster > 1) clusterBarrier();
    if (!kJoin) continue;
    constexpr int kPart = kTile / 4 / kCluster;
    for (unsigned at = threadIdx.x; at < kPart; at += kThreads) {
      const unsigned address = sharedAddress(tile + rank * kPart + at);
      float4 sum = make_float4(0, 0, 0, 0);
      float4 parts[kCluster];
#pragma unroll
      for (unsigned other = 0; other < kCluster; ++other) {
        auto& p = parts[other];
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(p.x), "=f"(p.y), "=f"(p.z), "=f"(p.w)
                     : "r"(remote(address, other))
                     : "memory");
      }
#pragma unroll
      for (unsigned other = 0; other < kCluster; ++other) {
        sum.x += parts[other].x;
        sum.y += parts[other].y;
        sum.z += parts[other].z;
        sum.w += parts[other].w;
      }
      reinterpret_cast<float4*>(out)[blockIdx.x * kPart + at] = sum;
      sums[0].x += sum.x * 1e-9f;
    }
  }
  if (threadIdx.x == 0) cycles[blockIdx.x] = static_cast<double>(clock64() - begin) / kRounds;
  if (kCluster > 1) clusterBarrier();
}

template <int kCluster, bool kJoin>
void measureJoin(const char* name) {
  constexpr int kShared = 2 * kTile * 4;
  const int blocks = residentBlocks(join<kCluster, kJoin>, kThreads, kShared, kCluster);
  float* out;
  double* cycles;
  CHECK(cudaMalloc(&out, sizeof(float) * kTile * static_cast<size_t>(blocks)));
  CHECK(cudaMalloc(&cycles, sizeof(double) * static_cast<size_t>(blocks)));
  for (int i = 0; i < 3; ++i)
    launch(join<kCluster, kJoin>, blocks, kThreads, kShared, kCluster, false, nullptr, out, cycles);
  std::vector<double> each(static_cast<size_t>(blocks));
  CHECK(cudaMemcpy(each.data(), cycles, sizeof(double) * each.size(), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(out));
  CHECK(cudaFree(cycles));
  report(std::string(name) + ", cluster of " + std::to_string(kCluster), median(each), "cycles",
         std::to_string(blocks) + " blocks");
}

// A barrier of all blocks: each adds one, then waits until all have. With kData a value of another block is read behind
// it.
template <bool kData>
__global__ void __launch_bounds__(kThreads) meet(unsigned* counter, float* values, double* nanoseconds) {
  unsigned long long begin, end;
  float value = threadIdx.x;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  for (unsigned round = 1; round <= kRounds; ++round) {
    float* const mine = values + round % 2 * gridDim.x * kThreads;
    if (kData) mine[blockIdx.x * kThreads + threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
      unsigned seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
      } while (seen < round * gridDim.x);
    }
    __syncthreads();
    if (kData) value += __ldcg(mine + (blockIdx.x + 1) % gridDim.x * kThreads + threadIdx.x);
  }
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
  if (threadIdx.x == 0) nanoseconds[blockIdx.x] = static_cast<double>(end - begin) / kRounds;
  if (value == 12345.f) values[0] = 0;
}

template <bool kData>
void measureMeeting(const char* name) {
  const int blocks = chip().multiprocessors;
  unsigned* counter;
  float* values;
  double* times;
  CHECK(cudaMalloc(&counter, sizeof(unsigned)));
  CHECK(cudaMalloc(&values, 2 * sizeof(float) * kThreads * static_cast<size_t>(blocks)));
  CHECK(cudaMalloc(&times, sizeof(double) * static_cast<size_t>(blocks)));
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaMemset(counter, 0, sizeof(unsigned)));
    launch(meet<kData>, blocks, kThreads, 0, 1, false, nullptr, counter, values, times);
  }
  std::vector<double> each(static_cast<size_t>(blocks));
  CHECK(cudaMemcpy(each.data(), times, sizeof(double) * each.size(), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(counter));
  CHECK(cudaFree(values));
  CHECK(cudaFree(times));
  report(name, median(each), "ns", std::to_string(blocks) + " blocks");
}

}  // namespace

void measureExchange() {
  std::printf("\nbetween blocks\n");
  measureJoin<2, false>("barrier");
  measureJoin<4, false>("barrier");
  measureJoin<8, false>("barrier");
  measureJoin<1, true>("64 x 96 f32 through shared memory to global");
  measureJoin<2, true>("64 x 96 f32 joined and written");
  measureJoin<4, true>("64 x 96 f32 joined and written");
  measureJoin<8, true>("64 x 96 f32 joined and written");
  measureMeeting<false>("counter in global memory, all to all");
  measureMeeting<true>("the same, a value of a neighbour read behind it");
}
