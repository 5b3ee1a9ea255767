// What only a GPU compiler understands: kernel declarations, conversions in PTX, exchange within a warp. A test
// replaces this file by one for the host, so that every kernel also runs without a GPU.
#pragma once

#include "wanted_kernels.cuh"

// A launch may begin before the one in front of it in the stream has ended (driver/compiler.cpp): here it waits for the
// memory that that one writes, and lets the next one come.
__device__ __forceinline__ void afterPredecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Of the driver, which resolves it when it loads the code: the value that a conditional node of a graph looks at.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
__device__ inline void setCondition(unsigned long long handle, bool holds) {
  cudaGraphSetConditional(handle, holds ? 1u : 0u);
}

// A kernel takes one parameter struct, called p.
#define KERNEL_OF(bounds, name, Parameters, wait)                                    \
  KERNEL_IF_WANTED(                                                                  \
      name, Parameters, __device__ void name##_body(const Parameters& p);            \
      extern "C" __global__ void bounds name(const __grid_constant__ Parameters p) { \
        wait;                                                                        \
        name##_body(p);                                                              \
      } __device__ __forceinline__ void name##_body(const Parameters& p))
#define KERNEL(name, Parameters) KERNEL_OF(, name, Parameters, afterPredecessor())
// One that is launched in blocks of more than 256 threads, or of which so many shall fit a multiprocessor.
#define KERNEL_BOUNDED(bounds, name, Parameters) KERNEL_OF(bounds, name, Parameters, afterPredecessor())
// One for which no wait is inserted: it calls afterPredecessor() before it reads or writes what another launch writes.
#define KERNEL_WITHOUT_WAIT(bounds, name, Parameters) KERNEL_OF(bounds, name, Parameters, )

__device__ inline float halfToFloat(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline unsigned short floatToHalf(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
__device__ inline unsigned short floatToBfloat(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// The value, which the compiler cannot know: what is computed from it is not computed ahead of a loop.
__device__ __forceinline__ int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// 16 bytes to global memory, aligned to that, by one instruction: compilers part the assignment of a struct.
__device__ __forceinline__ void storeAtOnce(void* to, const unsigned (&words)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}

// The line of 128 bytes at this address of global memory comes as far as the cache.
__device__ __forceinline__ void fetchLine(const void* from) { asm volatile("prefetch.global.L2 [%0];" ::"l"(from)); }

// The larger of two numbers, or ones of two pairs of halves; a NaN wins.
__device__ __forceinline__ float maxFloats(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ unsigned maxHalves(unsigned a, unsigned b) {
  unsigned c;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}
__device__ __forceinline__ unsigned maxBfloats(unsigned a, unsigned b) {
  unsigned c;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}

// 2^x and a / b to two units in the last place; what is too small for a normal number is 0.
__device__ __forceinline__ float powerOfTwo(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float quickDivide(float a, float b) { return __fdividef(a, b); }

// One more at a counter in global memory; how many came before. What the block wrote before is seen by the block that
// comes last, when it reads with loadFresh(). All threads take part.
__device__ inline unsigned arrive(unsigned* counter) {
  __shared__ unsigned before;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) before = atomicAdd(counter, 1u);
  __syncthreads();
  __threadfence();
  return before;
}
// Blocks of a launch that all run at once meet at a counter in global memory: this block has come there, and then the
// wait until `count` have, counted on from meeting to meeting. What they wrote before is seen by all of them, when they
// read with loadFresh(). All threads take part.
__device__ inline void announceToBlocks(unsigned* counter) {
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ inline void waitForBlocks(unsigned* counter, unsigned count) {
  if (threadIdx.x == 0) {
    unsigned there;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(counter) : "memory");
    } while (there < count);
  }
  __syncthreads();
}
__device__ inline float loadFresh(const float* address) { return __ldcg(address); }

// The value of the lane whose number differs in the bits of `mask`; all 32 lanes take part.
template <typename T>
__device__ inline T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
// The value of the lane `delta` below; lanes below delta keep their own.
template <typename T>
__device__ inline T shuffleUp(T value, int delta) {
  return __shfl_up_sync(0xffffffffu, value, delta);
}
// The value of lane `from`, which may be another one for each.
template <typename T>
__device__ inline T shuffleFrom(T value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
// The value of the first lane, which the compiler then knows to be the same in all of them.
__device__ __forceinline__ int ofFirstLane(int value) { return __shfl_sync(0xffffffffu, value, 0); }
// All lanes have come here, and what they wrote to shared memory is seen by all.
__device__ __forceinline__ void syncWarp() { __syncwarp(); }
// Adds to a number in shared memory, whatever other threads of the block add; returns what was there.
__device__ inline unsigned addShared(unsigned* to, unsigned value) { return atomicAdd(to, value); }
// The same in global memory, whatever other blocks add.
__device__ inline unsigned addGlobal(unsigned* to, unsigned value) { return atomicAdd(to, value); }
// Sets bits in shared memory, whatever other threads of the block set.
__device__ inline void setShared(unsigned* to, unsigned bits) { atomicOr(to, bits); }
// A bit for each lane of the warp: whether it holds there. All 32 lanes take part.
__device__ inline unsigned votesOf(bool holds) { return __ballot_sync(0xffffffffu, holds); }
__device__ inline int countBits(unsigned bits) { return __popc(bits); }
__device__ inline int countBits(unsigned long long bits) { return __popcll(bits); }
// The lowest bit that is set; there is one.
__device__ inline int lowestBit(unsigned long long bits) { return __ffsll((long long)bits) - 1; }
// A product that is rounded by itself: never part of a fused multiplication and addition.
__device__ inline double product(double a, double b) { return __dmul_rn(a, b); }
