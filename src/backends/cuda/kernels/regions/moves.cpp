// Copies of pieces: how wide they may be, and their launch.
#include "backends/cuda/kernels/regions/moves.h"

#include <algorithm>

#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {

Code moveCode() { return {"move.cu", {}, {}}; }

Slices::Slices(DataType type, const Dims& dims, int64_t axis) : bytes(static_cast<int64_t>(bytesOf(type, 1))) {
  for (int i = 0; i < dims.rank; ++i) {
    if (i < axis) outer *= dims[i];
    if (i == axis) count = dims[i];
    if (i > axis) bytes *= dims[i];
  }
}

bool setUnit(Move& move, std::initializer_list<int64_t> also) {
  if (move.outer == 0 || move.rows == 0 || move.bytes == 0) return false;
  const auto divides = [&](int64_t bytes) { return bytes % move.unit == 0; };
  const auto fits = [&] {
    const auto unit = static_cast<size_t>(move.unit);
    return divides(move.bytes) && divides(move.toOuter) && divides(move.toRow) && divides(move.fromOuter) &&
           divides(move.fromRow) && isAligned(move.to, unit) && isAligned(move.from, unit) &&
           std::all_of(also.begin(), also.end(), divides);
  };
  for (move.unit = 16; !fits();) move.unit /= 2;
  return true;
}

unsigned blocksOfMove(int64_t units) {
  constexpr int64_t kMostBlocks = 2048;  // each thread goes on behind the others
  return static_cast<unsigned>(std::min(kMostBlocks, (units + kMoveBlock - 1) / kMoveBlock));
}

void Moves::add(const void* from, void* to, size_t bytes, void* stream) {
  if (from == to) return;
  Move move;
  move.to = to;
  move.from = from;
  move.bytes = static_cast<int64_t>(bytes);
  add(move, stream);
}

void Moves::split(const Slices& slices, const void* whole, void* apart, size_t pitch, void* stream) {
  add({apart, whole, slices.outer, slices.count, slices.bytes, slices.bytes, static_cast<int64_t>(pitch),
       slices.count * slices.bytes, slices.bytes, 1},
      stream);
}

void Moves::join(const Slices& slices, const void* apart, size_t pitch, void* whole, int64_t count, bool reverse,
                 void* stream) {
  if (count == 0) return;
  auto* const to = static_cast<char*>(whole) + (reverse ? (count - 1) * slices.bytes : 0);
  add({to, apart, slices.outer, count, slices.bytes, slices.count * slices.bytes,
       reverse ? -slices.bytes : slices.bytes, slices.bytes, static_cast<int64_t>(pitch), 1},
      stream);
}

void Moves::add(Move move, void* stream) {
  if (!setUnit(move)) return;
  parameters_.moves[count_++] = move;
  most_ = std::max(most_, unitsOf(move));
  if (count_ == kMostMoves) launch(stream);
}

void Moves::launch(void* stream) {
  if (count_ == 0) return;
  launchGrid(function_, blocksOfMove(most_), count_, 1, kMoveBlock, &parameters_, stream);
  count_ = 0;
  most_ = 0;
}

}  // namespace tenon::backends::cuda
