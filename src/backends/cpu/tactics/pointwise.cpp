// When the block-wise pointwise kernel can be used.
#include "ops/op/pointwise.h"
#include "backends/cpu/tactics/common/scalar_work.h"

namespace tenon::backends::cpu {

const compile::Tactic& tactic_pointwise() {
  static const BlockwiseTactic<ops::Pointwise> kTactic("cpu.pointwise", "pointwise operators");
  return kTactic;
}

}  // namespace tenon::backends::cpu
