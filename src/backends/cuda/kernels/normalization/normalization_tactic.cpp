// Normalization with scale and bias.
#include "backends/cuda/kernels/common/named_kernels.h"
#include "backends/cuda/kernels/normalization/normalization_form.h"
#include "backends/cuda/tactics/fixed_extents.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class NormalizationTactic final : public OwnTacticOf<ops::Normalization> {
 public:
  NormalizationTactic() : OwnTacticOf("cuda.normalization", Formats::kAlsoChannelsLast, 10) {}
  // Where no extent is open, one kernel of each kind is enough.
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    if (!hasFixedExtents(problem) || problem.inputs[0].dims.count() >= int64_t{1} << 31) return record;
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    const NormalizationShape shape(*problem.op.as<ops::Normalization>(), {inputs, {}, &problem.symbols});
    std::vector<std::string> names;
    for (const auto* kernels : {&shape.packed, &shape.any}) {
      if (kernels->empty()) continue;
      const auto name = kernels->front();
      names.push_back(fmt::format("{}{}", kNormalize, name));
      if (name.ends_with(kSplit)) names.push_back(partsOf(name));
    }
    record.params = namedParameters(names, record.params);
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Normalization& op, const compile::Problem& problem) const override {
    if (op.groups > 1 && problem.inputs[0].dims.rank == kMaxRank) return compile::no("{} axes and groups", kMaxRank);
    return compile::yes();
  }
  // The skip is read at the places of x: both linear, a constant is nothing else.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = OwnTacticOf::candidates(problem);
    if (problem.op.as<ops::Normalization>()->skip) result.resize(1);
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_normalization() {
  static const NormalizationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
