// Tiles of products of bytes by registers that are matrices themselves (AMX): 32 rows by two panels at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/cpu/kernels/simd/byte_product_simd.h"
#include "core/platform/tile_registers.h"

namespace tenon::backends::cpu {

constexpr int64_t kMostByteRows = 32;  // of a tile

// The registers are those of core/platform/tile_registers.h, or act like them.
template <typename Registers>
class ByteTileProduct {
 public:
  explicit ByteTileProduct(const ByteTile& tile) : t_(tile), tailBytes_(tile.quads * kByteQuad % kPieceBytes) {
    for (int half = 0; half < 2; ++half) isEven_[half] = isEven(half * kRows);
    if (tailBytes_ != 0) std::memset(tails_, 0, sizeof(tails_));
  }

  // As a ByteTileFunction does.
  void run() { t_.panelCount == 2 ? sum<true>() : sum<false>(); }

 private:
  static constexpr int kRows = 16;            // of a register
  static constexpr int64_t kPieceBytes = 64;  // of a row of one
  static constexpr int64_t kQuadBytes = kBytePanel * kByteQuad;

  template <bool kTwoPanels>
  void sum() {
    begin();
    const int64_t bytes = t_.quads * kByteQuad;
    const int64_t all = t_.tapCount * bytes;
    for (int64_t tap = 0; tap < t_.tapCount; ++tap) {
      for (int64_t at = 0; at < bytes; at += kPieceBytes) {
        const int64_t depth = tap * bytes + at;  // of all taps
        loadPanel<6>(t_.panels, depth, all - depth);
        if (kTwoPanels) loadPanel<7>(t_.panels + t_.panelStep, depth, all - depth);
        loadRows<4, 0>(t_.taps[tap] + at, bytes - at);
        Registers::template multiplyBytes<0, 4, 6>();
        if (kTwoPanels) Registers::template multiplyBytes<1, 4, 7>();
        if (t_.rowCount <= kRows) continue;
        loadRows<5, 1>(t_.taps[tap] + at, bytes - at);
        Registers::template multiplyBytes<2, 5, 6>();
        if (kTwoPanels) Registers::template multiplyBytes<3, 5, 7>();
      }
    }
    store<0>(0, 0);
    if (kTwoPanels) store<1>(0, 1);
    if (t_.rowCount <= kRows) return;
    store<2>(1, 0);
    if (kTwoPanels) store<3>(1, 1);
  }

  // Sums begin with what is taken away from them, the same row sixteen times.
  void begin() {
    const int64_t all = t_.tapCount * t_.quads * kQuadBytes;
    int32_t any = 0;
    for (int panel = 0; panel < t_.panelCount; ++panel) {
      int32_t less[kBytePanel];
      std::memcpy(less, t_.panels + panel * t_.panelStep + all, sizeof(less));
      for (int64_t c = 0; c < kBytePanel; ++c) {
        any |= less[c];
        first_[panel][c] = -less[c];
      }
    }
    any == 0 ? clear() : loadFirst();
  }

  void clear() {
    Registers::template zero<0>();
    Registers::template zero<1>();
    if (t_.rowCount <= kRows) return;
    Registers::template zero<2>();
    Registers::template zero<3>();
  }

  void loadFirst() {
    const auto* const second = first_[t_.panelCount - 1];
    Registers::template load<0>(first_[0], 0);
    Registers::template load<1>(second, 0);
    if (t_.rowCount <= kRows) return;
    Registers::template load<2>(first_[0], 0);
    Registers::template load<3>(second, 0);
  }

  // Whether a register's rows lie equally far apart.
  bool isEven(int first) const {
    if (t_.rowCount < first + kRows) return false;
    const int64_t step = t_.rows[first + 1] - t_.rows[first];
    for (int r = 2; r < kRows; ++r) {
      if (t_.rows[first + r] - t_.rows[first + r - 1] != step) return false;
    }
    return true;
  }

  // What lies behind the quads of a piece meets zeros of the rows, but has to be there.
  template <int kTile>
  void loadPanel(const int8_t* panel, int64_t depth, int64_t left) {
    const int8_t* from = panel + depth * kBytePanel;
    if (left < kPieceBytes) {
      std::memcpy(lastQuads_, from, static_cast<size_t>(left * kBytePanel));
      from = lastQuads_;
    }
    Registers::template load<kTile>(from, kQuadBytes);
  }

  template <int kTile, int kHalf>
  void loadRows(int64_t at, int64_t left) {
    constexpr int kFirst = kHalf * kRows;
    const bool isWhole = left >= kPieceBytes;
    if (isWhole && isEven_[kHalf]) {
      Registers::template load<kTile>(t_.rows[kFirst] + at, t_.rows[kFirst + 1] - t_.rows[kFirst]);
      return;
    }
    uint8_t* const to = isWhole ? pieces_[kHalf] : tails_[kHalf];
    const int last = std::min(t_.rowCount, kFirst + kRows);
    for (int r = kFirst; r < last; ++r) {
      uint8_t* const row = to + (r - kFirst) * kPieceBytes;
      isWhole ? static_cast<void>(std::memcpy(row, t_.rows[r] + at, kPieceBytes)) : copyTail(t_.rows[r] + at, row);
    }
    Registers::template load<kTile>(to, kPieceBytes);
  }

  // Whole quads, fewer than a piece, without a call for each row.
  void copyTail(const uint8_t* from, uint8_t* to) const {
    int64_t at = 0;
    const auto copy = [&]<size_t kBytes>() {
      if ((tailBytes_ & static_cast<int64_t>(kBytes)) == 0) return;
      std::memcpy(to + at, from + at, kBytes);
      at += kBytes;
    };
    copy.template operator()<32>();
    copy.template operator()<16>();
    copy.template operator()<8>();
    copy.template operator()<4>();
  }

  template <int kTile>
  void store(int half, int panel) {
    constexpr auto kSumBytes = static_cast<int64_t>(sizeof(int32_t));
    const int64_t width = std::min(kBytePanel, t_.width - panel * kBytePanel);
    const int rows = std::min(kRows, t_.rowCount - half * kRows);
    int32_t* const out = t_.out + half * kRows * t_.outStep + panel * kBytePanel;
    if (width == kBytePanel && rows == kRows) return Registers::template store<kTile>(out, t_.outStep * kSumBytes);
    Registers::template store<kTile>(sums_, kBytePanel * kSumBytes);
    for (int r = 0; r < rows; ++r)
      std::copy_n(sums_ + r * kBytePanel, std::max<int64_t>(width, 0), out + r * t_.outStep);
  }

  const ByteTile& t_;
  int64_t tailBytes_;
  bool isEven_[2];
  alignas(64) uint8_t pieces_[2][kRows * kPieceBytes];
  alignas(64) uint8_t tails_[2][kRows * kPieceBytes];
  alignas(64) int8_t lastQuads_[kRows * kQuadBytes];
  alignas(64) int32_t first_[2][kBytePanel];
  alignas(64) int32_t sums_[kRows * kBytePanel];
};

// Products of `rows` rows of that many taps of quads with `columns` columns.
struct ByteProductExtents {
  int64_t rows = 0, taps = 1, quads = 0, columns = 0;
};

// How they are computed here, and how many rows a tile has at most.
struct ByteTiling {
  ByteTileFunction multiply = nullptr;
  int64_t rows = kByteRows;
  bool byRegisters = false;  // of tiles: within a ByteTileScope
};
ByteTiling byteTiling(const ByteProductExtents& extents);

// What a thread does before and after it multiplies tiles.
class ByteTileScope {
 public:
  explicit ByteTileScope(const ByteTiling& tiling) {
    if (tiling.byRegisters) registers_.emplace();
  }

 private:
  std::optional<platform::TileRegisters> registers_;
};

}  // namespace tenon::backends::cpu
