// Reductions of every type.
#include "ops/op/reduce.h"

#include "backends/cuda/kernels/reduction/reducing_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ReduceTactic final : public ReducingTactic<ops::Reduce> {
 public:
  ReduceTactic() : ReducingTactic("cuda.reduce", Formats::kAlsoChannelsLast, 10) {}
};

}  // namespace

const compile::Tactic& tactic_reduce() {
  static const ReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
