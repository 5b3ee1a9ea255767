// Code and launches of GEMV-like matmuls (few rows).
#include "backends/cuda/kernels/skinny/skinny.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kRowsAtOnce[] = {1, 2, 4, 8};
constexpr size_t kPackBytes = 16;

}  // namespace

Code skinnyCode(const ops::ScalarExpr& epilogue, const Types& types, size_t firstExtra) {
  return directCode("skinny.cuh", "multiplySkinny", "SkinnyParameters", epilogue, types, firstExtra, kRowsAtOnce);
}

void SkinnyLauncher::configure(int elementBytes) {
  elementBytes_ = elementBytes;
  rowsAtOnce_ = 1;
  while (rowsAtOnce_ < 8 && rowsAtOnce_ < parameters.rows) rowsAtOnce_ *= 2;
  function_ = module_.function(fmt::format("tenon_direct_{}", rowsAtOnce_));
}

void SkinnyLauncher::launch(void* stream) {
  if (parameters.rows == 0 || parameters.columns == 0) return;
  const bool whole = parameters.inner * elementBytes_ % static_cast<int64_t>(kPackBytes) == 0;
  parameters.packs = whole && isAligned(parameters.x, kPackBytes) && isAligned(parameters.w, kPackBytes) ? 1 : 0;
  const int64_t groups = (parameters.rows + rowsAtOnce_ - 1) / rowsAtOnce_;
  checkUser(groups <= 65535, "a matmul of {} rows exceeds the grid of the GEMV kernel", parameters.rows);
  launchGrid(function_, static_cast<unsigned>((parameters.columns + 7) / 8), static_cast<unsigned>(groups), 1, 256,
             &parameters, stream);
}

}  // namespace tenon::backends::cuda
