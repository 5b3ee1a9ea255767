// Copies of whole pieces to shared memory in the background, barriers that count their bytes, and clusters of blocks:
// PTX of sm_90 and later; on older chips nothing is launched that calls these. A test replaces this file by one for the
// host.
#pragma once

#include "backends/cuda/kernels/common/tile_map_parameters.h"
#include "tensor_core.cuh"

// Shared memory whose size the launch gives, which blocks of a cluster see of each other; `bytes` is its greatest size.
#define CLUSTER_SHARED(name, bytes) extern __shared__ __align__(1024) unsigned char name[]

// A barrier in shared memory: a phase ends when all have arrived and all bytes that they expect have come.
struct alignas(8) ByteBarrier {
  unsigned long long state;
};

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void openBarrier(ByteBarrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(arrivals) : "memory");
}
// Behind the last openBarrier(), in its thread: copies and other blocks see them.
__device__ __forceinline__ void showBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void arriveExpecting(ByteBarrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void arriveAt(ByteBarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}
// Until the phase of this parity (0 for the first) has ended.
__device__ __forceinline__ void waitAt(ByteBarrier* barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over: }" ::"r"(sharedAddress(barrier)),
      "r"(parity)
      : "memory");
}
// Bytes in one piece, a multiple of 16 at addresses of such.
__device__ __forceinline__ void copyPiece(void* shared, const void* global, unsigned bytes, ByteBarrier* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   sharedAddress(shared)),
               "l"(global), "r"(bytes), "r"(sharedAddress(barrier))
               : "memory");
}
// The same on its way to the cache only.
__device__ __forceinline__ void fetchPiece(const void* global, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}
// The map's box of a matrix from an element on, in the order of products; zeros where the matrix has ended.
__device__ __forceinline__ void copyTile(void* shared, const TileMap& map, int column, int row, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(sharedAddress(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(sharedAddress(barrier))
      : "memory");
}
// The same of as many neighbouring pieces of 128 bytes of each row as the box holds, one piece of all rows after the
// other; the map's axes are elements of a piece, rows and pieces.
__device__ __forceinline__ void copyTiles(void* shared, const TileMap& map, int row, int piece, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {0, %2, %3}], [%4];" ::
          "r"(sharedAddress(shared)),
      "l"(&map), "r"(row), "r"(piece), "r"(sharedAddress(barrier))
      : "memory");
}
// The map's box of 64 halves and as many rows as it says of a matrix [batch][head][row][column], in the order of
// products; zeros where columns or rows have ended.
__device__ __forceinline__ void copyHead(void* shared, const TileMap& map, int column, int row, int head, int batch,
                                         ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(sharedAddress(barrier))
      : "memory");
}
// The map's windows of an image [N][H][W][channels], as many as it says and 64 channels of each, at the tap (xTap,
// yTap); the first window begins at (x, y), which may lie before the image, and the others follow along its rows.
__device__ __forceinline__ void copyWindows(void* shared, const TileMap& map, int channel, int x, int y, int image,
                                            int xTap, int yTap, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6], {%7, %8};" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(image), "r"(sharedAddress(barrier)), "h"((unsigned short)xTap),
      "h"((unsigned short)yTap)
      : "memory");
}
// Of volumes [N][D][H][W][channels].
__device__ __forceinline__ void copyVolumes(void* shared, const TileMap& map, int channel, int x, int y, int z,
                                            int image, int xTap, int yTap, int zTap, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, "
      "%6}], [%7], {%8, %9, %10};" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image), "r"(sharedAddress(barrier)),
      "h"((unsigned short)xTap), "h"((unsigned short)yTap), "h"((unsigned short)zTap)
      : "memory");
}
// The same for both blocks of a cluster of two: to this place, and this barrier, of each of them.
__device__ __forceinline__ void copyTileToBoth(void* shared, const TileMap& map, int column, int row,
                                               ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(sharedAddress(barrier)), "h"((unsigned short)3)
      : "memory");
}
__device__ __forceinline__ void copyWindowsToBoth(void* shared, const TileMap& map, int channel, int x, int y,
                                                  int image, int xTap, int yTap, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3, %4, %5}], [%6], {%7, %8}, %9;" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(image), "r"(sharedAddress(barrier)), "h"((unsigned short)xTap),
      "h"((unsigned short)yTap), "h"((unsigned short)3)
      : "memory");
}
__device__ __forceinline__ void copyVolumesToBoth(void* shared, const TileMap& map, int channel, int x, int y, int z,
                                                  int image, int xTap, int yTap, int zTap, ByteBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10}, %11;" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image), "r"(sharedAddress(barrier)),
      "h"((unsigned short)xTap), "h"((unsigned short)yTap), "h"((unsigned short)zTap), "h"((unsigned short)3)
      : "memory");
}
// The same of a matrix for the first `blocks` blocks of a cluster.
__device__ __forceinline__ void copyTileToBlocks(void* shared, const TileMap& map, int column, int row,
                                                 ByteBarrier* barrier, int blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(sharedAddress(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(sharedAddress(barrier)), "h"((unsigned short)((1 << blocks) - 1))
      : "memory");
}
// At this barrier of block `rank` of the cluster; says nothing of what this thread has stored.
__device__ __forceinline__ void arriveAtBlock(ByteBarrier* barrier, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there];}" ::
          "r"(sharedAddress(barrier)),
      "r"(rank)
      : "memory");
}
// At this barrier of both blocks of a cluster of two; says nothing of what this thread has stored.
__device__ __forceinline__ void arriveAtBoth(ByteBarrier* barrier) {
#pragma unroll
  for (int rank = 0; rank < 2; ++rank) arriveAtBlock(barrier, rank);
}
// The other way: the box goes to the matrix; what lies outside is left out. Stands behind showToProducts() of the
// threads that have written it and a barrier. closeStores() ends a group of these; until all but the last kPending
// groups of this thread have been read from shared memory, or until what they wrote stands.
__device__ __forceinline__ void storeTile(const TileMap& map, int column, int row, const void* shared) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(column), "r"(row), "r"(sharedAddress(shared))
               : "memory");
}
__device__ __forceinline__ void closeStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void waitForReadStores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
__device__ __forceinline__ void waitForStores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ __forceinline__ void fetchMap(const TileMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// What launches before this one wrote by ordinary stores is seen by copies that this thread asks for from here on:
// stands behind afterPredecessor().
__device__ __forceinline__ void showToCopies() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
// The next launch may begin as soon as every block of this one has come here.
__device__ __forceinline__ void releaseSuccessor() { asm volatile("griddepcontrol.launch_dependents;"); }

// Blocks of a cluster lie side by side along x.
__device__ __forceinline__ int blockOfCluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return (int)rank;
}
__device__ __forceinline__ int blocksOfCluster() {
  unsigned count;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return (int)count;
}
// At a barrier of all threads of the cluster: that this one has begun, or all that it has stored; then the wait for the
// others to arrive as often.
__device__ __forceinline__ void announceToCluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }
__device__ __forceinline__ void arriveAtCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void waitForCluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// Stores where block `rank` of the cluster has what lies here at `to`.
__device__ __forceinline__ void storeToBlock(float* to, int rank, const Pack<float, 4>& v) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};}" ::
          "r"(sharedAddress(to)),
      "r"(rank), "f"(v.e[0]), "f"(v.e[1]), "f"(v.e[2]), "f"(v.e[3])
      : "memory");
}
__device__ __forceinline__ void storeToBlock(float* to, int rank, const Pack<float, 1>& v) {
  asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; st.shared::cluster.f32 [there], %2;}" ::"r"(
                   sharedAddress(to)),
               "r"(rank), "f"(v.e[0])
               : "memory");
}
// The same, whose bytes count at what block `rank` has at `barrier`: who waits there sees the value.
__device__ __forceinline__ void sendToBlock(float* to, int rank, float value, ByteBarrier* barrier) {
  asm volatile(
      "{.reg .b32 there, counted; mapa.shared::cluster.u32 there, %0, %2; mapa.shared::cluster.u32 counted, %1, %2;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [there], %3, [counted];}" ::"r"(
          sharedAddress(to)),
      "r"(sharedAddress(barrier)), "r"(rank), "f"(value)
      : "memory");
}
__device__ __forceinline__ void sendToBlock(float* to, int rank, const Pack<float, 1>& v, ByteBarrier* barrier) {
  sendToBlock(to, rank, v.e[0], barrier);
}
__device__ __forceinline__ void sendToBlock(float* to, int rank, const Pack<float, 4>& v, ByteBarrier* barrier) {
  asm volatile(
      "{.reg .b32 there, counted; mapa.shared::cluster.u32 there, %0, %2; mapa.shared::cluster.u32 counted, %1, %2;\n"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [there], {%3, %4, %5, %6}, [counted];}" ::"r"(
          sharedAddress(to)),
      "r"(sharedAddress(barrier)), "r"(rank), "f"(v.e[0]), "f"(v.e[1]), "f"(v.e[2]), "f"(v.e[3])
      : "memory");
}
#else
__device__ inline void openBarrier(ByteBarrier*, unsigned) {}
__device__ inline void showBarriers() {}
__device__ inline void arriveExpecting(ByteBarrier*, unsigned) {}
__device__ inline void arriveAt(ByteBarrier*) {}
__device__ inline void waitAt(ByteBarrier*, unsigned) { __trap(); }
__device__ inline void copyPiece(void*, const void*, unsigned, ByteBarrier*) {}
__device__ inline void fetchPiece(const void*, unsigned) {}
__device__ inline void copyTile(void*, const TileMap&, int, int, ByteBarrier*) {}
__device__ inline void copyTiles(void*, const TileMap&, int, int, ByteBarrier*) {}
__device__ inline void copyHead(void*, const TileMap&, int, int, int, int, ByteBarrier*) {}
__device__ inline void copyWindows(void*, const TileMap&, int, int, int, int, int, int, ByteBarrier*) {}
__device__ inline void copyVolumes(void*, const TileMap&, int, int, int, int, int, int, int, int, ByteBarrier*) {}
__device__ inline void copyVolumesToBoth(void*, const TileMap&, int, int, int, int, int, int, int, int, ByteBarrier*) {}
__device__ inline void copyTileToBoth(void*, const TileMap&, int, int, ByteBarrier*) {}
__device__ inline void copyWindowsToBoth(void*, const TileMap&, int, int, int, int, int, int, ByteBarrier*) {}
__device__ inline void copyTileToBlocks(void*, const TileMap&, int, int, ByteBarrier*, int) {}
__device__ inline void arriveAtBlock(ByteBarrier*, int) {}
__device__ inline void arriveAtBoth(ByteBarrier*) {}
__device__ inline void storeTile(const TileMap&, int, int, const void*) {}
__device__ inline void closeStores() {}
template <int kPending>
__device__ inline void waitForReadStores() {}
__device__ inline void waitForStores() {}
__device__ inline void fetchMap(const TileMap&) {}
__device__ inline void showToCopies() {}
__device__ inline void releaseSuccessor() {}
__device__ inline int blockOfCluster() { return 0; }
__device__ inline int blocksOfCluster() { return 1; }
__device__ inline void announceToCluster() {}
__device__ inline void arriveAtCluster() {}
__device__ inline void waitForCluster() {}
template <int kWidth>
__device__ inline void storeToBlock(float*, int, const Pack<float, kWidth>&) {}
__device__ inline void sendToBlock(float*, int, float, ByteBarrier*) {}
template <int kWidth>
__device__ inline void sendToBlock(float*, int, const Pack<float, kWidth>&, ByteBarrier*) {}
#endif
