// What the copies around the regions of loops and conditionals are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

// `outer` times `rows` pieces of `bytes` bytes; strides in bytes, which may be negative.
struct Move {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t outer = 1;
  int64_t rows = 1;
  int64_t bytes = 0;
  int64_t toOuter = 0;
  int64_t toRow = 0;
  int64_t fromOuter = 0;
  int64_t fromRow = 0;
  int64_t unit = 1;  // bytes that move as one: a divisor of all of them and of the addresses; 1, 2, 4, 8 or 16
};

// Of one launch; none reads what another one writes.
constexpr int kMostMoves = 16;

struct MoveParameters {
  Move moves[kMostMoves];
};

}  // namespace tenon::backends::cuda
