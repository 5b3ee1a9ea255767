// Columns of moved pixels.
#include "ops/op/deformable_columns.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_deformable_columns() {
  static const OwnTacticOf<ops::DeformableColumns> kTactic("cuda.deformable_columns", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
