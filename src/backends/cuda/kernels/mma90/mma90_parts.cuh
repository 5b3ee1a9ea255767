// Products by warpgroups of f32 as it is: of each step the weights are two tiles of TF32 numbers, what tensor cores see
// of them and the rest. Warpgroups put the rest of the rows of x beside these and add up three products; that of both
// rests is left out. Tensor cores round sums towards zero, so that sums of a stage begin at zero and are added to those
// of the others apart.
#pragma once

#include "bulk_copies.cuh"
#include "mma90_products.cuh"
#include "warp_group.cuh"

// What a product of f32 leaves of an operand x to a second one: y, so that TF32 numbers near x and y have 21 bits of x
// together. y has the sign of x and is no zero, unless x is, so that an infinity times it is no NaN; of an infinity or
// a NaN it is the same.
__device__ __forceinline__ float restOf(float x) {
  constexpr float kLeast = 0x1p-40f;
  constexpr int kExponent = 0x7f800000, kHalf = 0x1000;
  const int bits = __float_as_int(x);
  const float seen = __int_as_float(bits & kSeenBits);
  const float rest = (x - seen) + seen * kLeast;
  return (bits & kExponent) == kExponent ? x : __int_as_float(__float_as_int(rest) + kHalf);
}

// Product: Mma90 with these groups.
template <typename Product, int kColumnGroups, int kInnerGroups>
struct Mma90Parts {
  typedef typename Product::Place Place;
  static const int kRows = Product::kRows;
  static const int kSteps = Product::kSteps;
  static const int kTileBytes = Product::kTileBytes;
  static const int kGroupBytes = Product::kGroupBytes;
  static const int kRowBytes = Product::kRowBytes;
  static const int kRowsAt = Product::kRowsAt;
  static const int kStageBytes = Product::kStageBytes;
  static const bool kShareStages = Product::kShareStages;
  static const int kOwnSteps = kShareStages ? kSteps / kInnerGroups : kSteps;  // that a group takes of its stages
  // What a stage's sums lack on average, given back, in units of 2^-23: the product of both rests, since rests have the
  // signs of their elements, and what is rounded towards zero in each of the products of whole parts. (Those of the
  // rests come first, while sums are small.) An H200 lacked 1.2e-7, 1.9e-7 and 3.2e-7 of the sums for 1, 2 and 4 steps.
  static const int kUnits = (100 + 54 * kOwnSteps) / 100;
  static constexpr float kWhole = kInWarpgroups ? 1.f + kUnits * 0x1p-23f : 1.f + 0x1p-23f;

  // Of the steps that the thread's group reads, its groups' part of the rest of the rows.
  __device__ __forceinline__ static void part(const Place& at, int slot, int own, unsigned parity) {
    constexpr int kSharers = 128 * kColumnGroups;
    unsigned char* const rows = at.ring + slot * kStageBytes + kRowsAt;
    const int first = threadIdx.x / 128 % kColumnGroups * 128 + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < kOwnSteps; ++i) {
      const int step = kShareStages ? i * kInnerGroups + own : i;
#pragma unroll 4
      for (int pack = first; pack < kRowBytes / 16; pack += kSharers) {
        const Pack<float, 4> from = *(const Pack<float, 4>*)(rows + step * kRowBytes + pack * 16);
        Pack<float, 4> to;
#pragma unroll
        for (int e = 0; e < 4; ++e) to.e[e] = restOf(from.e[e]);
        *(Pack<float, 4>*)(rows + (kSteps + step) * kRowBytes + pack * 16) = to;
      }
    }
    showToProducts();
    syncWarp();
    if (threadIdx.x % 32 == 0) arriveAt(at.parted + slot);
    waitAt(at.parted + slot, parity);
  }
  // The same as Mma90::multiply() in parts: while a stage is multiplied, the rest of the next one's rows is found.
  __device__ __forceinline__ static void multiply(float (&c)[kRows / 8][4], const Mma90Parameters& p, const Place& at) {
    const int group = ofFirstLane(threadIdx.x / 128);
    const int columnGroup = group % kColumnGroups;
    const int own = kInnerGroups == 1 ? 0 : group / kColumnGroups;
    constexpr int kApart = kShareStages ? 1 : kInnerGroups;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0.f;
    int slot = kShareStages ? 0 : own;
    unsigned parity = 0;
    const auto comeTo = [&](int stage) {
      if (stage >= at.stages) return;
      while (slot >= p.stages) {
        slot -= p.stages;
        parity ^= 1;
      }
      waitAt(at.full + slot, parity);
      part(at, slot, own, parity);
    };
    comeTo(slot);
#pragma unroll 1
    for (int stage = kShareStages ? 0 : own; stage < at.stages; stage += kApart) {
      const unsigned char* const a = at.ring + slot * kStageBytes + columnGroup * kGroupBytes;
      const unsigned char* const b = at.ring + slot * kStageBytes + kRowsAt;
      float sums[kRows / 8][4];
      openProducts();
#pragma unroll
      for (int i = 0; i < kOwnSteps; ++i) {
        const int step = kShareStages ? i * kInnerGroups + own : i;
#pragma unroll
        for (int byte = 0; byte < kMma90Bytes; byte += 32) {
          const unsigned char* const left = a + step * kTileBytes + byte;
          const unsigned char* const right = b + step * kRowBytes + byte;
          if (i == 0 && byte == 0) Products<kRows>::template add<false>(sums, left + kMma90TileBytes, right);
          else Products<kRows>::add(sums, left + kMma90TileBytes, right);
          Products<kRows>::add(sums, left, right + kSteps * kRowBytes);
        }
      }
#pragma unroll
      for (int i = 0; i < kOwnSteps; ++i) {
        const int step = kShareStages ? i * kInnerGroups + own : i;
#pragma unroll
        for (int byte = 0; byte < kMma90Bytes; byte += 32)
          Products<kRows>::add(sums, a + step * kTileBytes + byte, b + step * kRowBytes + byte);
      }
      closeProducts();
      const int before = slot;
      slot += kApart;
      comeTo(stage + kApart);
      waitForProducts<0>();
#pragma unroll
      for (int n = 0; n < kRows / 8; ++n) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          afterProducts(sums[n][k]);
          c[n][k] += sums[n][k] * kWhole;
        }
      }
      syncWarp();
      if (threadIdx.x % 32 == 0) arriveAt(at.empty + before);
    }
  }
};
