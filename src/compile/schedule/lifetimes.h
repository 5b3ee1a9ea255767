// When the tensors of a program live, which share memory, and where they lie.
#pragma once

#include "compile/assignment.h"
#include "core/log.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace tenon::compile {

// The tensor whose memory a view lies in; the tensor itself where it is none.
plan::TensorRecord& ownerOf(plan::Program& program, int32_t tensor);

// The first and the last step that touch each tensor, and those of what it is a view of.
void noteLifetimes(plan::Program& program);

// A result takes the memory of an input that dies in the same step where the operator's facts or the kernel allow it.
// `step` by node, -1 without a kernel; `tensor` by value.
void shareInPlace(const graph::Graph& graph, const Assignment& assignment, const std::vector<int32_t>& step,
                  const std::vector<int32_t>& tensor, plan::Program& program);

// Offsets in the arena. `workspaceUntil` by step: the last one during which its workspace is in use.
void layOut(plan::Program& program, const std::vector<int32_t>& workspaceUntil, Log& log);

}  // namespace tenon::compile
