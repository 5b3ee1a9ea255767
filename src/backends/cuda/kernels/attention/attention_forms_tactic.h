// What tactics of attention kernels that are compiled for a tile shape share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "ops/op/attention.h"

namespace tenon::backends::cuda {

// One candidate for each of choices(), the one that promises most first; its text is the variant and the parameters.
template <typename Choice>
class AttentionFormsTactic : public compile::Tactic {
 public:
  int version() const override { return 1; }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    for (const auto& choice : choices(problem)) {
      result.push_back(compile::rowMajor(name(), problem));
      result.back().variant = choice.text();
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    return {"cuda", std::string(name().substr(name().find('.') + 1)), version(), problem.op.text(), candidate.variant,
            -1};
  }
  std::vector<std::byte> nativeCode(const compile::Problem&, const compile::Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    return compile(Choice::parse(candidate.variant).code().source(), computeCapability());
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto all = choices(problem);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Choice& choice) { return choice.text() == candidate.variant; });
    return firstRank(problem) + static_cast<int>(found - all.begin());
  }

 protected:
  virtual std::vector<Choice> choices(const compile::Problem& problem) const = 0;
  virtual int firstRank(const compile::Problem& problem) const = 0;

  static dnn::AttentionProblem problemOf(const compile::Problem& problem) {
    const LinearOperands operands(problem);
    return dnn::attentionProblem(*problem.op.as<ops::Attention>(), operands.shapes);
  }
};

}  // namespace tenon::backends::cuda
