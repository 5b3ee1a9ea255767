// Bits of one type as those of another.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/bitcast.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_bitcast() {
  static const OwnTacticOf<ops::BitCast> kTactic("cuda.bitcast", Formats::kAlsoChannelsLast, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
