// The host's form of intrinsics.cuh: kernels become functions that run one thread; the emulated driver calls
// them for each thread and tells them by tenon_emulator which one they are.
#pragma once

#include <cstddef>
// Of the special functions of C++17, which take as long to read as all else here, kernels use none.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#include <math.h>  // the C++ one: overloads for float
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wanted_kernels.cuh"

typedef decltype(sizeof(0)) size_type;
constexpr int kEmulatedWord = 64;  // bytes that a lane can show to its warp
struct EmulatedIndex {
  unsigned x, y, z;
};
struct Emulator {
  EmulatedIndex thread, block, blockSize, gridSize;
  void (*barrier)();                                                           // __syncthreads
  void (*exchange)(const void* mine, void* other, size_type bytes, int lane);  // with a lane of the warp
  const char* (*collect)(const void* mine, size_type bytes);  // of all lanes, kEmulatedWord apart, until the next one
  unsigned blockOfCluster, blocksOfCluster;
  void (*pause)();            // lets the other threads go on; the thread asks again for what it waits for
  void (*arriveAtCluster)();  // and the wait for all threads of all its blocks to arrive as often
  void (*waitForCluster)();
};
extern "C" {
inline Emulator tenon_emulator __attribute__((visibility("default"), used));
}
#define threadIdx tenon_emulator.thread
#define blockIdx tenon_emulator.block
#define blockDim tenon_emulator.blockSize
#define gridDim tenon_emulator.gridSize

#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)
// The driver copies the parameters of launches that it records.
#define KERNEL(name, Parameters)                                                                      \
  KERNEL_IF_WANTED(                                                                                   \
      name, Parameters, extern "C" {                                                                  \
        __attribute__((visibility("default"), used)) unsigned long name##_bytes = sizeof(Parameters); \
      } extern "C" __attribute__((visibility("default"))) void name(const Parameters& p))
#define KERNEL_BOUNDED(bounds, name, Parameters) KERNEL(name, Parameters)
#define KERNEL_WITHOUT_WAIT(bounds, name, Parameters) KERNEL(name, Parameters)
inline void afterPredecessor() {}
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

inline void setCondition(unsigned long long handle, bool holds) { *(unsigned*)handle = holds ? 1 : 0; }
inline void __syncthreads() { tenon_emulator.barrier(); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline float __int_as_float(int bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
inline int __float_as_int(float f) {
  int bits;
  memcpy(&bits, &f, 4);
  return bits;
}
inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
template <typename T>
inline T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
inline T max(T a, T b) {
  return a < b ? b : a;
}

inline void storeAtOnce(void* to, const unsigned (&words)[4]) { memcpy(to, words, 16); }
inline void fetchLine(const void*) {}
inline int opaque(int value) { return value; }
// The compiler's own conversion is a call where the host's instructions have none. Exact: halves below the normal ones
// are normal floats.
inline float halfToFloat(unsigned short half) {
  const float magnitude = __int_as_float((half & 0x7fff) << 13) * 0x1p112f;
  const int bits = (half & 0x7c00) == 0x7c00 ? (half & 0x7fff) << 13 | 0x7f800000 : __float_as_int(magnitude);
  return __int_as_float(bits | (half & 0x8000) << 16);
}
inline unsigned short floatToHalf(float value) {
  const _Float16 narrow = (_Float16)value;
  unsigned short bits;
  memcpy(&bits, &narrow, 2);
  return bits;
}
inline unsigned short floatToBfloat(float value) {
  if (value != value) return 0x7fff;
  unsigned bits;
  memcpy(&bits, &value, 4);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float maxFloats(float a, float b) { return b > a || b != b ? b : a; }
inline unsigned maxHalves(unsigned a, unsigned b) {
  const auto larger = [](unsigned x, unsigned y) {
    return (unsigned)floatToHalf(maxFloats(halfToFloat((unsigned short)x), halfToFloat((unsigned short)y)));
  };
  return larger(a & 0xffff, b & 0xffff) | larger(a >> 16, b >> 16) << 16;
}
inline unsigned maxBfloats(unsigned a, unsigned b) {
  const auto value = [](unsigned bits) { return __int_as_float((int)(bits << 16)); };
  const auto larger = [&](unsigned x, unsigned y) { return (unsigned)floatToBfloat(maxFloats(value(x), value(y))); };
  return larger(a & 0xffff, b & 0xffff) | larger(a >> 16, b >> 16) << 16;
}
inline float powerOfTwo(float x) { return exp2f(x); }
inline float quickDivide(float a, float b) { return a / b; }
inline unsigned arrive(unsigned* counter) {
  static unsigned before;
  __syncthreads();
  if (threadIdx.x == 0) before = (*counter)++;
  __syncthreads();
  return before;
}
inline void emulatedCheck(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "emulator: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
  abort();
}
inline void announceToBlocks(unsigned* counter) {
  __syncthreads();
  if (threadIdx.x == 0) ++*counter;
  tenon_emulator.arriveAtCluster();
}
inline void waitForBlocks(unsigned* counter, unsigned count) {
  tenon_emulator.waitForCluster();
  emulatedCheck(*counter >= count, "blocks meet that are not all there");
}
inline float loadFresh(const float* address) { return *address; }
inline int emulatedLane() { return (int)(threadIdx.x % 32); }
template <typename T>
inline T shuffleXor(T value, int mask) {
  T other;
  tenon_emulator.exchange(&value, &other, sizeof(T), emulatedLane() ^ mask);
  return other;
}
template <typename T>
inline T shuffleFrom(T value, int from) {
  T other;
  tenon_emulator.exchange(&value, &other, sizeof(T), from);
  return other;
}
template <typename T>
inline T shuffleUp(T value, int delta) {
  T other;
  tenon_emulator.exchange(&value, &other, sizeof(T), emulatedLane() < delta ? emulatedLane() : emulatedLane() - delta);
  return other;
}
inline int ofFirstLane(int value) {
  int first;
  tenon_emulator.exchange(&value, &first, sizeof(int), 0);
  return first;
}
inline void syncWarp() { shuffleXor(0, 1); }
inline unsigned addShared(unsigned* to, unsigned value) {
  const unsigned before = *to;  // one thread runs at a time
  *to += value;
  return before;
}
inline unsigned addGlobal(unsigned* to, unsigned value) { return addShared(to, value); }
inline void setShared(unsigned* to, unsigned bits) { *to |= bits; }
inline unsigned votesOf(bool holds) {
  const unsigned char mine = holds;
  const char* const all = tenon_emulator.collect(&mine, sizeof mine);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= (unsigned)all[lane * kEmulatedWord] << lane;
  return bits;
}
inline int countBits(unsigned bits) { return __builtin_popcount(bits); }
inline int countBits(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int countBits(unsigned long bits) { return __builtin_popcountl(bits); }
inline int lowestBit(unsigned long long bits) { return __builtin_ctzll(bits); }
inline double product(double a, double b) { return a * b; }
