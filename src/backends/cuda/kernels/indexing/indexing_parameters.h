// What gathers and scatters are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

struct GatherParameters {
  const void* data = nullptr;
  const void* indices = nullptr;
  void* y = nullptr;
  int64_t count = 0;                         // units of the result
  int64_t inner = 1;                         // units of a row
  int64_t picks = 1, outer = 1, extent = 1;  // of mode default; of nd: picks of one batch
  int64_t batchSize = 0;                     // nd: rows of one batch
  int32_t length = 0;                        // nd: axes that an index names
  int64_t axisExtent[kMaxAxes] = {};         // nd
  int64_t axisRows[kMaxAxes] = {};           // nd: rows that a step along the axis skips
};

struct ScatterParameters {
  void* y = nullptr;
  const void* indices = nullptr;
  const void* updates = nullptr;
  int64_t count = 0;   // units of the updates
  int64_t inner = 1;   // units of a row
  int32_t length = 0;  // axes that an index names
  int64_t axisExtent[kMaxAxes] = {};
  int64_t axisRows[kMaxAxes] = {};  // rows that a step along the axis skips
};

// New rows of a cache; all counts in units.
struct CacheUpdateParameters {
  void* y = nullptr;
  const void* update = nullptr;
  const void* start = nullptr;  // by sample
  int64_t count = 0;            // units of the update
  int64_t inner = 1;            // units of a row
  int64_t rows = 1;             // of the update, per head
  int64_t capacity = 1;         // of the cache, per head
  int64_t heads = 1;
};

// Mode element of both: each element has an index of its own along the axis of `data`, which is read or written.
struct IndexedElementParameters {
  void* data = nullptr;
  const void* indices = nullptr;
  void* elements = nullptr;  // of the shape of the indices: the result, or the updates
  int64_t extent = 1, axisStride = 1;
  Space<2> space;  // elements (and indices), data with the axis standing still
};

// Elements (or rows) of the data combined with updates, in the order of the updates.
struct ScatterReduceParameters {
  const void* data = nullptr;
  const void* indices = nullptr;
  const void* updates = nullptr;
  void* y = nullptr;
  int64_t count = 0;  // updates, or rows of them
  int64_t rows = 0;   // of the data: elements, or rows
  int64_t inner = 1;  // elements of a row
  int64_t extent = 1, axisStride = 1;
  Space<2> space;  // indices, rows of data with the axis standing still
  // Lists of the updates of each row:
  uint32_t* counts = nullptr;   // by row; zero at first
  uint32_t* sums = nullptr;     // of counts, by block of kScatterBlock rows
  uint32_t* starts = nullptr;   // by row: where its list begins
  uint32_t* targets = nullptr;  // by update: its row, or none
  uint32_t* places = nullptr;   // by update: within the list, as it came
  uint32_t* lists = nullptr;    // updates, row by row
  uint32_t* ordered = nullptr;  // the same, of lists of more than a warp
  int32_t byRow = 0;            // a warp for each row, which copies the data too, or for each update
  // Where blocks look for the updates of their rows themselves:
  uint64_t* keys = nullptr;   // of a block: row, then update
  uint32_t* taken = nullptr;  // keys that blocks have
  int64_t rowsOfBlock = 1;
};
constexpr int kScatterThreads = 256;
constexpr int kScatterItems = 16;  // counts of a thread
constexpr int kScatterBlock = kScatterThreads * kScatterItems;

}  // namespace tenon::backends::cuda
