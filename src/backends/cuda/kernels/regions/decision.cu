// Loops and conditionals in a graph: what an iteration hands on to the next one, and whether there is one.
#include "backends/cuda/kernels/regions/decision_parameters.h"
#include "move.cuh"

KERNEL(tenon_loop_begin, LoopBegin) {
  if (threadIdx.x != 0) return;
  i64 limit = p.limit;
  if (p.count != nullptr) limit = p.countBytes == 4 ? (i64) * (const i32*)p.count : *(const i64*)p.count;
  p.loop->iteration = 0;
  p.loop->limit = limit;
}

KERNEL(tenon_loop_decision, LoopDecision) {
  if (threadIdx.x != 0) return;
  const i64 k = p.isFirst ? 0 : p.loop->iteration + 1;
  p.loop->iteration = k;
  const i64 limit = p.loop->limit;
  bool goesOn = k < limit && (p.answer == nullptr || *p.answer != 0);
  // Without a condition the limit is the number of iterations: too many of them are not begun.
  const bool isBeyond = k >= p.most || (p.answer == nullptr && limit > p.most);
  if (goesOn && isBeyond) {
    *(volatile i64*)p.fault = (k >= p.most ? k : p.most) + 1;
    goesOn = false;
  }
  setCondition(p.handle, goesOn);
}

KERNEL(tenon_branch_decision, BranchDecision) {
  if (threadIdx.x == 0) setCondition(p.handle, *p.condition != 0);
}

__device__ inline i64 stepsOf(const Turn& turn, const LoopState& loop) {
  const i64 next = loop.iteration + 1 < turn.count ? loop.iteration + 1 : turn.count - 1;
  switch (turn.by) {
    case TurnBy::kIteration: return loop.iteration;
    case TurnBy::kIterationsLeft: return loop.limit - 1 - loop.iteration;
    case TurnBy::kNext: return next;
    case TurnBy::kNextFromEnd: return turn.count - 1 - next;
    case TurnBy::kAll: return loop.iteration - 1;
    default: return 0;
  }
}

KERNEL(tenon_turn, TurnParameters) {
  const Turn& turn = p.turns[blockIdx.y];
  const i64 steps = stepsOf(turn, *p.loop);
  if (steps < 0) return;
  Move move = turn.move;
  move.from = (const char*)move.from + steps * turn.fromStep;
  move.to = (char*)move.to + steps * turn.toStep;
  if (turn.by == TurnBy::kAll) move.rows = steps + 1;
  moveAll(move);
}
