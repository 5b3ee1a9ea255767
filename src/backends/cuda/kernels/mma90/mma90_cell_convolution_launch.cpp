// Convolutions to few channels as products of cells.
#include "backends/cuda/kernels/mma90/mma90_cells.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_mma90_cell_convolution() { return mma90CellRow<ops::Convolution>("mma90_cell_convolution"); }

}  // namespace tenon::backends::cuda
