// The host's form of bulk_copies.cuh: copies arrive when somebody waits for their barrier, the blocks of a cluster take
// turns as threads do.
#pragma once

#include "backends/cuda/kernels/common/tile_map_parameters.h"
#include "tensor_core.cuh"

constexpr int kEmulatedCluster = 8;  // blocks at most
#define CLUSTER_SHARED(name, bytes)                                              \
  alignas(1024) static unsigned char name##OfBlocks[kEmulatedCluster * (bytes)]; \
  static_assert((bytes) % 1024 == 0, "shared memory of a block of a cluster");   \
  tenon_emulated_pitch = (bytes);                                                \
  unsigned char* const name = name##OfBlocks + blockOfCluster() * (bytes)

extern "C" {
inline long tenon_emulated_pitch;  // from one block's shared memory to the next one's
}
inline int blockOfCluster() { return (int)tenon_emulator.blockOfCluster; }
inline int blocksOfCluster() { return (int)tenon_emulator.blocksOfCluster; }

struct alignas(8) ByteBarrier {
  unsigned char arrivals, missing;
  unsigned short phase;
  int bytes;
};
#include "emulated_map.h"
struct EmulatedPiece {
  ByteBarrier* barrier;  // null: none
  unsigned char* to;
  const unsigned char* from;
  unsigned bytes;
  const EmulatedMap* map;  // or null
  int column, row;         // of a matrix, or the channel and
  int x, y, image, xTap, yTap;
  int z, zTap;
};
extern "C" {
inline EmulatedPiece tenon_emulated_pieces[1024];
}

inline void openBarrier(ByteBarrier* barrier, unsigned arrivals) {
  *barrier = {(unsigned char)arrivals, (unsigned char)arrivals, 0, 0};
}
inline void showBarriers() {}
inline void emulatedPhase(ByteBarrier* barrier) {
  if (barrier->missing != 0 || barrier->bytes != 0) return;
  barrier->missing = barrier->arrivals;
  ++barrier->phase;
}
inline void arriveExpecting(ByteBarrier* barrier, unsigned bytes) {
  emulatedCheck(barrier->missing > 0, "more arrivals at a barrier than it counts");
  --barrier->missing;
  barrier->bytes += (int)bytes;
  emulatedPhase(barrier);
}
inline void arriveAt(ByteBarrier* barrier) { arriveExpecting(barrier, 0); }
inline void emulatedPiece(const EmulatedPiece& piece) {
  emulatedCheck((size_type)piece.to % 128 == 0 && piece.bytes % 16 == 0, "a bulk copy is not aligned");
  for (auto& place : tenon_emulated_pieces) {
    if (place.barrier != nullptr) continue;
    place = piece;
    return;
  }
  emulatedCheck(false, "too many bulk copies under way");
}
inline void copyPiece(void* shared, const void* global, unsigned bytes, ByteBarrier* barrier) {
  emulatedCheck((size_type)global % 16 == 0, "a bulk copy is not aligned");
  emulatedPiece({barrier, (unsigned char*)shared, (const unsigned char*)global, bytes, nullptr});
}
inline void fetchPiece(const void* global, unsigned bytes) {
  emulatedCheck((size_type)global % 16 == 0 && bytes % 16 == 0 && bytes < 1 << 20, "no bulk copy");
}
inline void copyTile(void* shared, const TileMap& map, int column, int row, ByteBarrier* barrier) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 1024 == 0, "a tile is not aligned to 1024 bytes");
  emulatedCheck(!m.isWindows && m.boxPieces == 0, "no map of a matrix");
  emulatedPiece({barrier, (unsigned char*)shared, nullptr, 128 * m.boxRows, &m, column, row});
}
inline void copyTiles(void* shared, const TileMap& map, int row, int piece, ByteBarrier* barrier) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 1024 == 0, "a tile is not aligned to 1024 bytes");
  emulatedCheck(m.boxPieces > 0 && m.boxRows % 8 == 0, "no map of pieces");
  for (unsigned i = 0; i < m.boxPieces; ++i) {
    emulatedPiece({barrier, (unsigned char*)shared + i * 128 * m.boxRows, nullptr, 128 * m.boxRows, &m,
                   (piece + (int)i) * (int)(128 / m.elementBytes), row});
  }
}
inline void copyHead(void* shared, const TileMap& map, int column, int row, int head, int batch, ByteBarrier* barrier) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 1024 == 0, "a tile is not aligned to 1024 bytes");
  emulatedCheck(!m.isWindows && m.boxPieces == 0, "no map of a matrix");
  emulatedPiece({barrier, (unsigned char*)shared, nullptr, 128 * m.boxRows, &m, column, row, 0, head, batch});
}
inline void copyWindows(void* shared, const TileMap& map, int channel, int x, int y, int image, int xTap, int yTap,
                        ByteBarrier* barrier) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 1024 == 0, "a tile is not aligned to 1024 bytes");
  emulatedCheck(m.isWindows && m.depth == 0 && xTap >= 0 && yTap >= 0 && xTap < 256 && yTap < 256, "no windows");
  emulatedPiece({barrier, (unsigned char*)shared, nullptr, 128 * m.boxRows, &m, channel, 0, x, y, image, xTap, yTap});
}
inline void copyVolumes(void* shared, const TileMap& map, int channel, int x, int y, int z, int image, int xTap,
                        int yTap, int zTap, ByteBarrier* barrier) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 1024 == 0, "a tile is not aligned to 1024 bytes");
  emulatedCheck(m.isWindows && m.depth != 0, "no windows of volumes");
  const int taps[] = {xTap, yTap, zTap};
  for (const int tap : taps) emulatedCheck(tap >= 0 && tap < 32, "a tap that is too far away");
  emulatedPiece(
      {barrier, (unsigned char*)shared, nullptr, 128 * m.boxRows, &m, channel, 0, x, y, image, xTap, yTap, z, zTap});
}
template <typename T>
inline T* emulatedThere(T* here, int rank) {
  return (T*)((unsigned char*)here + (rank - blockOfCluster()) * tenon_emulated_pitch);
}
inline void copyTileToBoth(void* shared, const TileMap& map, int column, int row, ByteBarrier* barrier) {
  emulatedCheck(blocksOfCluster() == 2, "a cluster that is none of two");
  for (int rank = 0; rank < 2; ++rank)
    copyTile(emulatedThere(shared, rank), map, column, row, emulatedThere(barrier, rank));
}
inline void copyWindowsToBoth(void* shared, const TileMap& map, int channel, int x, int y, int image, int xTap,
                              int yTap, ByteBarrier* barrier) {
  emulatedCheck(blocksOfCluster() == 2, "a cluster that is none of two");
  for (int rank = 0; rank < 2; ++rank)
    copyWindows(emulatedThere(shared, rank), map, channel, x, y, image, xTap, yTap, emulatedThere(barrier, rank));
}
inline void copyVolumesToBoth(void* shared, const TileMap& map, int channel, int x, int y, int z, int image, int xTap,
                              int yTap, int zTap, ByteBarrier* barrier) {
  emulatedCheck(blocksOfCluster() == 2, "a cluster that is none of two");
  for (int rank = 0; rank < 2; ++rank) {
    copyVolumes(emulatedThere(shared, rank), map, channel, x, y, z, image, xTap, yTap, zTap,
                emulatedThere(barrier, rank));
  }
}
inline void copyTileToBlocks(void* shared, const TileMap& map, int column, int row, ByteBarrier* barrier, int blocks) {
  emulatedCheck(blocksOfCluster() == blocks, "a cluster of other blocks");
  for (int rank = 0; rank < blocks; ++rank)
    copyTile(emulatedThere(shared, rank), map, column, row, emulatedThere(barrier, rank));
}
inline void arriveAtBlock(ByteBarrier* barrier, int rank) {
  emulatedCheck(rank >= 0 && rank < blocksOfCluster(), "a cluster has no such block");
  arriveAt(emulatedThere(barrier, rank));
}
inline void arriveAtBoth(ByteBarrier* barrier) {
  for (int rank = 0; rank < 2; ++rank) arriveAtBlock(barrier, rank);
}
inline unsigned emulatedTf32(unsigned bits) { return (bits >> 23 & 255) == 255 ? bits : (bits + 0x1000) & ~0x1fffu; }
inline void emulatedArrival(EmulatedPiece& piece) {
  if (piece.map == nullptr) {
    memcpy(piece.to, piece.from, piece.bytes);
  } else {
    const auto& m = *piece.map;
    int x = piece.x, y = piece.y, z = piece.z, image = piece.image;
    const long long depth = m.depth == 0 ? 1 : m.depth;
    for (unsigned r = 0; r < m.boxRows; ++r) {
      // Behind the last place of a row of windows the next row begins, and behind those the next image.
      for (; m.isWindows && x > m.last[1]; x = m.first[1]) y += m.step[1];
      for (; m.isWindows && y > m.last[0]; y = m.first[0]) (m.depth == 0 ? image : z) += m.depth == 0 ? 1 : m.step[2];
      for (; m.depth != 0 && z > m.last[2]; z = m.first[2]) ++image;
      const long long row = m.isWindows ? y + piece.yTap : piece.y;
      const long long place = m.isWindows ? x + piece.xTap : piece.row + (long long)r;
      const long long plane = z + piece.zTap;
      const bool inside = image < m.images && row >= 0 && row < m.height && place >= 0 && place < m.width &&
                          plane >= 0 && plane < depth;
      const auto* const from =
          m.base + (image * depth + plane) * m.pitchOfImages + row * m.pitchOfRows + place * m.pitch;
      const int bytes = (int)m.elementBytes;
      const int pack = 16 / bytes;
      for (int c = 0; c < 8 * pack; ++c) {
        unsigned char* const to = piece.to + r * 128 + (c / pack ^ r % 8) * 16 + c % pack * bytes;
        unsigned bits = 0;
        if (inside && piece.column + c < m.columns) memcpy(&bits, from + (piece.column + c) * bytes, bytes);
        if (m.isRounded) bits = emulatedTf32(bits);
        memcpy(to, &bits, bytes);
      }
      x += m.step[0];
    }
  }
  piece.barrier->bytes -= (int)piece.bytes;
}
inline void waitAt(ByteBarrier* barrier, unsigned parity) {
  while (barrier->phase % 2 == parity) {
    for (auto& piece : tenon_emulated_pieces) {
      if (piece.barrier != barrier) continue;
      emulatedArrival(piece);
      piece.barrier = nullptr;
    }
    const auto phase = barrier->phase;
    if (barrier->missing == 0) emulatedPhase(barrier);
    if (phase == barrier->phase) tenon_emulator.pause();
  }
}
inline void storeTile(const TileMap& map, int column, int row, const void* shared) {
  const auto& m = *(const EmulatedMap*)map.bytes;
  emulatedCheck((size_type)shared % 128 == 0 && !m.isWindows && m.boxPieces == 0, "no box of a matrix");
  const int pack = 16 / (int)m.elementBytes;
  for (int r = 0; r < (int)m.boxRows; ++r) {
    for (int c = 0; c < 8 * pack; ++c) {
      if (row + r >= m.width || column + c >= m.columns) continue;
      const auto* const from = (const unsigned char*)shared + r * 128;
      memcpy((unsigned char*)m.base + (row + r) * m.pitch + (column + c) * m.elementBytes,
             from + (c / pack ^ r % 8) * 16 + c % pack * m.elementBytes, m.elementBytes);
    }
  }
}
inline void closeStores() {}
template <int kPending>
inline void waitForReadStores() {}
inline void waitForStores() {}
inline void fetchMap(const TileMap&) {}
inline void showToCopies() {}
inline void releaseSuccessor() {}
inline void announceToCluster() { tenon_emulator.arriveAtCluster(); }
inline void arriveAtCluster() { tenon_emulator.arriveAtCluster(); }
inline void waitForCluster() { tenon_emulator.waitForCluster(); }
template <int kWidth>
inline void storeToBlock(float* to, int rank, const Pack<float, kWidth>& value) {
  emulatedCheck(rank >= 0 && rank < blocksOfCluster(), "a cluster has no such block");
  auto* const there = (unsigned char*)to + (rank - blockOfCluster()) * tenon_emulated_pitch;
  *(Pack<float, kWidth>*)there = value;
}
inline void sendToBlock(float* to, int rank, float value, ByteBarrier* barrier) {
  storeToBlock(to, rank, Pack<float, 1>{{value}});
  emulatedThere(barrier, rank)->bytes -= (int)sizeof(float);
}
template <int kWidth>
inline void sendToBlock(float* to, int rank, const Pack<float, kWidth>& value, ByteBarrier* barrier) {
  storeToBlock(to, rank, value);
  emulatedThere(barrier, rank)->bytes -= (int)sizeof(value);
}
