// A tactic for kernels that do one operator in one or more formats on all operands alike.
#pragma once

#include <string>

#include "build/tactics/tactic.h"

namespace tenon::backends::cpu {

inline std::string_view kernelName(std::string_view tactic) { return tactic.substr(tactic.find('.') + 1); }

// Candidates with every non-constant operand in one format: kLinear always, kChannelsLast where `channelsLast` and the
// result has 4 or 5 axes.
std::vector<build::Candidate> uniformCandidates(std::string_view tactic, const build::Problem& problem, bool channelsLast);

// "no" when an operand is not f32.
build::Support onlyF32(const build::Problem& problem);

class SimpleTactic : public build::Tactic {
 public:
  SimpleTactic(std::string_view name, bool channelsLast, int rank) : name_(name), channelsLast_(channelsLast), rank_(rank) {}
  std::string_view name() const override { return name_; }
  int version() const override { return 1; }
  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    return uniformCandidates(name_, problem, channelsLast_);
  }
  plan::KernelRecord build(const build::Problem& problem, const build::Candidate&) const override {
    return {"cpu", std::string(kernelName(name_)), 1, problem.op.text(), "", -1};
  }
  int rank(const build::Problem&, const build::Candidate& candidate) const override {
    return rank_ + (candidate.outputs.empty() || candidate.outputs[0] == Format::kLinear ? 0 : 1);
  }

 private:
  std::string_view name_;
  bool channelsLast_;
  int rank_;
};

}  // namespace tenon::backends::cpu
