// Recurrent networks whose matrix fits into the registers of the chip.
#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/recurrent/recurrent_form.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kCapability = 90;  // clusters

std::vector<ResidentForm> formsOf(const ops::Recurrent& op, const compile::Problem& problem) {
  const Dims& products = problem.inputs[0].dims;
  return residentForms(op, problem.inputs[1].dims[2], products[1], products[2]);
}

class ResidentTactic final : public OwnTacticOf<ops::Recurrent> {
 public:
  ResidentTactic() : OwnTacticOf("cuda.recurrent_resident", Formats::kLinear, 10) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    for (const auto& form : formsOf(*problem.op.as<ops::Recurrent>(), problem)) {
      result.push_back(compile::rowMajor(name(), problem));
      result.back().variant = form.text();
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTacticOf::build(problem, candidate);
    record.params += " " + candidate.variant;
    return record;
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto forms = formsOf(*problem.op.as<ops::Recurrent>(), problem);
    const auto found =
        std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.text() == candidate.variant; });
    return OwnTacticOf::rank(problem, candidate) + static_cast<int>(found - forms.begin());
  }

 protected:
  compile::Support acceptsOp(const ops::Recurrent& op, const compile::Problem& problem) const override {
    if (op.takesInput) return compile::no("the input's products are another node's here");
    if (computeCapability() < kCapability)
      return compile::no("compute capability {}; {} is needed", computeCapability(), kCapability);
    if (op.cell == ops::Cell::kGru && !op.late) return compile::no("the GRU resets before its product");
    if (formsOf(op, problem).empty())
      return compile::no("a hidden size of {} with a batch of {} does not fit into the chip's registers",
                         problem.inputs[1].dims[2], problem.inputs[0].dims[1]);
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_recurrent_resident() {
  static const ResidentTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
