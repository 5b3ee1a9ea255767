// Convolutions to few channels as products of cells.
#include "backends/cuda/kernels/mma90/mma90_cells_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_mma90_cell_convolution() {
  static const Mma90CellTactic<ops::Convolution> kTactic("cuda.mma90_cell_convolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
