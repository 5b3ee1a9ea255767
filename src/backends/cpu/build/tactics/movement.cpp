// When a strided copy does the work: transpose, slice, concatenation, reformat.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/concat.h"
#include "ops/op/reformat.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::backends::cpu {
namespace {

bool isStrided(Format format) { return format == Format::kLinear || format == Format::kChannelsLast; }

class MovementTactic final : public SimpleTactic {
 public:
  MovementTactic() : SimpleTactic("cpu.movement", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    for (const auto& input : problem.inputs) {
      if (bits(input.dtype) < 8) return build::no("elements of {} bits", bits(input.dtype));
    }
    if (const auto* slice = problem.op.as<ops::Slice>()) {
      if (slice->mode != ops::SliceMode::kStrict && slice->mode != ops::SliceMode::kFill) {
        return build::no("slice mode {}; it copies and fills", enumNames(slice->mode)[static_cast<size_t>(slice->mode)]);
      }
      return build::yes();
    }
    if (const auto* reformat = problem.op.as<ops::Reformat>()) {
      if (!isStrided(reformat->from) || !isStrided(reformat->to)) return build::no("a blocked format");
      if (problem.inputs[0].dims.rank < 3) return build::no("{} axes have no channels-last form", problem.inputs[0].dims.rank);
      return build::yes();
    }
    if (problem.op.as<ops::Transpose>() != nullptr || problem.op.as<ops::Concat>() != nullptr) return build::yes();
    return build::no("it computes transpose, slice, concat and reformat");
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    if (const auto* reformat = problem.op.as<ops::Reformat>()) {
      return {{std::string(name()), "", {reformat->from}, {reformat->to}}};
    }
    return SimpleTactic::candidates(problem);
  }
};

}  // namespace

const build::Tactic& tactic_movement() {
  static const MovementTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
