// What recurrent networks are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

struct RecurrentParameters {
  const void* products = nullptr;   // [steps, batch, directions, gates * hidden]
  const void* weights = nullptr;    // [directions, gates * hidden, hidden]
  const void* bias = nullptr;       // [directions, hidden], or null
  const void* peepholes = nullptr;  // [directions, 3 * hidden], or null
  const void* first = nullptr;      // [directions, batch, hidden], or null
  const void* firstCell = nullptr;
  const void* lengths = nullptr;  // [batch], or null
  void* y = nullptr;              // [steps, batch, directions, hidden]
  void* last = nullptr;           // [directions, batch, hidden]
  void* lastCell = nullptr;
  float* exchange = nullptr;    // [groups, 2, rows, hidden] states, where blocks meet in global memory
  unsigned* arrived = nullptr;  // [groups], zeros
  int32_t steps = 0, batch = 0, directions = 1, hidden = 0;
  int32_t units = 0;    // of a block
  int32_t parts = 1;    // blocks that share the units of a direction
  int32_t rows = 1;     // of the batch, of a block
  int32_t reverse = 0;  // the first direction
};

}  // namespace tenon::backends::cuda
