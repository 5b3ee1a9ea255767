// Elements combined with others at indices.
#include "ops/op/scatter_reduce.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

namespace {

class ScatterReduceTactic final : public OwnTacticOf<ops::ScatterReduce> {
 public:
  using OwnTacticOf::OwnTacticOf;
  int version() const override { return 2; }  // as scatter_reduce_launch.cpp says
};

}  // namespace

const compile::Tactic& tactic_scatter_reduce() {
  static const ScatterReduceTactic kTactic("cuda.scatter_reduce", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
