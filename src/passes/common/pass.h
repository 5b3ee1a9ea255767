// What every file of a pass begins with: its declaration, the options, and the names that passes are written in.
#pragma once

#include "graph/graph.h"
#include "ops/scalar.h"
#include "pass_functions.h"
#include "passes/common/edit.h"
#include "passes/common/match.h"
#include "passes/pipeline.h"

namespace tenon::passes {

using graph::Constant;
using graph::ConstantPtr;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarInstruction;
using ops::ScalarOp;

}  // namespace tenon::passes
