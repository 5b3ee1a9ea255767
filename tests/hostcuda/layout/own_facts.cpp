// The facts of our header subset.
#include <cuda_runtime_api.h>

#include <cstddef>

#include "facts.h"

namespace hostcuda_test {

Facts ownFacts() {
  Facts facts;
#include "facts.inc"
  return facts;
}

}  // namespace hostcuda_test
