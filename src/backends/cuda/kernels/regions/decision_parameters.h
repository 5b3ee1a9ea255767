// What the kernels are given by which a GPU decides about loops and conditionals in a graph.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/regions/regions_parameters.h"

namespace tenon::backends::cuda {

// Of a loop, in the device's memory. Behind the loop `iteration` is how many there were.
struct LoopState {
  int64_t iteration = 0;
  int64_t limit = 0;  // no iteration has this number
};

struct LoopBegin {
  LoopState* loop = nullptr;
  const void* count = nullptr;  // null: `limit` is known
  int64_t limit = 0;
  int32_t countBytes = 8;
};

struct LoopDecision {
  LoopState* loop = nullptr;
  const unsigned char* answer = nullptr;  // of the loop's condition; null: there is none
  int64_t most = 0;                       // iterations that there are slices and parts for
  int64_t* fault = nullptr;               // of the host: 1 and the number of an iteration beyond those
  uint64_t handle = 0;
  int32_t isFirst = 0;
};

struct BranchDecision {
  const unsigned char* condition = nullptr;
  uint64_t handle = 0;
};

// What a copy's place follows from.
enum class TurnBy : int32_t {
  kNothing,
  kIteration,       // its number
  kIterationsLeft,  // the loop's limit less it, less one
  kNext,            // the number of the next one, at most count - 1
  kNextFromEnd,     // count - 1 less that
  kAll,             // one row for each iteration so far, the last one first in `to`
};

// `move` with both addresses moved on by so many steps.
struct Turn {
  Move move;
  int64_t fromStep = 0;
  int64_t toStep = 0;
  int64_t count = 0;
  TurnBy by = TurnBy::kNothing;
};

// Of one launch; none reads what another one writes.
constexpr int kMostTurns = 16;

struct TurnParameters {
  const LoopState* loop = nullptr;
  Turn turns[kMostTurns];
};

}  // namespace tenon::backends::cuda
