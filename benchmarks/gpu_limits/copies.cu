// Bytes a clock into a multiprocessor by bulk copies, all multiprocessors at it: different pieces of a footprint, or
// all the same; pieces cut up among the blocks of a cluster and sent to each of them.
#include "limits.h"

namespace {

__device__ __forceinline__ void waitFor(unsigned barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred p;\n"
      "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra wait;}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Thread 0 keeps `depth` pieces on their way; a second warp takes them and tells all blocks of the cluster so, a lane
// each. Full barriers count bytes; empty ones the blocks that have seen a piece.
template <int kCluster>
__global__ void __launch_bounds__(64)
    fetch(const char* source, unsigned pieces, unsigned pieceBytes, int depth, int rounds, bool same, double* rate) {
  extern __shared__ __align__(1024) char ring[];
  __shared__ __align__(8) unsigned long long full[16], empty[16];
  const unsigned rank = kCluster > 1 ? clusterRank() : 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < depth; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&empty[i])), "r"(kCluster));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (kCluster > 1) clusterBarrier();
  const long long begin = clock64();
  int slot = 0;
  unsigned parity = 0;
  const auto next = [&] {
    if (++slot == depth) slot = 0, parity ^= 1;
  };
  if (threadIdx.x == 0) {
    const unsigned groups = gridDim.x / kCluster;
    const unsigned part = pieceBytes / kCluster;
    const unsigned step = same ? 1 : groups;
    unsigned piece = same ? 0 : blockIdx.x / kCluster % pieces;
    for (int i = 0; i < rounds; ++i, next()) {
      if (i >= depth) waitFor(sharedAddress(&empty[slot]), parity ^ 1);
      const unsigned barrier = sharedAddress(&full[slot]);
      asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(pieceBytes)
                   : "memory");
      const char* from = source + static_cast<size_t>(piece) * pieceBytes + rank * part;
      const unsigned to = sharedAddress(ring + static_cast<size_t>(slot) * pieceBytes + rank * part);
      piece += step;
      if (piece >= pieces) piece -= pieces;
      if (kCluster > 1) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
                "r"(to),
            "l"(from), "r"(part), "r"(barrier), "h"(static_cast<unsigned short>((1 << kCluster) - 1))
            : "memory");
      } else {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
            "l"(from), "r"(part), "r"(barrier)
            : "memory");
      }
    }
  } else if (threadIdx.x >= 32) {
    const unsigned lane = threadIdx.x - 32;
    for (int i = 0; i < rounds; ++i, next()) {
      waitFor(sharedAddress(&full[slot]), parity);
      if (lane < kCluster) {
        const unsigned barrier = kCluster > 1 ? remote(sharedAddress(&empty[slot]), lane) : sharedAddress(&empty[slot]);
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
      }
    }
    if (lane == 0) rate[blockIdx.x] = static_cast<double>(rounds) * pieceBytes / static_cast<double>(clock64() - begin);
  }
  __syncthreads();
  if (kCluster > 1) clusterBarrier();
}

template <int kCluster>
void measure(const char* source, size_t footprint, unsigned pieceBytes, int depth, bool same) {
  const int shared = static_cast<int>(pieceBytes) * depth;
  const int blocks = residentBlocks(fetch<kCluster>, 64, shared, kCluster);
  double* rate;
  CHECK(cudaMalloc(&rate, sizeof(double) * static_cast<size_t>(blocks)));
  const auto pieces = static_cast<unsigned>(footprint / pieceBytes);
  const int rounds = static_cast<int>((size_t{8} << 20) / pieceBytes);
  const double time = milliseconds(nullptr, [&] {
    launch(fetch<kCluster>, blocks, 64, shared, kCluster, false, nullptr, source, pieces, pieceBytes, depth, rounds,
           same, rate);
  });
  CHECK(cudaDeviceSynchronize());
  std::vector<double> rates(static_cast<size_t>(blocks));
  CHECK(cudaMemcpy(rates.data(), rate, sizeof(double) * rates.size(), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(rate));
  const double bytes = static_cast<double>(blocks) * rounds * pieceBytes;
  char what[128], remark[96];
  std::snprintf(what, sizeof what, "%s of %zu MB, %u KB x %d on their way, cluster %d", same ? "the same" : "different",
                footprint >> 20, pieceBytes >> 10, depth, kCluster);
  std::snprintf(remark, sizeof remark, "%d blocks, %.2f TB/s into them", blocks, bytes / time / 1e9);
  report(what, median(rates), "B/clock", remark);
}

}  // namespace

void measureCopies() {
  std::printf("\nbytes into a multiprocessor by bulk copies, all at it\n");
  constexpr size_t kMost = size_t{1} << 30;
  const auto* source = static_cast<const char*>(randomHalves(kMost / 2));
  for (const size_t megabytes : {4, 16, 32, 1024}) {
    for (const unsigned kilobytes : {2, 8, 16, 32}) {
      const int depth = kilobytes == 2 ? 16 : kilobytes == 8 ? 12 : 6;
      measure<1>(source, megabytes << 20, kilobytes << 10, depth, false);
    }
  }
  for (const bool same : {false, true}) {
    for (const unsigned kilobytes : {16, 32}) {
      measure<1>(source, size_t{4} << 20, kilobytes << 10, 6, same);
      measure<2>(source, size_t{4} << 20, kilobytes << 10, 6, same);
      measure<4>(source, size_t{4} << 20, kilobytes << 10, 6, same);
      measure<8>(source, size_t{4} << 20, kilobytes << 10, 6, same);
    }
  }
}
