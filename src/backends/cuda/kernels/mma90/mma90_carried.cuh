// How sums of mma90_persistent.cuh become rows of y by copies: pieces of 64 columns and some rows lie in shared memory,
// where what the epilogue reads of them comes before, warps compute them in place, and the copy engine takes them away.
// A warp of its own asks for both, for each warpgroup, so that no thread that computes waits for global memory. Of
// halves, whose rows are whole packs, and of one tensor at most that is read as y is written.
#pragma once

#include "mma90_persistent.cuh"

// M: the product.
template <typename M>
struct Carried {
  typedef typename M::Y Y;
  typedef typename M::Finish Finish;
  static const int kWarpRows = 16;  // of a pass
  static const int kPieceRows = M::kRows % kMma90PieceRows == 0 ? kMma90PieceRows : kMma90SmallPieceRows;
  static const int kPieceBytes = kPieceRows * kMma90Bytes;
  static const int kPlaces = kMma90EndingBytes / 2 / kPieceBytes;  // of a group
  static const int kDown = M::kRows / kPieceRows;                  // pieces of a run
  static const int kPieces = M::kRuns * kDown;
  typedef typename Finish::template Inputs<2> Inputs;
  typedef typename Finish::template ColumnInputs<1> ColumnInputs;
  static_assert(kPlaces >= 2 && kPlaces <= kMma90MostPlaces, "places of a group");

  // The barriers of a group's places: that it may be computed, that it has been.
  __device__ __forceinline__ static ByteBarrier* come(const typename M::Place& at, int group) {
    return at.ending + group * 2 * kMma90MostPlaces;
  }
  __device__ __forceinline__ static ByteBarrier* done(const typename M::Place& at, int group) {
    return come(at, group) + kMma90MostPlaces;
  }
  __device__ __forceinline__ static unsigned char* memory(const typename M::Place& at, int group) {
    return at.passed + group * (kMma90EndingBytes / 2);
  }
  __device__ __forceinline__ static void openBarriers(const typename M::Place& at) {
    for (int group = 0; group < 2; ++group) {
      for (int i = 0; i < kPlaces; ++i) {
        openBarrier(come(at, group) + i, 1);
        openBarrier(done(at, group) + i, 4);
      }
    }
  }

  // The pieces of a group, tile after tile.
  struct Pieces {
    int number, piece = 0;
    int row = 0, column = 0;

    __device__ __forceinline__ Pieces(const Mma90Parameters& p, const typename M::Place& at, int group)
        : number(M::firstTile(group)) {
      look(p, at, group);
    }
    __device__ __forceinline__ bool isOver(const Mma90Parameters& p) const { return M::isOver(p, number); }
    __device__ __forceinline__ void look(const Mma90Parameters& p, const typename M::Place& at, int group) {
      if (isOver(p)) return;
      const typename M::Tile tile(p, at, number);
      row = tile.firstRow;
      column = M::columnOf(tile, group);
    }
    __device__ __forceinline__ void advance(const Mma90Parameters& p, const typename M::Place& at, int group) {
      row += kPieceRows;
      if (++piece % kDown == 0) {
        row -= M::kRows;
        column += kMma90Columns;
      }
      if (piece < kPieces) return;
      piece = 0;
      number += M::tilesApart();
      look(p, at, group);
    }
  };
  __device__ __forceinline__ static void allow(const Mma90Parameters& p, const typename M::Place& at, int group,
                                               const Pieces& piece, int place) {
    ByteBarrier* const barrier = come(at, group) + place;
    if (!Finish::kReads) return arriveAt(barrier);
    arriveExpecting(barrier, kPieceBytes);
    copyTile(memory(at, group) + place * kPieceBytes, p.sum, piece.column, piece.row, barrier);
  }
  // One thread of each group's warp.
  __device__ __forceinline__ static void carry(const Mma90Parameters& p, const typename M::Place& at, int group) {
    if (group > 1) return;  // a warp more
    fetchMap(p.y);
    if (Finish::kReads) fetchMap(p.sum);
    afterPredecessor();
    showToCopies();
    Pieces next(p, at, group);  // that gets a place
    for (int place = 0; place < kPlaces && !next.isOver(p); ++place) {
      allow(p, at, group, next, place);
      next.advance(p, at, group);
    }
    int place = 0, before = -1;
    unsigned parity = 0;
    for (Pieces own(p, at, group); !own.isOver(p); own.advance(p, at, group)) {
      waitAt(done(at, group) + place, parity);
      if (own.row < p.rows && own.column < p.columns)
        storeTile(p.y, own.column, own.row, memory(at, group) + place * kPieceBytes);
      closeStores();
      waitForReadStores<1>();  // the one before has left its place
      if (before >= 0 && !next.isOver(p)) {
        allow(p, at, group, next, before);
        next.advance(p, at, group);
      }
      before = place;
      if (++place == kPlaces) {
        place = 0;
        parity ^= 1;
      }
    }
    waitForStores();
  }

  // The groups: the place that comes next.
  int place = 0;
  unsigned parity = 0;

  __device__ __forceinline__ Carried(const Mma90Parameters&, const typename M::Place&, int) {}
  __device__ __forceinline__ void prepare(const Mma90Parameters&, const typename M::Place&, int, int) {}

  // Registers as those of wgmma: of each 8 rows two neighbours, of two columns; matrices of 8 x 8 as they are stored.
  __device__ __forceinline__ void finish(const float (&c)[M::kRuns][M::kRows / 8][4], const Mma90Parameters& p,
                                         const typename M::Place& at, const typename M::Tile& tile, int group) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    unsigned char* const own =
        memory(at, group) + (lane / 16 * 8 + lane % 8) * kMma90Bytes + ((2 * warp + lane / 8 % 2) ^ lane % 8) * 16;
    const int column = M::columnOf(tile, group) + warp * 16 + lane / 4;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int run = piece / kDown;
      ColumnInputs fixed[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        fixed[i] = {};
        const int of = column + run * kMma90Columns + 8 * i;
        if (of < p.columns) Finish::loadColumns(p, of, fixed[i]);
      }
      waitAt(come(at, group) + place, parity);
      unsigned char* const to = own + place * kPieceBytes;
#pragma unroll
      for (int pass = 0; pass < kPieceRows / kWarpRows; ++pass) {
        unsigned bits[4];
        if (Finish::kReads) loadMatricesTransposed(bits, to + pass * kWarpRows * kMma90Bytes);
        const int first = piece % kDown * (kPieceRows / 8) + 2 * pass;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          Inputs from;
          if (Finish::kReads) Finish::setPair(from, bits[i]);
          const float(&sums)[4] = c[run][first + i / 2];
          bits[i] = packed<Y>(Finish::compute(sums[i % 2 * 2], from, 0, fixed[i % 2], 0),
                              Finish::compute(sums[i % 2 * 2 + 1], from, 1, fixed[i % 2], 0));
        }
        storeMatricesTransposed(to + pass * kWarpRows * kMma90Bytes, bits);
      }
      showToProducts();  // and other copies
      syncWarp();
      if (lane == 0) arriveAt(done(at, group) + place);
      if (++place == kPlaces) {
        place = 0;
        parity ^= 1;
      }
    }
  }
};
