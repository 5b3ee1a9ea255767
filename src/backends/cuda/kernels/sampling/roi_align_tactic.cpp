// Sampled regions of maps.
#include "ops/op/roi_align.h"

#include "backends/cuda/kernels/sampling/sampling_parameters.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class RoiAlignTactic final : public OwnTacticOf<ops::RoiAlign> {
 public:
  using OwnTacticOf::OwnTacticOf;
  int version() const override { return 2; }

 private:
  compile::Support acceptsOp(const ops::RoiAlign&, const compile::Problem& problem) const override {
    if (problem.inputs.size() <= kMostMaps + 2) return compile::yes();
    return compile::no("{} maps; expected at most {}", problem.inputs.size() - 2, kMostMaps);
  }
};

}  // namespace

const compile::Tactic& tactic_roi_align() {
  static const RoiAlignTactic kTactic("cuda.roi_align", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
