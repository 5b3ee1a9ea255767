// Recurrent networks of any kind and size.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/recurrent.h"

namespace tenon::backends::cuda {

namespace {

class RecurrentTactic final : public OwnTacticOf<ops::Recurrent> {
 public:
  RecurrentTactic() : OwnTacticOf("cuda.recurrent", Formats::kLinear, 20) {}

 protected:
  compile::Support acceptsOp(const ops::Recurrent& op, const compile::Problem&) const override {
    return op.takesInput ? compile::no("the input's products are another node's here") : compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_recurrent() {
  static const RecurrentTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
