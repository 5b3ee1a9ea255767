// When the block-wise pointwise kernel can be used.
#include "backends/cpu/build/scalar_work.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cpu {

const build::Tactic& tactic_pointwise() {
  static const BlockwiseTactic<ops::Pointwise> kTactic("cpu.pointwise", "pointwise operators");
  return kTactic;
}

}  // namespace tenon::backends::cpu
