// TopK of any type and extent.
#include "ops/op/topk.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class TopKTactic final : public OwnTacticOf<ops::TopK> {
 public:
  using OwnTacticOf::OwnTacticOf;
  int version() const override { return 2; }  // as topk_launch.cpp says
};

}  // namespace

const compile::Tactic& tactic_topk() {
  static const TopKTactic kTactic("cuda.topk", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
