// How many iterations a loop has slices and parts for.
#include "backends/cuda/kernels/regions/loop_places.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::backends::cuda {

int64_t LoopPlaces::mostIterations() const {
  int64_t most = limit;
  for (const auto* sequences : {&sliced, &parts}) {
    for (const auto& sequence : *sequences) most = std::min(most, sequence.slices.count);
  }
  return most;
}

void LoopPlaces::checkIteration(int64_t k) const {
  ops::checkIterationLimit(k, limit);
  for (const auto& from : sliced) {
    checkUser(k < from.slices.count, "loop: iteration {} reads beyond the {} slices of a tensor {}", k,
              from.slices.count, from.shape.dims.text());
  }
  for (const auto& to : parts) {
    checkUser(k < to.slices.count, "loop: iteration {} gives more than the {} parts of a result {}", k, to.slices.count,
              to.shape.dims.text());
  }
}

}  // namespace tenon::backends::cuda
