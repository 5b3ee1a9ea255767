// Kernels of one thread, and copies.
#include "backends/cuda/kernels/regions/decisions.h"

#include <algorithm>

#include "backends/cuda/driver/conditional_nodes.h"
#include "backends/cuda/kernels/regions/moves.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr unsigned kOneWarp = 32;

}  // namespace

Code decisionCode() { return {"decision.cu", {}, {}}; }

const Module* decisionModule() {
  if (!hasConditionalNodes()) return nullptr;
  static const Module* const kModule = []() -> const Module* {
    try {
      return new Module({}, decisionCode());
    } catch (const Error&) {
      return nullptr;
    }
  }();
  return kModule;
}

Decisions::Decisions(const Module& module)
    : begin_(module.function("tenon_loop_begin")),
      ofLoop_(module.function("tenon_loop_decision")),
      ofBranch_(module.function("tenon_branch_decision")),
      turn_(module.function("tenon_turn")) {}

void Decisions::begin(LoopBegin parameters, void* stream) {
  launchGrid(begin_, 1, 1, 1, kOneWarp, &parameters, stream);
}
void Decisions::decide(LoopDecision parameters, void* stream) {
  launchGrid(ofLoop_, 1, 1, 1, kOneWarp, &parameters, stream);
}
void Decisions::decide(BranchDecision parameters, void* stream) {
  launchGrid(ofBranch_, 1, 1, 1, kOneWarp, &parameters, stream);
}

void Decisions::add(Turn turn, const LoopState* loop, void* stream) {
  if (!setUnit(turn.move, {turn.fromStep, turn.toStep})) return;
  turns_.loop = loop;
  turns_.turns[count_++] = turn;
  const int64_t rows = turn.by == TurnBy::kAll ? std::max<int64_t>(turn.count, 1) : 1;
  most_ = std::max(most_, rows * unitsOf(turn.move));
  if (count_ == kMostTurns) this->turn(stream);
}

void Decisions::turn(void* stream) {
  if (count_ == 0) return;
  launchGrid(turn_, blocksOfMove(most_), count_, 1, kMoveBlock, &turns_, stream);
  count_ = 0;
  most_ = 0;
}

}  // namespace tenon::backends::cuda
