// Options at other extents than those that a node's choice was measured for.
#include <algorithm>
#include <limits>
#include <set>

#include "compile/assignment.h"
#include "compile/libraries.h"
#include "compile/preparation.h"
#include "compile/proposals.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"

namespace tenon::compile {
namespace {

constexpr double kWorks = 1e3;  // seconds; what cannot be used has more

// The plainest code, with which results are compared.
const Proposal* plainest(const std::vector<Proposal>& list) {
  const Proposal* best = nullptr;
  const auto isLinear = [](const std::vector<Layout>& formats) {
    return std::all_of(formats.begin(), formats.end(), [](const Layout& format) { return format == Layout::kLinear; });
  };
  for (const auto& proposal : list) {
    const auto& option = proposal.option;
    if (option.rank < kLastResortRank && isLinear(option.candidate.inputs) && isLinear(option.candidate.outputs) &&
        (best == nullptr || option.rank > best->option.rank))
      best = &proposal;
  }
  return best;
}

bool mayReplace(const Option& option, const Option& taken) {
  return option.rank < kLastResortRank && option.candidate.text() != taken.candidate.text() &&
         fitsInPlace(option.candidate, taken.candidate) && option.record.backend == taken.record.backend &&
         option.record.op == taken.record.op &&
         (!callsVendor(option.candidate.tactic) || option.candidate.tactic == taken.candidate.tactic);
}

// So many of each tactic, all over its list: neighbours there are alike, and the first is the best where it knows.
void keepReplacements(const Elsewhere& asked, std::vector<Proposal>& list) {
  const auto* const plain = plainest(list);
  const auto plainKey = plain != nullptr ? plain->key : std::string();
  std::map<std::string, std::vector<std::string>> fitting;  // keys by tactic
  for (const auto& proposal : list) {
    if (mayReplace(proposal.option, *asked.taken)) fitting[proposal.option.candidate.tactic].push_back(proposal.key);
  }
  std::set<std::string> kept{plainKey};
  for (const auto& [tactic, keys] : fitting) {
    const size_t count = std::min(asked.most, keys.size());
    for (size_t i = 0; i < count; ++i) kept.insert(keys[i * keys.size() / count]);
  }
  std::erase_if(list, [&](const Proposal& proposal) { return !kept.contains(proposal.key); });
}

}  // namespace

std::vector<double> OptionSource::secondsAt(const Problem& problem, std::span<const Option* const> options) {
  Proposals proposals;
  for (const auto* option : options) proposals.list.push_back(proposalOf(problem, *option, device_));
  time(problem, proposals);
  std::vector<double> result;
  for (const auto& proposal : proposals.list) {
    const double seconds = proposal.option.seconds;
    result.push_back(seconds < kWorks ? seconds : std::numeric_limits<double>::infinity());
  }
  return result;
}

std::vector<std::vector<Option>> OptionSource::replacements(std::span<const Elsewhere> asked) {
  std::vector<Proposals> proposed(asked.size());
  {
    const auto running = stages_.run("tactics: candidates");
    inParallel(asked.size(), [&](size_t i) {
      proposed[i] = propose(*asked[i].node, *asked[i].problem, device_, options_);
      keepReplacements(asked[i], proposed[i].list);
    });
  }
  // Machine code is made by other threads while the first are measured.
  std::vector<std::vector<Proposal*>> unknown(asked.size());
  std::vector<Preparation::Ticket> made(asked.size());
  const Announcing announcing(*this);
  for (size_t i = 0; i < asked.size() && !device_.isHost(); ++i) {
    for (auto& proposal : proposed[i].list) {
      if (!cache_.find(proposal.key)) unknown[i].push_back(&proposal);
    }
    made[i] = preparation_->begin(unknown[i].size(),
                                  [&unknown, &asked, i](size_t k) { makeReady(*asked[i].problem, *unknown[i][k]); });
  }
  std::vector<std::vector<Option>> result(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    {
      const auto running = stages_.run("tactics: machine code and library plans");
      preparation_->wait(made[i]);
    }
    time(*asked[i].problem, proposed[i]);
    for (auto& proposal : proposed[i].list) {
      auto& option = proposal.option;
      if (option.seconds < kWorks && option.workspaceBytes <= options_.workspaceLimit &&
          mayReplace(option, *asked[i].taken))
        result[i].push_back(std::move(option));
    }
  }
  return result;
}

}  // namespace tenon::compile
