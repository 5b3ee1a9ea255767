// What attention is given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"
#include "backends/cuda/kernels/common/tile_map_parameters.h"

namespace tenon::backends::cuda {

// A block per row and head, operands of any type.
struct AttentionParameters {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;  // null: none
  void* y = nullptr;
  int64_t heads = 1;
  int64_t queries = 0;
  int64_t keys = 0;
  int32_t width = 0;        // columns of q and k in a head
  int32_t valueWidth = 0;   // of v and y
  float scale = 1;          // of scores; with a cap, of what the hyperbolic tangent is taken
  float softcap = 0;        // 0: none
  int32_t emptyIsZero = 0;  // a row without a sum is 0
  int32_t causal = 0;       // a row sees the keys up to its own number
  int64_t qStride[3] = {};  // batch, head, row
  int64_t kStride[3] = {};
  int64_t vStride[3] = {};
  int64_t yStride[3] = {};
  int64_t maskStride[3] = {};  // head, query, key; 0 where it broadcasts
  Space<2> maskBatches;        // the batch, the mask
  int64_t sharing = 1;         // heads that have the same keys
};
constexpr int kAttentionThreads = 128;

// Tensor cores: tiles of keys (flash_attention.cu), or warpgroups (group_attention.cu).
struct FlashParameters {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;  // null: none
  void* y = nullptr;
  float* partial = nullptr;     // with blocks that share keys: [share][block][FlashChoice::partialFloats()]
  uint32_t* arrived = nullptr;  // of each block of rows: shares that are there; 0 between launches
  Divider tiles;                // blocks of a head
  Divider heads;
  int32_t queries = 0;
  int32_t keys = 0;
  int32_t keysOfBlock = 0;  // a multiple of KEYS
  int32_t rowsOfBlock = 0;  // of groups: a multiple of theirs
  int32_t width = 0;        // a multiple of 8
  int32_t maskInPairs = 0;  // neighbouring keys of the mask can be read at once
  int32_t emptyIsZero = 0;  // a row without a sum is 0
  int32_t causal = 0;       // a row sees the keys up to its own number
  float scale = 1;          // of scores in base 2; with a cap, of their hyperbolic tangents
  float inner = 0;          // with a cap: of what the hyperbolic tangent is taken
  int64_t qStride[3] = {};  // batch, head, row: multiples of 16 bytes
  int64_t kStride[3] = {};
  int64_t vStride[3] = {};
  int64_t yStride[3] = {};
  int64_t maskStride[4] = {};  // batch, head, query, key; 0 where it broadcasts
  Divider sharing;             // heads that have the same keys
  Divider masks;               // how many batches the mask has: one, or a divisor of theirs
};

// Few queries, whose keys the warps of a cluster of blocks share (row_attention.cu); keysOfBlock: a multiple of 16.
struct RowAttentionParameters : FlashParameters {
  int32_t chunksOfBlock = 0;  // of four results, that a block of the cluster finishes
  Divider chunksDivider;      // the same
};
constexpr int kRowAttentionMostShared = 96 << 10;

// Warpgroups that walk along stages of keys (stream_attention.cuh).
struct StreamParameters : FlashParameters {
  uint32_t allTiles = 0;     // of all heads; blocks take one after another
  TileMap qMap, kMap, vMap;  // boxes of 64 columns and a group's or a stage's rows of [batch][heads][rows][columns]
};
constexpr int kStreamHeadBytes = 1024;  // of shared memory, with the barriers
constexpr int kStreamMaskPad = 4;       // floats behind the mask of a stage

}  // namespace tenon::backends::cuda
