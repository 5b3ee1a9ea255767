// When the block-wise pointwise kernel can be used for several outputs.
#include "ops/op/multi_pointwise.h"
#include "backends/cpu/tactics/common/scalar_work.h"

namespace tenon::backends::cpu {

const compile::Tactic& tactic_multi_pointwise() {
  static const BlockwiseTactic<ops::MultiPointwise> kTactic("cpu.multi_pointwise",
                                                            "pointwise operators with several outputs");
  return kTactic;
}

}  // namespace tenon::backends::cpu
