// The tactics asked; machine code made on many threads.
#include "compile/proposals.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "compile/libraries.h"
#include "compile/tactics/region_choice.h"
#include "compile/tune/policy.h"
#include "core/error.h"
#include "core/platform/cores.h"
#include "ops/op/plugin.h"
#include "ops/within.h"
#include "runtime/kernel.h"

namespace tenon::compile {
namespace {

constexpr double kUnmeasured = 1e-6;  // seconds per rank point where nothing is measured
constexpr double kPlace = 0.05;       // more for each candidate that a tactic names before; above the noise window

}  // namespace

namespace {

std::string timingKey(const std::string& device, const Tactic& tactic, const Candidate& candidate,
                      const std::string& problem) {
  return fmt::format("{} | {} v{} | {}", device, candidate.text(), tactic.version(), problem);
}

}  // namespace

Proposal proposalOf(const Problem& problem, Option option, const runtime::Device& device) {
  Proposal proposal;
  for (const auto& source : tacticSources()) {
    for (const auto* tactic : source.tactics) {
      if (tactic->name() == option.candidate.tactic) proposal.tactic = tactic;
    }
  }
  checkInternal(proposal.tactic != nullptr, "no tactic is called {}", option.candidate.tactic);
  proposal.key = timingKey(device.name(), *proposal.tactic, option.candidate, problem.text());
  proposal.option = std::move(option);
  return proposal;
}

Proposals propose(const graph::Node& node, const Problem& problem, runtime::Device& device,
                  const BuildOptions& options) {
  Proposals result;
  std::vector<Candidate> candidates;
  std::map<std::string, const Tactic*> tactics;
  for (const auto* tactic : tacticsOf(device.kind(), node.device)) {
    if (!isAllowed(*tactic, options.excludedLibraries)) {
      result.refusals += fmt::format("\n  {}: the tactic sources of the build leave its library out", tactic->name());
      continue;
    }
    const auto support = tactic->supports(problem);
    if (!support) {
      result.refusals += fmt::format("\n  {}: {}", tactic->name(), support.reason);
      continue;
    }
    auto proposed = tactic->candidates(problem);
    if (proposed.empty())
      result.refusals += fmt::format("\n  {}: its library has no implementation for these operands", tactic->name());
    for (auto& candidate : proposed) {
      tactics[candidate.tactic] = tactic;
      candidates.push_back(std::move(candidate));
    }
  }
  if (options.filter) {
    const size_t before = candidates.size();
    candidates = options.filter(node, std::move(candidates));
    if (candidates.empty() && before > 0)
      result.refusals += fmt::format("\n  the algorithm filter rejected all {} candidates", before);
  }
  const auto text = problem.text();
  const auto name = device.name();
  std::map<std::string, int> places;  // within a tactic, which proposes the best first where it knows
  for (auto& candidate : candidates) {
    Proposal proposal;
    proposal.tactic = tactics.at(candidate.tactic);
    proposal.option.record = proposal.tactic->build(problem, candidate);
    if (const auto reason = excludedWithin(proposal.option.record, options.excludedLibraries); !reason.empty()) {
      result.refusals += fmt::format("\n  {}: {}", candidate.text(), reason);
      continue;
    }
    proposal.option.rank = proposal.tactic->rank(problem, candidate);
    proposal.option.seconds = kUnmeasured * (1 + proposal.option.rank) * (1 + kPlace * places[candidate.tactic]++);
    proposal.key = timingKey(name, *proposal.tactic, candidate, text);
    ops::forEachOf<ops::Plugin>(problem.op, [&](const ops::Plugin& plugin) {
      proposal.remembered = proposal.remembered && !plugin.timing.empty();
    });
    proposal.option.candidate = std::move(candidate);
    result.list.push_back(std::move(proposal));
  }
  return result;
}

void makeReady(const Problem& problem, Proposal& proposal) {
  auto& option = proposal.option;
  if (option.ready) return;
  option.ready = true;
  try {
    option.nativeCode = proposal.tactic->nativeCode(problem, option.candidate, option.record);
    proposal.tactic->prepare(problem, {&option.candidate, 1});
  } catch (const Unsupported& error) {
    proposal.failure = error.what();
  }
}

void inParallel(size_t count, const std::function<void(size_t)>& work) {
  constexpr size_t kMostThreads = 32;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (thrown == nullptr) thrown = std::current_exception();
        return;
      }
    }
  };
  std::vector<std::thread> threads;
  const auto cores = static_cast<size_t>(platform::coresOfMask());
  const size_t most = std::min({count, cores, kMostThreads});
  threads.reserve(most);
  try {
    while (threads.size() + 1 < most) threads.emplace_back(run);
  } catch (const std::exception&) {
    // Without memory or threads for more, those that run do the work.
  }
  run();
  for (auto& thread : threads) thread.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

namespace {

size_t bestOf(std::span<const Option* const> options, const std::vector<size_t>& group) {
  std::vector<Scored> scored;
  for (const size_t i : group) scored.push_back({options[i]->seconds, options[i]->rank, options[i]->candidate.text()});
  return group[choose(scored)];
}

}  // namespace

std::vector<size_t> winners(std::span<const Option* const> options) {
  std::map<std::pair<std::vector<Layout>, std::vector<Layout>>, std::vector<size_t>> groups;
  for (size_t i = 0; i < options.size(); ++i)
    groups[{options[i]->candidate.inputs, options[i]->candidate.outputs}].push_back(i);
  std::vector<size_t> result;
  for (const auto& [formats, group] : groups) result.push_back(bestOf(options, group));
  return result;
}

bool fitsInPlace(const Candidate& candidate, const Candidate& of) {
  const auto has = [](uint64_t mask, uint64_t wanted) { return (mask & wanted) == wanted; };
  return candidate.inputs == of.inputs && candidate.outputs == of.outputs &&
         has(candidate.pitchedInputs, of.pitchedInputs) && has(candidate.pitchedOutputs, of.pitchedOutputs) &&
         has(candidate.overwritten, of.overwritten);
}

std::vector<size_t> rivalsOf(std::span<const Option* const> options, size_t winner) {
  constexpr double kHardlySlower = 1.3;  // alone; among neighbours a tenth or two were seen to change
  const auto& best = *options[winner];
  std::vector<size_t> result;
  for (size_t i = 0; i < options.size(); ++i) {
    if (i != winner && options[i]->seconds <= kHardlySlower * best.seconds &&
        fitsInPlace(options[i]->candidate, best.candidate))
      result.push_back(i);
  }
  std::sort(result.begin(), result.end(), [&](size_t i, size_t j) {
    const auto order = [&](size_t k) {
      return std::tuple(options[k]->seconds, options[k]->rank, options[k]->candidate.text());
    };
    return order(i) < order(j);
  });
  result.resize(std::min(result.size(), kMostRivals));
  return result;
}

size_t ownWinner(std::span<const Option* const> options, size_t winner) {
  constexpr double kUseless = 2;  // times the winner's time
  const auto& best = *options[winner];
  if (!callsVendor(best.candidate.tactic)) return options.size();
  std::vector<size_t> group;
  for (size_t i = 0; i < options.size(); ++i) {
    const auto& candidate = options[i]->candidate;
    if (!callsVendor(candidate.tactic) && candidate.inputs == best.candidate.inputs &&
        candidate.outputs == best.candidate.outputs && options[i]->seconds < kUseless * best.seconds)
      group.push_back(i);
  }
  return group.empty() ? options.size() : bestOf(options, group);
}

size_t pitchedWinner(std::span<const Option* const> options, size_t winner) {
  const auto& best = options[winner]->candidate;
  std::vector<size_t> group;
  for (size_t i = 0; i < options.size(); ++i) {
    const auto& candidate = options[i]->candidate;
    const bool gains =
        (candidate.pitchedInputs & ~best.pitchedInputs) != 0 || (candidate.pitchedOutputs & ~best.pitchedOutputs) != 0;
    if (gains && candidate.inputs == best.inputs && candidate.outputs == best.outputs) group.push_back(i);
  }
  return group.empty() ? options.size() : bestOf(options, group);
}

}  // namespace tenon::compile
