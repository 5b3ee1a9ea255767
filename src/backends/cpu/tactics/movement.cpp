// When a strided copy does the work: transpose, slice, concatenation, reformat.
#include <algorithm>

#include "backends/cpu/tactics/common/simple_tactic.h"
#include "core/storage.h"
#include "ops/op/concat.h"
#include "ops/op/reformat.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::backends::cpu {
namespace {

// Whether the tensor can be in the format: images in blocks of channels have whole ones.
compile::Support canBe(const compile::TensorDesc& tensor, Layout format) {
  const int64_t block = channelBlock(format);
  if (!format.isDense() && block == 1) return compile::no("layout {} is padded", tenon::name(format));
  if (tensor.dims.rank < 3 && format != Layout::kLinear)
    return compile::no("a tensor of {} dimensions has no {} layout", tensor.dims.rank, tenon::name(format));
  if (block > 1 && (tensor.dims.rank != 4 || tensor.dims[1] % block != 0)) {
    return compile::no("{} is not a 4-D tensor whose channels divide into blocks of {}", tensor.dims.text(), block);
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
    if (const auto* reformat = problem.op.as<ops::Reformat>()) {
      const int64_t blocks[] = {channelBlock(reformat->from), channelBlock(reformat->to)};
      if (blocks[0] != blocks[1] && std::min(blocks[0], blocks[1]) > 1)
        return compile::no("the input and the output have different channel block sizes");
      const auto from = canBe(problem.inputs[0], reformat->from);
      return from ? canBe(problem.inputs[0], reformat->to) : from;
    }
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
