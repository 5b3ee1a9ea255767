// Residual sums that no product has taken go into normalizations (residual_sums.h).
#include "passes/common/pass.h"
#include "passes/common/residual_sums.h"

namespace tenon::passes {

int pass_fuse_left_sums(Graph& graph, const Options& options) { return joinSums(graph, options, false); }

}  // namespace tenon::passes
