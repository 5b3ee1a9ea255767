// Candidates are made ready before they are measured: plans of cuDNN at once, because it may use the device for them;
// then kernels of our own and cuBLASLt's, by threads beside the measurements.
#include "compile/announced.h"

#include <utility>

#include "compile/assignment.h"
#include "compile/tune/timing_cache.h"

namespace tenon::compile {

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
      fresh[i].second->proposals = propose(*fresh[i].first->node, *fresh[i].first->problem, device_, options_);
    });
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

void OptionSource::abandon() noexcept { preparation_->abandon(); }

}  // namespace tenon::compile
