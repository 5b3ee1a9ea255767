// What warps do on tensor cores, in PTX of sm_80 and later: products of 16 x 8, loads of their operands from shared
// memory, copies to shared memory in the background. A test replaces this file by one for the host.
#pragma once

#include "prelude.cuh"

// Shared memory whose size the launch gives; `bytes` is that size.
#define DYNAMIC_SHARED(name, bytes) extern __shared__ __align__(1024) unsigned char name[]

typedef unsigned SharedAddress;
__device__ __forceinline__ SharedAddress sharedAddress(const void* pointer) {
  return (unsigned)__cvta_generic_to_shared(pointer);
}

// 16 bytes to shared memory, both sides aligned to that; zeros where not `inside` (then nothing is read).
__device__ __forceinline__ void copyAsync(void* shared, const void* global, bool inside) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(shared)), "l"(global), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copyAsyncTo(SharedAddress shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
// Ends a group of copies of this thread; waits until all but its latest kPending groups have arrived.
__device__ __forceinline__ void closeCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
// Lanes of a warp see what all of them have written or waited for.
__device__ __forceinline__ void waitForWarp() { __syncwarp(); }

// Four matrices of 8 x 8 elements of 16 bits: lane 8 i + r gives the address of row r of matrix i, and gets of each
// matrix the two neighbours at row lane / 4 from column lane % 4 * 2; transposed: those at column lane / 4 from row
// lane % 4 * 2.
__device__ __forceinline__ void loadMatrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row)));
}
__device__ __forceinline__ void loadMatricesTransposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row)));
}

// The other way, on chips of sm_90 and later: what loadMatricesTransposed() gave goes back to the rows.
__device__ __forceinline__ void storeMatricesTransposed(void* row, const unsigned (&r)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(sharedAddress(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
#endif
}

// Products beside those of f16 and bf16: f32 operands rounded to 11 bits, or each as the sum of two such (three
// products; the fourth is below f32's last place).
struct tf32 {};

__device__ __forceinline__ unsigned bitsOf(float value) { return (unsigned)__float_as_int(value); }
__device__ __forceinline__ unsigned roundedToTf32(unsigned bits) {
  unsigned result;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;"
      : "=r"(result)
      : "f"(__int_as_float((int)bits)));  // one instruction; the other is three
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(__int_as_float((int)bits)));
#endif
  return result;
}
__device__ __forceinline__ unsigned restOfTf32(unsigned bits, unsigned rounded) {
  return roundedToTf32(bitsOf(__int_as_float((int)bits) - __int_as_float((int)rounded)));
}

// c += a b. Halves: a of 16 x 16, b of 16 x 8. With g = lane / 4 and t = lane % 4 * 2, each register two neighbours: a
// is rows g, g + 8, g, g + 8 from columns t, t, t + 8, t + 8; b is column g from rows t, t + 8; c is rows g, g, g + 8,
// g + 8 at columns t, t + 1, t, t + 1. tf32 and f32: a of 16 x 8, b of 8 x 8, a register one element, t = lane % 4: a
// is rows g, g + 8, g, g + 8 at columns t, t, t + 4, t + 4; b is column g at rows t, t + 4; c as for halves.
template <typename T>
__device__ void multiplyAdd(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
#define TENSOR_PRODUCT(shape, type, c, a, b0, b1)                      \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "                   \
               "{%8,%9}, {%0,%1,%2,%3};"                               \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
template <>
__device__ __forceinline__ void multiplyAdd<f16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  TENSOR_PRODUCT("m16n8k16", "f16", c, a, b0, b1);
}
template <>
__device__ __forceinline__ void multiplyAdd<bf16>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  TENSOR_PRODUCT("m16n8k16", "bf16", c, a, b0, b1);
}
template <>
__device__ __forceinline__ void multiplyAdd<tf32>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned left[4] = {roundedToTf32(a[0]), roundedToTf32(a[1]), roundedToTf32(a[2]), roundedToTf32(a[3])};
  TENSOR_PRODUCT("m16n8k8", "tf32", c, left, roundedToTf32(b0), roundedToTf32(b1));
}
template <>
__device__ __forceinline__ void multiplyAdd<f32>(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned left[4] = {roundedToTf32(a[0]), roundedToTf32(a[1]), roundedToTf32(a[2]), roundedToTf32(a[3])};
  const unsigned leftRest[4] = {restOfTf32(a[0], left[0]), restOfTf32(a[1], left[1]), restOfTf32(a[2], left[2]),
                                restOfTf32(a[3], left[3])};
  const unsigned right0 = roundedToTf32(b0);
  const unsigned right1 = roundedToTf32(b1);
  TENSOR_PRODUCT("m16n8k8", "tf32", c, leftRest, right0, right1);
  TENSOR_PRODUCT("m16n8k8", "tf32", c, left, restOfTf32(b0, right0), restOfTf32(b1, right1));
  TENSOR_PRODUCT("m16n8k8", "tf32", c, left, right0, right1);
}
// c += a b as for tf32, of operands that are rounded already.
__device__ __forceinline__ void multiplyRounded(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  TENSOR_PRODUCT("m16n8k8", "tf32", c, a, b0, b1);
}
#undef TENSOR_PRODUCT

// Two values in one register, `low` first in memory.
template <typename T>
__device__ unsigned packed(float low, float high);
template <>
__device__ __forceinline__ unsigned packed<f16>(float low, float high) {
  unsigned bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
template <>
__device__ __forceinline__ unsigned packed<bf16>(float low, float high) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
// The same, with the greatest finite number for what is beyond it; a NaN stays one.
template <typename T>
__device__ unsigned packedFinite(float low, float high);
template <>
__device__ __forceinline__ unsigned packedFinite<f16>(float low, float high) {
  unsigned bits;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
