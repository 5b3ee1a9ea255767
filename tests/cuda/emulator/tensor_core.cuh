// The host's form of tensor_core.cuh: what a warp does together is computed by each lane from what all lanes show;
// copies arrive when their thread waits for them, not before; wrong addresses end the program.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "prelude.cuh"

#define DYNAMIC_SHARED(name, bytes) alignas(1024) static unsigned char name[bytes]

struct EmulatedCopy {
  void* to;
  const void* from;
  bool inside;
};
struct EmulatedCopies {
  EmulatedCopy copy[512];
  int first, last;  // those that have not arrived
  int group[16];    // where each open group of copies ends
  int groups;
};
extern "C" {
inline EmulatedCopies tenon_emulated_copies[1024];
}

inline void copyAsync(void* shared, const void* global, bool inside) {
  emulatedCheck(((size_type)shared | (size_type)global) % 16 == 0, "a copy of 16 bytes is not aligned");
  auto& mine = tenon_emulated_copies[threadIdx.x];
  emulatedCheck(mine.last < 512, "too many copies under way");
  mine.copy[mine.last++] = {shared, global, inside};
}
typedef unsigned char* SharedAddress;
inline SharedAddress sharedAddress(unsigned char* pointer) { return pointer; }
inline void copyAsyncTo(SharedAddress shared, const void* global) { copyAsync(shared, global, true); }
inline void closeCopies() {
  auto& mine = tenon_emulated_copies[threadIdx.x];
  emulatedCheck(mine.groups < 16, "too many groups of copies under way");
  mine.group[mine.groups++] = mine.last;
}
template <int kPending>
inline void waitForCopies() {
  auto& mine = tenon_emulated_copies[threadIdx.x];
  while (mine.groups > kPending) {
    for (; mine.first < mine.group[0]; ++mine.first) {
      const auto& copy = mine.copy[mine.first];
      if (copy.inside) memcpy(copy.to, copy.from, 16);
      else memset(copy.to, 0, 16);
    }
    for (int i = 1; i < mine.groups; ++i) mine.group[i - 1] = mine.group[i];
    --mine.groups;
  }
  if (mine.groups == 0) mine.first = mine.last = 0;
}
inline void waitForWarp() { shuffleXor(0, 1); }

inline void emulatedLoad(unsigned (&r)[4], const void* row, bool transposed) {
  emulatedCheck((size_type)row % 16 == 0, "a row of a matrix is not aligned");
  const char* const all = tenon_emulator.collect(&row, sizeof(row));
  const auto rowOf = [&](int lane) { return *(const unsigned char* const*)(all + lane * kEmulatedWord); };
  const int high = emulatedLane() / 4;
  const int low = emulatedLane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    unsigned short pair[2];
    for (int k = 0; k < 2; ++k)
      memcpy(&pair[k], rowOf(8 * i + (transposed ? low + k : high)) + 2 * (transposed ? high : low + k), 2);
    memcpy(&r[i], pair, 4);
  }
}
inline void loadMatrices(unsigned (&r)[4], const void* row) { emulatedLoad(r, row, false); }
inline void loadMatricesTransposed(unsigned (&r)[4], const void* row) { emulatedLoad(r, row, true); }
inline void storeMatricesTransposed(void* row, const unsigned (&r)[4]) {
  emulatedCheck((size_type)row % 16 == 0, "a row of a matrix is not aligned to 16 bytes");
  for (int i = 0; i < 4; ++i) {
    for (int e = 0; e < 2; ++e) {
      auto* const to = (unsigned short*)shuffleFrom(row, 8 * i + emulatedLane() % 4 * 2 + e);
      to[emulatedLane() / 4] = (unsigned short)(r[i] >> 16 * e);
    }
  }
  waitForWarp();
}

struct tf32 {};
inline unsigned bitsOf(float value) { return (unsigned)__float_as_int(value); }
inline unsigned roundedToTf32(unsigned bits) {  // to 11 bits, ties away from zero
  const bool finite = (bits >> 23 & 255) != 255;
  return finite ? (bits + 0x1000) & ~0x1fffu : bits;
}
inline unsigned restOfTf32(unsigned bits, unsigned rounded) {
  return roundedToTf32(bitsOf(__int_as_float((int)bits) - __int_as_float((int)rounded)));
}

// How many elements a register of a product holds, and one of them.
template <typename T>
struct EmulatedRegister {  // halves
  static const int kElements = 2;
  static float element(unsigned bits, int k) {
    T element;
    element.bits = (unsigned short)(bits >> 16 * k);
    return Element<T>::load(element);
  }
};
template <>
struct EmulatedRegister<f32> {
  static const int kElements = 1;
  static float element(unsigned bits, int) { return __int_as_float((int)bits); }
};
template <>
struct EmulatedRegister<tf32> {
  static const int kElements = 1;
  static float element(unsigned bits, int) { return __int_as_float((int)roundedToTf32(bits)); }
};

template <typename T>
inline void multiplyAdd(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  constexpr int n = EmulatedRegister<T>::kElements;
  struct Operands {
    float a[4 * n], b[2 * n];
  };
  static_assert(sizeof(Operands) <= kEmulatedWord, "what a lane can show");
  Operands mine;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < 4; ++i) mine.a[i * n + k] = EmulatedRegister<T>::element(a[i], k);
    mine.b[k] = EmulatedRegister<T>::element(b0, k);
    mine.b[n + k] = EmulatedRegister<T>::element(b1, k);
  }
  const char* const all = tenon_emulator.collect(&mine, sizeof(mine));
  const auto of = [&](int lane) -> const Operands& { return *(const Operands*)(all + lane * kEmulatedWord); };
  const int g = emulatedLane() / 4;  // rows g, g + 8, columns t, t + 1
  const int t = emulatedLane() % 4 * 2;
  for (int side = 0; side < 2; ++side) {  // in the first or second four registers' columns
    for (int lane = 0; lane < 4; ++lane) {
      const float* const rows = of(4 * g + lane).a + 2 * side * n;
      const float* const left = of(4 * t + lane).b + side * n;
      const float* const right = of(4 * t + 4 + lane).b + side * n;
      for (int k = 0; k < n; ++k) {
        c[0] += rows[k] * left[k];
        c[1] += rows[k] * right[k];
        c[2] += rows[n + k] * left[k];
        c[3] += rows[n + k] * right[k];
      }
    }
  }
}

inline void multiplyRounded(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  multiplyAdd<tf32>(c, a, b0, b1);
}

template <typename T>
inline unsigned packed(float low, float high) {
  return Element<T>::store(low).bits | (unsigned)Element<T>::store(high).bits << 16;
}
template <typename T>
inline unsigned packedFinite(float low, float high) {  // f16
  const float limit = 65504.f;
  const auto clipped = [&](float value) { return value < -limit ? -limit : value > limit ? limit : value; };
  return packed<T>(clipped(low), clipped(high));
}
