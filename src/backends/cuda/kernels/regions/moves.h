// Copies around the regions of loops and conditionals, collected and launched together.
#pragma once

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/regions/regions_parameters.h"
#include "core/dims.h"

namespace tenon::backends::cuda {

Code moveCode();

// A tensor as slices along an axis.
struct Slices {
  Slices() = default;
  Slices(DataType type, const Dims& dims, int64_t axis);
  int64_t outer = 1;
  int64_t count = 0;
  int64_t bytes = 0;  // of a piece: a slice has `outer` of them
  size_t sliceBytes() const { return static_cast<size_t>(outer * bytes); }
};

// Sets the widest unit that the addresses and strides of a move allow, and `also`. Nothing to move: false.
bool setUnit(Move& move, std::initializer_list<int64_t> also = {});

// So that many units of a move are copied.
unsigned blocksOfMove(int64_t units);
inline int64_t unitsOf(const Move& move) { return move.outer * move.rows * (move.bytes / move.unit); }
constexpr unsigned kMoveBlock = 256;

// Launches when told to, or when it is full. Bytes that are nowhere or already there are left out.
class Moves {
 public:
  explicit Moves(const Module& module) : function_(module.function("tenon_move")) {}
  void add(const void* from, void* to, size_t bytes, void* stream);
  // Between a whole tensor and slices that stand apart, `pitch` bytes from one to the next: the first `count` of them,
  // of the tensor in the opposite order where `reverse`.
  void split(const Slices& slices, const void* whole, void* apart, size_t pitch, void* stream);
  void join(const Slices& slices, const void* apart, size_t pitch, void* whole, int64_t count, bool reverse,
            void* stream);
  void launch(void* stream);

 private:
  void add(Move move, void* stream);
  CUfunction function_;
  MoveParameters parameters_;
  unsigned count_ = 0;
  int64_t most_ = 0;  // units of a move
};

}  // namespace tenon::backends::cuda
