// What TopK is given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"

namespace tenon::backends::cuda {

constexpr int kTopKItems = 16;             // elements of a thread of a block that selects
constexpr int kTopKThreads = 512;          // of such a block, at most
constexpr int kMostSelectedBytes = 32768;  // of chosen elements, which a block sorts in shared memory
constexpr int kMostOfThread = 4;           // k of a thread that walks along a line

struct TopKParameters {
  const void* x = nullptr;
  void* values = nullptr;
  void* indices = nullptr;
  int64_t extent = 0, k = 0;
  int64_t xStride = 0, yStride = 0;  // along the axis
  int64_t firstLine = 0;             // of the launch
  Space<2> lines;                    // y, x
  // Of a launch that selects: `count` elements of each line, or of each list of chosen ones, in chunks.
  const void* from = nullptr;
  void* to = nullptr;  // lists of chosen ones, `room` apart
  int64_t count = 0;
  int64_t fromRoom = 0, toRoom = 0;
  int64_t chunk = 0, chunks = 1;
  // Of a launch that sorts: keys by line, `capacity` apart; `ranks`: the order by the lower halves of wide values.
  uint64_t* keys = nullptr;
  uint64_t* ranks = nullptr;
  int64_t capacity = 0;
};

}  // namespace tenon::backends::cuda
