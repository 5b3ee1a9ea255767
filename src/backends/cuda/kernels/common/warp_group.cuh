// Warpgroup instructions (wgmma) in PTX of sm_90a: matrix products of 64 rows, each warp with 16 of them in
// registers as multiplyAdd has them, the right operand in shared memory. There rows have 128 bytes (64 halves), groups
// of 8 begin at multiples of 1024 bytes, and piece i of 16 bytes of row r lies at i ^ r % 8. Other chips do the same by
// products of single warps.
#pragma once

#include "tensor_core.cuh"

constexpr int kGroupRow = 64;  // halves in a row

// Where the piece of 16 bytes that begins at `column` lies, in halves.
__device__ __forceinline__ int groupOffset(int row, int column) {
  return row * kGroupRow + ((column / 8 ^ row % 8) * 8 + column % 8);
}

// c += a b for some columns, or with kMore false c = a b; in the background: `c` is not touched until it is done.
// byColumns: columns of b are rows in memory, from the halves at `b` on. byRows: rows of b are 16 rows in memory.
template <typename T, int kColumns, bool kMore>
struct GroupProduct;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Between copies to shared memory that have arrived and products that read them; a barrier follows.
__device__ __forceinline__ void showToProducts() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Ahead of products, behind writes to their registers; behind the last one; until all are done.
__device__ __forceinline__ void openProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void closeProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void waitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Behind the wait, of a result that is read while others are still to come: compilers know of no dependence.
__device__ __forceinline__ void afterProducts(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }

// Registers of a thread from here on, a multiple of 8: more, which others have given, or fewer. All warps of a
// warpgroup.
template <int kCount>
__device__ __forceinline__ void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

__device__ __forceinline__ unsigned long long groupOperand(const void* rows) {
  constexpr unsigned long long kForm = 1ull << 62 | (1024ull >> 4) << 32 | 1ull << 16;
  return kForm | (sharedAddress(rows) & 0x3ffff) >> 4;
}

#define GROUP_TWO(c, n)                                                                                                \
  "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3]), "+f"(c[n + 1][0]), "+f"(c[n + 1][1]), "+f"(c[n + 1][2]), \
      "+f"(c[n + 1][3])
#define GROUP_PRODUCT(columns, type, results, a, b, more, order, ...)                                           \
  asm volatile("{.reg .pred p; setp.ne.b32 p, " more ", 0;\n" \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" results "}, " a ", " b \
               ", p, 1, 1, " order ";}" \
               : __VA_ARGS__
#define GROUP_8(a, b, c, d, e, f, g, h) "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define GROUP_FIRST_8 GROUP_8(0, 1, 2, 3, 4, 5, 6, 7)
#define GROUP_FIRST_16 GROUP_FIRST_8 "," GROUP_8(8, 9, 10, 11, 12, 13, 14, 15)
#define GROUP_FIRST_32 \
  GROUP_FIRST_16 "," GROUP_8(16, 17, 18, 19, 20, 21, 22, 23) "," GROUP_8(24, 25, 26, 27, 28, 29, 30, 31)
#define GROUP_INPUTS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(groupOperand(b)), "n"(kMore)

#define GROUP_PRODUCTS(T, type)                                                                                        \
  template <bool kMore>                                                                                                \
  struct GroupProduct<T, 16, kMore> {                                                                                  \
    __device__ __forceinline__ static void byColumns(float (*c)[4], const unsigned (&a)[4], const void* b) {           \
      GROUP_PRODUCT("16", type, GROUP_FIRST_8, "{%8,%9,%10,%11}", "%12", "%13", "0", GROUP_TWO(c, 0)) : GROUP_INPUTS); \
    }                                                                                                                  \
  };                                                                                                                   \
  template <bool kMore>                                                                                                \
  struct GroupProduct<T, 32, kMore> {                                                                                  \
    __device__ __forceinline__ static void byColumns(float (*c)[4], const unsigned (&a)[4], const void* b) {           \
      GROUP_PRODUCT("32", type, GROUP_FIRST_16, "{%16,%17,%18,%19}", "%20", "%21", "0", GROUP_TWO(c, 0), \
                    GROUP_TWO(c, 2)) \
      : GROUP_INPUTS);                                                                                                 \
    }                                                                                                                  \
  };                                                                                                                   \
  template <bool kMore>                                                                                                \
  struct GroupProduct<T, 64, kMore> {                                                                                  \
    __device__ __forceinline__ static void byColumns(float (*c)[4], const unsigned (&a)[4], const void* b) {           \
      GROUP_PRODUCT("64", type, GROUP_FIRST_32, "{%32,%33,%34,%35}", "%36", "%37", "0", GROUP_TWO(c, 0), \
                    GROUP_TWO(c, 2), GROUP_TWO(c, 4), GROUP_TWO(c, 6)) : GROUP_INPUTS);                                \
    }                                                                                                                  \
    __device__ __forceinline__ static void byRows(float (*c)[4], const unsigned (&a)[4], const void* b) {              \
      GROUP_PRODUCT("64", type, GROUP_FIRST_32, "{%32,%33,%34,%35}", "%36", "%37", "1", GROUP_TWO(c, 0), \
                    GROUP_TWO(c, 2), GROUP_TWO(c, 4), GROUP_TWO(c, 6)) : GROUP_INPUTS);                                \
    }                                                                                                                  \
  };
GROUP_PRODUCTS(f16, "f16")
GROUP_PRODUCTS(bf16, "bf16")
#undef GROUP_PRODUCTS
#undef GROUP_INPUTS
#undef GROUP_FIRST_32
#undef GROUP_FIRST_16
#undef GROUP_FIRST_8
#undef GROUP_8
#undef GROUP_PRODUCT
#undef GROUP_TWO
#else
// The same by products of single warps.
__device__ __forceinline__ void showToProducts() {}
template <int kCount>
__device__ __forceinline__ void takeRegisters() {}
template <int kCount>
__device__ __forceinline__ void giveRegisters() {}
__device__ __forceinline__ void openProducts() {}
__device__ __forceinline__ void closeProducts() {}
template <int kPending>
__device__ __forceinline__ void waitForProducts() {}
__device__ __forceinline__ void afterProducts(float&) {}

template <typename T, int kColumns, bool kMore>
struct GroupProduct {
  __device__ __forceinline__ static void byColumns(float (*c)[4], const unsigned (&a)[4], const T* b) {
    const T* const lane = b + (threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8) * kGroupRow + threadIdx.x / 8 % 2 * 8;
    multiply<false>(c, a, lane, 8 * kGroupRow);
  }
  __device__ __forceinline__ static void byRows(float (*c)[4], const unsigned (&a)[4], const T* b) {
    multiply<true>(c, a, b + threadIdx.x % 16 * kGroupRow + threadIdx.x % 32 / 16 * 8, 8);
  }

 private:
  // `step`: halves from one 8 columns of the result to the next.
  template <bool kTransposed>
  __device__ __forceinline__ static void multiply(float (*c)[4], const unsigned (&a)[4], const T* lane, int step) {
#pragma unroll
    for (int n = 0; n < kColumns / 8; n += 2) {
      const auto address = (unsigned long long)(lane + n * step);
      const auto* const row = (const T*)(address ^ (address >> 7 & 7) << 4);
      unsigned b[4];
      if (kTransposed) loadMatricesTransposed(b, row);
      else loadMatrices(b, row);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        auto& to = c[n + i];
        if (!kMore) to[0] = to[1] = to[2] = to[3] = 0.f;
        multiplyAdd<T>(to, a, b[2 * i], b[2 * i + 1]);
      }
    }
  }
};
#endif
