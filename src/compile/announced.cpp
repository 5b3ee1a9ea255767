// Candidates are made ready before they are measured: plans of cuDNN at once, because it may use the device for them;
// then kernels of our own and cuBLASLt's, by threads beside the measurements.
#include "compile/announced.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compile/assignment.h"
#include "compile/shared_code.h"
#include "compile/tune/result_check.h"
#include "compile/tune/timing_cache.h"
#include "core/error.h"
#include "core/fields.h"

namespace tenon::compile {
namespace {

void noteCode(Proposal& proposal) {
  try {
    proposal.code = proposal.tactic->codeHash(proposal.option.record);
  } catch (const Unsupported&) {
    // Whoever makes the code hears the reason.
  }
}

using Wanted = std::vector<std::pair<const Problem*, Proposal*>>;

Preparation::Ticket begin(Preparation& preparation, Wanted list) {
  const size_t count = list.size();
  return preparation.begin(count, [list = std::move(list)](size_t i) { makeReady(*list[i].first, *list[i].second); });
}

// What another one makes already is left to who measures it: a thread that wants it, too, would wait for that. `made`
// gets all work that the candidates need. Returns how many of them have none of their own.
size_t beginOnce(Preparation& preparation, Wanted list, std::vector<Preparation::Ticket>& made) {
  std::set<uint64_t> codes;
  const size_t shared = std::erase_if(list, [&](const auto& one) {
    const uint64_t code = one.second->code;
    if (code == 0) return false;
    auto maker = preparation.makerOf(code);
    if (maker == nullptr) return !codes.insert(code).second;
    made.push_back(std::move(maker));
    return true;
  });
  made.push_back(begin(preparation, std::move(list)));
  for (const uint64_t code : codes) preparation.noteMaker(code, made.back());
  return shared;
}

// The building thread would make these itself, while it compares first results.
void beginComparisons(Preparation& preparation, runtime::Device& device, const Wanted& list) {
  const auto beginOne = [&](DataType type, Comparison part) {
    const auto key = hashBytes(fmt::format("comparison {} of {}", static_cast<int>(part), name(type)));
    if (preparation.makerOf(key) != nullptr) return;
    preparation.noteMaker(key, preparation.begin(1, [&device, type, part](size_t) { prepare(device, type, part); }));
  };
  const auto isLinear = [](const Layout& format) { return format == Layout::kLinear; };
  for (const auto& [problem, proposal] : list) {
    const auto& candidate = proposal->option.candidate;
    for (size_t i = 0; i < candidate.outputs.size(); ++i) {
      const auto type = problem->outputs[i].dtype;
      beginOne(type, Comparison::kDistance);
      if (!isLinear(candidate.outputs[i])) beginOne(type, Comparison::kFormat);
    }
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
      if (!measures(*fresh[i].first->problem, proposals)) return;
      const bool mayLeaveOut = ordersWell(*fresh[i].first->problem);
      for (auto& proposal : proposals.list) {
        if (mayLeaveOut || !cache_.find(proposal.key)) noteCode(proposal);
      }
    });
    leaveOut(fresh);
  }
  const auto running = stages_.run("tactics: machine code and library plans");
  Wanted plans;
  std::vector<Wanted> own(fresh.size());
  size_t wanted = 0;
  for (size_t i = 0; i < fresh.size(); ++i) {
    const auto& [which, announced] = fresh[i];
    if (!measures(*which->problem, announced->proposals)) continue;
    for (auto& proposal : announced->proposals.list) {
      if (proposal.option.rank >= kLastResortRank || cache_.find(proposal.key)) continue;
      ++wanted;
      const bool isPlan = proposal.tactic->name().find(".cudnn_") != std::string_view::npos;
      (isPlan ? plans : own[i]).emplace_back(which->problem, &proposal);
    }
  }
  for (const auto& list : own) beginComparisons(*preparation_, device_, list);
  const auto planned = begin(*preparation_, std::move(plans));
  size_t shared = 0;
  for (size_t i = 0; i < fresh.size(); ++i)
    shared += beginOnce(*preparation_, std::move(own[i]), fresh[i].second->made);
  preparation_->wait(planned);
  options_.log->verbose("preparing {} candidates of {} problems, {} of which share their code with others", wanted,
                        fresh.size(), shared);
  return seen;
}

// Above the usual level everything is measured.
void OptionSource::leaveOut(std::span<const std::pair<const Asked*, Announced*>> fresh) {
  constexpr int kUsualLevel = 3;
  if (options_.optimizationLevel > kUsualLevel || options_.choosesElsewhere()) return;
  std::vector<Proposals*> proposals;
  std::vector<const Asked*> ordered;
  for (const auto& [which, announced] : fresh) {
    if (!ordersWell(*which->problem)) continue;
    ordered.push_back(which);
    proposals.push_back(&announced->proposals);
  }
  const auto candidates = leaveOutUnshared(proposals, sharedCode_);
  for (size_t i = 0; i < ordered.size(); ++i) leftOut_[keyOf(*ordered[i]->node, *ordered[i]->problem)] = candidates[i];
}

void OptionSource::abandon() noexcept { preparation_->abandon(); }

}  // namespace tenon::compile
