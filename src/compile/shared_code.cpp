// The first candidates of all problems say which code is made; then the others are looked at.
#include "compile/shared_code.h"

#include <map>
#include <tuple>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"

namespace tenon::compile {
namespace {

constexpr size_t kAlways = 4;  // of a tactic in the same formats, whatever others need

// Counts the candidates of a problem that differ in their variants alone.
class Places {
 public:
  bool isAmongFirst(const Candidate& candidate) {
    return seen_[{candidate.tactic, candidate.inputs, candidate.outputs, candidate.pitchedInputs,
                  candidate.pitchedOutputs, candidate.overwritten}]++ < kAlways;
  }

 private:
  using Kind = std::tuple<std::string, std::vector<Layout>, std::vector<Layout>, uint64_t, uint64_t, uint64_t>;
  std::map<Kind, size_t> seen_;
};

}  // namespace

bool ordersWell(const Problem& problem) {
  return problem.op.as<ops::Convolution>() == nullptr && problem.op.as<ops::Deconvolution>() == nullptr;
}

std::vector<std::set<std::string>> leaveOutUnshared(std::span<Proposals* const> problems, std::set<uint64_t>& wanted) {
  for (const auto* problem : problems) {
    Places places;
    for (const auto& proposal : problem->list) {
      if (places.isAmongFirst(proposal.option.candidate) && proposal.code != 0) wanted.insert(proposal.code);
    }
  }
  std::vector<std::set<std::string>> leftOut;
  for (auto* problem : problems) {
    auto& candidates = leftOut.emplace_back();
    Places places;
    std::erase_if(problem->list, [&](const Proposal& proposal) {
      const bool isFirst = places.isAmongFirst(proposal.option.candidate);
      if (isFirst || proposal.code == 0 || wanted.contains(proposal.code)) return false;
      candidates.insert(proposal.option.candidate.text());
      return true;
    });
  }
  return leftOut;
}

}  // namespace tenon::compile
