// Products of halves by tensor cores in small tiles: which problems they take, in which forms, and their code
// (kernels/tensor_matmul.cuh).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/run/own_kernel.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {

// A block computes rows x columns results by so many warps along rows, columns and the inner extent; `splits` blocks
// share the inner extent of a tile.
struct TensorForm {
  int rows = 64;
  int columns = 64;
  int rowWarps = 2;
  int columnWarps = 2;
  int innerWarps = 2;
  int splits = 1;

  int threads() const { return 32 * rowWarps * columnWarps * innerWarps; }
  int stages() const;                                // tiles of operands in shared memory
  size_t sharedBytes(bool transposeB) const;
  bool sameCode(const TensorForm& other) const;      // all but the splits
  std::string text() const;                          // "64x64,2x2x2,1"
  static TensorForm parse(std::string_view text);    // UserError when the text is wrong
};

struct ProductExtents {
  int64_t rows = 0, columns = 0, inner = 0;
};

Code tensorCode(const ops::MatMul& op, const Types& types, const TensorForm& form, bool constantB);

// Forms worth measuring, the one that should be fastest first; none for products so large that libraries do better.
std::vector<TensorForm> tensorForms(const ProductExtents& extents);

// Parameters of a record: "[f16,f16] [f16];64x64,2x2x2,1;constant".
struct TensorChoice {
  Types types;
  TensorForm form;
  bool constantB = false;  // the second operand never changes
  std::string text() const;
  static TensorChoice read(const plan::KernelRecord& record);
};

}  // namespace tenon::backends::cuda
