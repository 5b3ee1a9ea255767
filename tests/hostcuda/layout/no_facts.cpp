// Stands for the toolkit's facts where there is no toolkit.
#include "facts.h"

namespace hostcuda_test {

Facts toolkitFacts() { return {}; }

}  // namespace hostcuda_test
