// Concatenation by strided copies.
#include "ops/op/concat.h"

#include "backends/cuda/build/own_tactic.h"

namespace tenon::backends::cuda {

const build::Tactic& tactic_concat() {
  static const OwnTacticOf<ops::Concat> kTactic("cuda.concat", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
