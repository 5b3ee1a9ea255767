// Deconvolutions as products of cells.
#include "backends/cuda/kernels/mma90/mma90_cells.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_mma90_deconvolution() { return mma90CellRow<ops::Deconvolution>("mma90_deconvolution"); }

}  // namespace tenon::backends::cuda
