// The facts of the CUDA toolkit's headers.
#include <cuda_runtime_api.h>

#include <cstddef>

#include "facts.h"

namespace hostcuda_test {

Facts toolkitFacts() {
  Facts facts;
#include "facts.inc"
  return facts;
}

}  // namespace hostcuda_test
