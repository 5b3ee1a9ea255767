// Softmax of floating types.
#include "ops/op/softmax.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class SoftmaxTactic final : public OwnTacticOf<ops::Softmax> {
 public:
  SoftmaxTactic() : OwnTacticOf("cuda.softmax", Formats::kAlsoChannelsLast, 10) {}
  int version() const override { return 3; }
};

}  // namespace

const compile::Tactic& tactic_softmax() {
  static const SoftmaxTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
