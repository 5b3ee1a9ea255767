// Residual sums go into normalizations (residual_sums.h), but for those that a product may take.
#include "passes/common/pass.h"
#include "passes/common/residual_sums.h"

namespace tenon::passes {

int pass_fuse_add_norm(Graph& graph, const Options& options) { return joinSums(graph, options, true); }

}  // namespace tenon::passes
