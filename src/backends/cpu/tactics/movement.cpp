// When a strided copy does the work: transpose, slice, concatenation, reformat.
#include <algorithm>

#include "backends/cpu/tactics/common/simple_tactic.h"
#include "core/error.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "ops/op/concat.h"
#include "ops/op/reformat.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::backends::cpu {
namespace {

// Between any two layouts that the tensor can have: what pads, or has blocks that are not whole, is for inputs and
// outputs.
compile::Support canReformat(const ops::Reformat& op, const Dims& dims) {
  if (!op.from.fits(dims.rank) || !op.to.fits(dims.rank))
    return compile::no("a tensor of {} dimensions has no layout {}", dims.rank,
                       tenon::name(op.from.fits(dims.rank) ? op.to : op.from));
  try {
    (void)relayout(dims, op.from, op.to);
  } catch (const Unsupported& error) {
    return compile::no("{}", error.what());
  }
  return compile::yes();
}

class MovementTactic final : public SimpleTactic {
 public:
  MovementTactic() : SimpleTactic("cpu.movement", true, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    for (const auto& input : problem.inputs) {
      if (bits(input.dtype) < 8) return compile::no("elements of {} bits are not supported", bits(input.dtype));
    }
    if (const auto* slice = problem.op.as<ops::Slice>()) {
      if (slice->mode != ops::SliceMode::kStrict && slice->mode != ops::SliceMode::kFill) {
        return compile::no("slice mode {}; only strict bounds and fill are supported",
                           enumNames(slice->mode)[static_cast<size_t>(slice->mode)]);
      }
      return compile::yes();
    }
    if (const auto* reformat = problem.op.as<ops::Reformat>()) return canReformat(*reformat, problem.inputs[0].dims);
    if (problem.op.as<ops::Transpose>() != nullptr || problem.op.as<ops::Concat>() != nullptr) return compile::yes();
    return compile::no("it computes transpose, slice, concat and reformat");
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    if (const auto* reformat = problem.op.as<ops::Reformat>()) {
      result.push_back({std::string(name()), "", {reformat->from}, {reformat->to}});
    } else {
      result = SimpleTactic::candidates(problem);
    }
    if (problem.op.as<ops::Concat>() != nullptr) {
      addBlockedCandidate(name(), problem, result);
      const auto& last = result.back();  // every part must be in blocks then
      const bool mixed =
          std::any_of(last.inputs.begin(), last.inputs.end(), [&](Layout format) { return format != last.outputs[0]; });
      if (mixed && channelBlock(last.outputs[0]) > 1) result.pop_back();
    }
    const auto* slice = problem.op.as<ops::Slice>();
    if (slice == nullptr || slice->mode == ops::SliceMode::kStrict)
      allowPitch(result);  // what fills writes the whole result first
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_movement() {
  static const MovementTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
