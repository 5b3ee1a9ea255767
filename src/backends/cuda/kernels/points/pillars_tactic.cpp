// Pillars of grids whose cells have numbers of 32 bits.
#include "ops/op/pillars.h"

#include "backends/cuda/kernels/points/pillar_grid.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class PillarsTactic final : public OwnTacticOf<ops::Pillars> {
 public:
  using OwnTacticOf::OwnTacticOf;

 private:
  compile::Support acceptsOp(const ops::Pillars& op, const compile::Problem&) const override {
    const double cells = cellsAlong(op, 0) * cellsAlong(op, 1);
    if (cells < kMostCells) return compile::yes();
    return compile::no("a grid of {} cells; expected fewer than {}", cells, kMostCells);
  }
};

}  // namespace

const compile::Tactic& tactic_pillars() {
  static const PillarsTactic kTactic("cuda.pillars", Formats::kLinear, 10);
  return kTactic;
}

}  // namespace tenon::backends::cuda
