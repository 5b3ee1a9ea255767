// The lines of the log are those that programs written for TensorRT's editable timing cache search for.
#include "compile/tune/selections.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace tenon::compile {
namespace {

constexpr double kMilliseconds = 1e3;
constexpr double kLongest = 1e6;  // seconds; what stands for "not tried" and "cannot be used" begins here

}  // namespace

SelectionKey Selections::keyOf(const graph::Node& node, const Problem& problem) const {
  return selectionKey(fmt::format("{} | {} | {}", device_, node.name, problem.text()));
}

std::optional<Selection> Selections::find(const graph::Node& node, const Problem& problem) const {
  return options_.editableTimingCache ? cache_.selection(keyOf(node, problem)) : std::nullopt;
}

void Selections::keepOnly(const Selection& selection, const graph::Node& node, const Problem& problem,
                          Proposals& proposals) const {
  auto& list = proposals.list;
  const auto isWanted = [&](const Proposal& proposal) {
    return proposal.option.candidate.hash() == selection.candidate;
  };
  if (std::none_of(list.begin(), list.end(), isWanted)) {
    std::string candidates;
    for (const auto& proposal : list)
      candidates += fmt::format("\n  {:#018x} {}", proposal.option.candidate.hash(), proposal.option.candidate.text());
    throw UserError(
        "the timing cache selects tactic {:#018x} for '{}' (key: {}), which cannot use it; choose one of these with "
        "ITimingCache::update(), or remove the entry by a time that is NaN:{}",
        selection.candidate, node.name, text(keyOf(node, problem)), candidates);
  }
  std::erase_if(list, [&](const Proposal& proposal) { return !isWanted(proposal); });
  list.front().option.seconds = selection.seconds;
  options_.log->verbose("'{}' (key: {}) uses tactic {:#018x} from the timing cache: {}", node.name,
                        text(keyOf(node, problem)), selection.candidate, list.front().option.candidate.text());
}

void Selections::note(const Problem& problem, std::span<const Proposal> proposals) {
  if (!options_.editableTimingCache) return;
  auto& rows = timed_[problem.text()];
  for (const auto& proposal : proposals) {
    const auto& candidate = proposal.option.candidate;
    const double seconds = proposal.option.seconds;
    if (seconds < kLongest) rows[candidate.text()] = {seconds, candidate.hash(), candidate.kernelName()};
  }
}

void Selections::report(const graph::Node& node, const Problem& problem, const Option& choice) {
  const auto found = timed_.find(problem.text());
  if (!options_.editableTimingCache || found == timed_.end() || find(node, problem)) return;
  std::vector<const Row*> rows;
  for (const auto& [text, row] : found->second) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->seconds < b->seconds; });
  const auto chosen = choice.candidate.hash();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row* r) { return r->hash == chosen; });
  if (row == rows.end()) return;
  const auto key = keyOf(node, problem);
  auto& log = *options_.log;
  log.verbose("Autotuning op {}(key: {}):", node.name, text(key));
  log.verbose("Sorted table of all evaluated tactics:");
  log.verbose(
      "tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, tactic_hash, tunable_parameter");
  for (size_t i = 0; i < rows.size(); ++i) {
    // Nothing is predicted here: a correlation of 0.
    const double ratio = rows[0]->seconds > 0 ? rows[i]->seconds / rows[0]->seconds : 1;
    log.verbose("   {}, {:.7f}, {:.5f}, {:.5f}, {}, {:#018x},", i, rows[i]->seconds * kMilliseconds, ratio, 0.0,
                rows[i]->kernel, rows[i]->hash);
  }
  log.verbose("The selected tactic is (tactic hash, cost(in ms)):{:#018x},  {:.7f}", chosen,
              (*row)->seconds * kMilliseconds);
  log.verbose("Writing the best tactic ({:#018x}) to cache", chosen);
  cache_.select(key, {chosen, (*row)->seconds});
}

}  // namespace tenon::compile
