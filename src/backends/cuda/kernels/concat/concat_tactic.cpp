// Concatenation: one launch for many parts.
#include "ops/op/concat.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ConcatTactic final : public OwnTacticOf<ops::Concat> {
 public:
  ConcatTactic() : OwnTacticOf("cuda.concat", Formats::kAlsoChannelsLast, 10) {}
  int version() const override { return 2; }
};

}  // namespace

const compile::Tactic& tactic_concat() {
  static const ConcatTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
