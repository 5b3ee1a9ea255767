// Deconvolutions as products of cells.
#include "backends/cuda/kernels/mma90/mma90_cells_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_mma90_deconvolution() {
  static const Mma90CellTactic<ops::Deconvolution> kTactic("cuda.mma90_deconvolution");
  return kTactic;
}

}  // namespace tenon::backends::cuda
