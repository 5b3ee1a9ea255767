// Running sums of every type.
#include "ops/op/cumulative.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class CumulativeTactic final : public OwnTacticOf<ops::Cumulative> {
 public:
  using OwnTacticOf::OwnTacticOf;
  int version() const override { return 2; }  // as cumulative_launch.cpp says
};

}  // namespace

const compile::Tactic& tactic_cumulative() {
  static const CumulativeTactic kTactic("cuda.cumulative", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
