// Products of matrices of 8-bit integers with exact 32-bit sums: tiles of rows times packed panels of columns, compiled
// for every SIMD width and for the instructions that multiply and add four bytes at once (AVX512-VNNI).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace tenon::backends::cpu {

constexpr int64_t kBytePanel = 16;  // columns of a panel
constexpr int64_t kByteQuad = 4;    // neighbours along the depth that lie together
constexpr int64_t kByteRows = 8;    // of a tile, at most

inline int64_t byteQuads(int64_t depth) { return (depth + kByteQuad - 1) / kByteQuad; }
inline int64_t bytePanels(int64_t columns) { return (columns + kBytePanel - 1) / kBytePanel; }
// [quads][16 columns][4], zeros where there is nothing, then for each column a multiple of the sum of its bytes in i32.
inline int64_t bytePanelBytes(int64_t depth) {
  return byteQuads(depth) * kBytePanel * kByteQuad + kBytePanel * static_cast<int64_t>(sizeof(int32_t));
}

// Sums of products of rows of bytes, which lie in `tapCount` pieces of `quads` quads, with the columns of one panel or
// two: [tap][quad][16 columns][4], then for each column what is taken away from its sums, in i32.
struct ByteTile {
  const uint8_t* const* rows = nullptr;  // unsigned bytes
  const int64_t* taps = nullptr;         // what is added to their addresses
  int64_t tapCount = 1;
  int64_t quads = 0;
  const int8_t* panels = nullptr;
  int64_t panelStep = 0;  // bytes
  int rowCount = 0;       // 1 to kByteRows
  int panelCount = 0;     // 1 or 2
  int64_t width = 0;      // columns to store
  int32_t* out = nullptr;
  int64_t outStep = 0;  // elements
};
using ByteTileFunction = void (*)(const ByteTile&);

// The best one for this processor.
ByteTileFunction byteTileFunction();

// A tile whose sums become results of i32, f32 or, of two panels, 8 bits at once, as those of byte_finish_simd.h do;
// null where the processor lacks the instructions. Results of 8 bits are stored for both panels whole.
struct ByteColumns;
using ByteTileFinish = void (*)(const ByteTile& tile, const ByteColumns& columns, DataType type, void* out,
                                int64_t outStep);
ByteTileFinish byteTileFinish();

// How whole quads of up to sixteen columns, `step` bytes from row to row, are packed, as many as are returned, of rows
// behind which sixteen bytes may be read, with the bits `flip` of all bytes changed; packed ones are added up by
// column; a row of bytes changes its sign bits.
struct BytePacking {
  int64_t (*packQuads)(const int8_t* from, int64_t depth, int64_t step, int64_t columns, uint8_t flip, int8_t* to,
                       int32_t* sums) = nullptr;
  // kBytePanelsTogether whole panels, `panelBytes` apart.
  int64_t (*packPanels)(const int8_t* from, int64_t depth, int64_t step, uint8_t flip, int8_t* to, int64_t panelBytes,
                        int32_t* sums) = nullptr;
  void (*sumQuads)(const int8_t* packed, int64_t quads, int32_t* sums) = nullptr;
  void (*changeSigns)(const int8_t* from, int64_t depth, uint8_t* to) = nullptr;
};

constexpr int64_t kBytePanelsTogether = 4;
// Of bytes with a sign, or of unsigned ones less 128. A panel ends with `factor` times the sums of its columns.
struct BytePanelForm {
  bool isSigned = true;
  int32_t factor = 128;
};
// Packs up to 64 columns of bytes from element (k, c) at from[k * depthStep + c * columnStep].
void packBytePanels(const int8_t* from, int64_t depth, int64_t columns, int64_t depthStep, int64_t columnStep,
                    int8_t* to, BytePanelForm form = {});
// Bytes plus 128, which may stay where they are.
void changeByteSigns(const void* from, int64_t count, uint8_t* to);
// A row of `depth` bytes, `step` apart, plus 128 each; to whole quads.
void shiftBytes(const int8_t* from, int64_t depth, int64_t step, uint8_t* to);

}  // namespace tenon::backends::cpu
