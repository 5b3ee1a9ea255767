// Cache updates.
#include "ops/op/cache_update.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_cache_update() {
  static const OwnTacticOf<ops::CacheUpdate> kTactic("cuda.cache_update", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
