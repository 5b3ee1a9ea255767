// Candidates are made ready before they are measured: plans of cuDNN at once, because it may use the device for them;
// then kernels of our own and cuBLASLt's, by threads beside the measurements.
#include "compile/announced.h"

#include <utility>

#include "compile/assignment.h"
#include "compile/shared_code.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"

namespace tenon::compile {
namespace {

void noteCode(Proposal& proposal) {
  try {
    proposal.code = proposal.tactic->codeHash(proposal.option.record);
  } catch (const Unsupported&) {
    // Whoever makes the code hears the reason.
  }
}

}  // namespace

size_t OptionSource::announce(std::span<const Asked> asked) {
  constexpr size_t kMostProblems = 48;
  if (device_.isHost() || options_.filter)
    return asked.size();  // nothing takes long to make there; filters are no thread's
  std::vector<std::pair<const Asked*, Announced*>> fresh;
  size_t seen = 0;
  for (; seen < asked.size() && fresh.size() < kMostProblems; ++seen) {
    const auto key = keyOf(*asked[seen].node, *asked[seen].problem);
    if (known_.contains(key) || announced_.contains(key)) continue;
    fresh.emplace_back(&asked[seen], (announced_[key] = std::make_unique<Announced>()).get());
  }
  {
    const auto running = stages_.run("tactics: candidates");
    inParallel(fresh.size(), [&](size_t i) {
      auto& proposals = fresh[i].second->proposals;
      proposals = propose(*fresh[i].first->node, *fresh[i].first->problem, device_, options_);
      if (!measures(*fresh[i].first->problem, proposals) || !ordersWell(*fresh[i].first->problem)) return;
      for (auto& proposal : proposals.list) noteCode(proposal);
    });
    leaveOut(fresh);
  }
  const auto running = stages_.run("tactics: machine code and library plans");
  using Wanted = std::vector<std::pair<const Problem*, Proposal*>>;
  Wanted plans;
  std::vector<std::pair<Announced*, Wanted>> own;
  size_t wanted = 0;
  for (const auto& [which, announced] : fresh) {
    if (!measures(*which->problem, announced->proposals)) continue;
    own.emplace_back(announced, Wanted());
    for (auto& proposal : announced->proposals.list) {
      if (proposal.option.rank >= kLastResortRank || cache_.find(proposal.key)) continue;
      ++wanted;
      const bool isPlan = proposal.tactic->name().find(".cudnn_") != std::string_view::npos;
      auto& list = isPlan ? plans : own.back().second;
      list.emplace_back(which->problem, &proposal);
    }
  }
  const auto begin = [&](Wanted list) {
    const size_t count = list.size();
    return preparation_->begin(count,
                               [list = std::move(list)](size_t i) { makeReady(*list[i].first, *list[i].second); });
  };
  const auto planned = begin(std::move(plans));
  for (auto& [announced, list] : own) announced->made = begin(std::move(list));
  preparation_->wait(planned);
  options_.log->verbose("preparing {} candidates of {} problems", wanted, fresh.size());
  return seen;
}

// Above the usual level everything is measured.
void OptionSource::leaveOut(std::span<const std::pair<const Asked*, Announced*>> fresh) {
  constexpr int kUsualLevel = 3;
  if (options_.optimizationLevel > kUsualLevel || options_.choosesElsewhere()) return;
  std::vector<Proposals*> proposals;
  for (const auto& [which, announced] : fresh) proposals.push_back(&announced->proposals);
  const auto candidates = leaveOutUnshared(proposals, sharedCode_);
  for (size_t i = 0; i < fresh.size(); ++i)
    leftOut_[keyOf(*fresh[i].first->node, *fresh[i].first->problem)] = candidates[i];
}

void OptionSource::abandon() noexcept { preparation_->abandon(); }

}  // namespace tenon::compile
