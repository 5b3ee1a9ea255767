// What nobody reads goes.
#include "passes/common/pass.h"

namespace tenon::passes {

int pass_dead_code(Graph& graph, const Options&) { return graph::removeDeadNodes(graph); }

}  // namespace tenon::passes
