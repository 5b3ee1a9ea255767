// What only a GPU compiler understands: kernel declarations, conversions in PTX, exchange within a warp. A test replaces
// this file by one for the host, so that every kernel also runs without a GPU.
#pragma once

// A kernel takes one parameter struct, called p.
#define KERNEL(name, Parameters) extern "C" __global__ void name(const __grid_constant__ Parameters p)
// One that is also launched in blocks of 1024 threads.
#define KERNEL_1024(name, Parameters) extern "C" __global__ void __launch_bounds__(1024) name(const __grid_constant__ Parameters p)

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
