// wgmma on random halves for a good second each: rate, clock and power. Both operands lie in shared memory.
#include <chrono>
#include <thread>

#include "limits.h"

namespace {

constexpr int kStages = 4;    // pieces of 64 along K that products go through in turn
constexpr int kRow = 128;     // bytes: 64 halves, swizzled
constexpr int kTiles = 4000;  // each of kStages * 64 along K

__device__ __forceinline__ unsigned long long operand(unsigned address) {
  return 1ull << 62 | (1024ull >> 4) << 32 | 1ull << 16 | (address & 0x3ffff) >> 4;
}

#define R8(b) "%" #b "0,%" #b "1,%" #b "2,%" #b "3,%" #b "4,%" #b "5,%" #b "6,%" #b "7,%" #b "8,%" #b "9"
#define FIRST_9 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9"
#define F4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define F24(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12), F4(i + 16), F4(i + 20)
#define F64(i) F24(i), F24(i + 24), F4(i + 48), F4(i + 52), F4(i + 56), F4(i + 60)
#define WGMMA(n, registers, a, b, more)                                                                          \
  "{.reg .pred p; setp.ne.b32 p, " more ", 0; wgmma.mma_async.sync.aligned.m64n" n "k16.f32.f16.f16 {" registers \
  "}, " a ", " b ", p, 1, 1, 0, 0;}"

template <int kColumns>
__device__ __forceinline__ void multiply(float* c, unsigned long long a, unsigned long long b, int more) {
  if constexpr (kColumns == 48) {
    asm volatile(WGMMA("48", FIRST_9 "," R8(1) ",%20,%21,%22,%23", "%24", "%25", "%26")
                 : F24(0)
                 : "l"(a), "l"(b), "r"(more));
  } else {
    asm volatile(WGMMA("256",
                       FIRST_9 "," R8(1) "," R8(2) "," R8(3) "," R8(4) "," R8(5) "," R8(6) "," R8(7) "," R8(8) "," R8(
                           9) "," R8(10) "," R8(11) ",%120,%121,%122,%123,%124,%125,%126,%127",
                       "%128", "%129", "%130")
                 : F64(0), F64(64)
                 : "l"(a), "l"(b), "r"(more));
  }
}

// Groups of four warps, each with 64 rows of its own and all with the same columns.
template <int kColumns, int kGroups>
__global__ void __launch_bounds__(128 * kGroups) products(const uint4* data, float* out, double* clock) {
  extern __shared__ __align__(1024) unsigned char memory[];
  constexpr int kRowsBytes = 64 * kGroups * kRow;
  constexpr int kStageBytes = kRowsBytes + kColumns * kRow;
  for (int i = static_cast<int>(threadIdx.x); i < kStages * kStageBytes / 16; i += 128 * kGroups) {
    reinterpret_cast<uint4*>(memory)[i] = data[blockIdx.x * 1000 + i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned base = sharedAddress(memory);
  const unsigned rows = base + threadIdx.x / 128 * 64 * kRow;
  float c[kColumns / 2] = {};
  const long long begin = clock64();
  unsigned long long nanoseconds, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        multiply<kColumns>(c, operand(rows + stage * kStageBytes + k * 32),
                           operand(base + stage * kStageBytes + kRowsBytes + k * 32), stage + k > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  if (threadIdx.x == 0)
    clock[blockIdx.x] = static_cast<double>(clock64() - begin) / static_cast<double>(later - nanoseconds);
  float sum = 0;
  for (float value : c) sum += value;
  if (sum == 12345.f) out[0] = sum;
}

std::string power() {
  FILE* pipe = popen("nvidia-smi --query-gpu=power.draw,clocks.sm --format=csv,noheader", "r");
  char text[128] = {};
  if (pipe == nullptr) return "";
  const bool read = std::fgets(text, sizeof text, pipe) != nullptr;
  pclose(pipe);
  std::string result = read ? text : "";
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

template <int kColumns, int kGroups>
void measure(int perMultiprocessor) {
  constexpr int kShared = kStages * (64 * kGroups + kColumns) * kRow;
  const int blocks = perMultiprocessor * chip().multiprocessors;
  const auto* data =
      static_cast<const uint4*>(randomHalves(8u * (1000u * static_cast<unsigned>(blocks) + kShared / 16)));
  float* out;
  double* clock;
  CHECK(cudaMalloc(&out, sizeof(float)));
  CHECK(cudaMalloc(&clock, sizeof(double) * static_cast<size_t>(blocks)));
  const auto run = [&] {
    launch(products<kColumns, kGroups>, blocks, 128 * kGroups, kShared, 1, false, nullptr, data, out, clock);
  };
  const double once = milliseconds(nullptr, run);
  const int launches = static_cast<int>(1500 / once) + 1;
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  for (int i = 0; i < launches; ++i) run();
  CHECK(cudaEventRecord(stop));
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  const auto drawn = power();
  CHECK(cudaEventSynchronize(stop));
  float time = 0;
  CHECK(cudaEventElapsedTime(&time, start, stop));
  std::vector<double> clocks(static_cast<size_t>(blocks));
  CHECK(cudaMemcpy(clocks.data(), clock, sizeof(double) * clocks.size(), cudaMemcpyDeviceToHost));
  const double operations = 2.0 * 64 * kGroups * kColumns * 64 * kStages * kTiles * blocks * launches;
  const double rate = operations / time / 1e9;
  const double gigahertz = median(clocks);
  char what[128], remark[160];
  std::snprintf(what, sizeof what, "%d x %d, %d block%s a multiprocessor", 64 * kGroups, kColumns, perMultiprocessor,
                perMultiprocessor > 1 ? "s" : "");
  const double perClock = rate * 1e3 / 2 / gigahertz / chip().multiprocessors;
  std::snprintf(remark, sizeof remark, "%.0f multiply-adds a clock and multiprocessor at %.2f GHz; nvidia-smi: %s",
                perClock, gigahertz, drawn.c_str());
  report(what, rate, "TFLOP/s", remark);
  CHECK(cudaFree(const_cast<uint4*>(data)));
  CHECK(cudaFree(out));
  CHECK(cudaFree(clock));
}

}  // namespace

void measureProducts() {
  std::printf("\nwgmma, f16 with f32 sums, random operands\n");
  measure<48, 1>(1);
  measure<48, 1>(2);
  measure<48, 1>(3);
  measure<256, 2>(1);
}
