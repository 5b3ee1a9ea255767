// Channel shuffles become one gather of channels.
#pragma once

#include "passes/pipeline.h"

namespace tenon::passes {

// reshape [N,C,..] -> [N,g,C/g,..], transpose of axes 1 and 2, reshape -> [N,C,..] is a gather along axis 1, which
// the CPU's kernels do in row-major and channels-last memory alike. Only where g and C are constants, and only there:
// elsewhere the transpose has the better kernel.
int foldShuffle(graph::Graph& graph, const Options& options);

}  // namespace tenon::passes
