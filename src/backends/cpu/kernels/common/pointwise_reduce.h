// Loops of a reduction with a pointwise prologue: how its operands lie in memory decides the form.
#pragma once

#include <span>
#include <vector>

#include "core/strided.h"
#include "ops/op/pointwise_reduce.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

struct PointwiseReduceLoops {
  Dims dims;           // of the values that are reduced
  LoopSpace kept;      // operands: output, then inputs
  LoopSpace reduced;   // operands: the widest input, then inputs
  bool byRows = true;  // runs of values lie along a reduced axis; else along a kept one
  int64_t run =
      0;  // values of such a run, which every input walks by steps of 1 or stands still along; 0: there is none

  PointwiseReduceLoops() = default;
  PointwiseReduceLoops(const ops::PointwiseReduce& op, std::span<const runtime::TensorShape> inputs,
                       const runtime::TensorShape& output);
};

// Sums or means of |x|, which rows are read for once.
inline bool sumsMagnitudes(const ops::PointwiseReduce& op) {
  return (op.op == ops::ReduceOp::kSum || op.op == ops::ReduceOp::kAvg) &&
         op.expr == ops::ScalarExpr::of(ops::ScalarOp::k_abs);
}

}  // namespace tenon::backends::cpu
