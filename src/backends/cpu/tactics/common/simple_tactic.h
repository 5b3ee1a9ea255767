// A tactic for kernels that do one operator in one or more formats on all operands alike.
#pragma once

#include <optional>
#include <string>

#include "compile/tactics/tactic.h"

namespace tenon::backends::cpu {

inline std::string_view kernelName(std::string_view tactic) { return tactic.substr(tactic.find('.') + 1); }

// Candidates with every non-constant operand in one format: kLinear always, kChannelsLast where `channelsLast` and the
// result has 4 or 5 axes.
std::vector<compile::Candidate> uniformCandidates(std::string_view tactic, const compile::Problem& problem,
                                                  bool channelsLast);

// The machine's blocked format: as many channels as a vector of its has; nothing below AVX2.
std::optional<Layout> blockedFormat();

// Up to so many channels, an image stays row-major where a change of format would cost more than it gains.
constexpr int64_t kFewChannels = 4;

// Adds the candidate with all images in blocks of channels, constants and images of few channels row-major. None where
// another image has no whole blocks: so blocked tensors have no padding, nobody needs to keep it zero, and kernels meet
// whole vectors only. f32 images only.
void addBlockedCandidate(std::string_view tactic, const compile::Problem& problem,
                         std::vector<compile::Candidate>& candidates);

// Says of every channels-last operand that it may have a pitch: for kernels that ask runtime::pixelStep() or the like.
void allowPitch(std::vector<compile::Candidate>& candidates);

// "no" when an operand is not f32.
compile::Support onlyF32(const compile::Problem& problem);

// "no" when an operand is of a type of less than a byte, or an 8-bit float.
compile::Support onlyWholeBytes(const compile::Problem& problem);

// "no" when an operand is of a type of less than a byte: for kernels that copy.
compile::Support anyWholeBytes(const compile::Problem& problem);

class SimpleTactic : public compile::Tactic {
 public:
  SimpleTactic(std::string_view name, bool channelsLast, int rank)
      : name_(name), channelsLast_(channelsLast), rank_(rank) {}
  std::string_view name() const override { return name_; }
  int version() const override { return 1; }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    return uniformCandidates(name_, problem, channelsLast_);
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate&) const override {
    return {"cpu", std::string(kernelName(name_)), 1, problem.op.text(), "", -1};
  }
  int rank(const compile::Problem&, const compile::Candidate& candidate) const override {
    constexpr int kBlocked = 25;  // blocks of channels pay where neighbours agree, which only measurements tell
    if (candidate.outputs.empty() || candidate.outputs[0] == Layout::kLinear) return rank_;
    return rank_ + (candidate.outputs[0] == Layout::kChannelsLast ? 1 : kBlocked);
  }

 private:
  std::string_view name_;
  bool channelsLast_;
  int rank_;
};

}  // namespace tenon::backends::cpu
