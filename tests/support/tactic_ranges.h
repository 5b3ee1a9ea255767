// Engines whose steps have other kernels far from the opt shapes, whatever the machine measures.
#pragma once

#include "core/fields.h"
#include "plan/inspect.h"
#include "plan/range_kernels.h"
#include "support/build_and_run.h"

namespace tenon::test {

// Of each problem at the extents `from` ("[1x") of which a timing cache holds a candidate there and at the extents
// `to`, that one is made the fastest here, and another one there.
inline void exchangeFastest(compile::TimingCache& cache, std::string_view from, std::string_view to) {
  constexpr double kFastest = 1e-9;
  std::map<std::string, std::vector<std::string>> candidates;  // the beginnings of keys, by problem
  for (const auto& key : cache.keys()) {
    const size_t problem = key.find(" | ", key.find(" | ") + 1);
    if (key.find("| whole ") == std::string::npos) candidates[key.substr(problem)].push_back(key.substr(0, problem));
  }
  for (const auto& [here, keys] : candidates) {
    if (here.find(from) == std::string::npos) continue;
    auto there = here;
    for (size_t at = 0; (at = there.find(from, at)) != std::string::npos; at += to.size())
      there.replace(at, from.size(), to);
    const auto own =
        std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return cache.find(key + there).has_value(); });
    if (own == keys.end()) continue;
    // One that was proposed there, and not only measured because it was chosen here.
    const auto& others = candidates[there];
    auto other = std::find_if(others.begin(), others.end(), [&](const auto& key) { return !cache.find(key + here); });
    if (other == others.end())
      other = std::find_if(others.begin(), others.end(), [&](const auto& key) { return key != *own; });
    if (other == others.end()) continue;
    cache.insert(*own + here, kFastest);
    cache.insert(*other + there, kFastest);
  }
}

// Steps that have more than one kernel.
inline size_t rangesOf(const plan::Plan& plan) {
  size_t count = 0;
  for (const auto& step : plan.programs[0].steps) count += step.others.empty() ? 0 : 1;
  return count;
}

// Steps of which another kernel than their own runs at these values.
inline size_t othersAt(const plan::Plan& plan, const SymbolValues& values) {
  const auto& program = plan.programs[0];
  size_t count = 0;
  for (const auto& step : program.steps)
    count += plan::kernelFor(step, plan::openElements(program, step, values)) != plan::kOwnKernel ? 1 : 0;
  return count;
}

// Built twice, the second time with a cache in which other candidates are the fastest at `to` than at `from`.
inline plan::Plan buildWithRanges(const graph::Graph& graph, compile::BuildOptions options, std::string_view from,
                                  std::string_view to, compile::TimingCache& cache) {
  options.timingCache = &cache;
  (void)compile::build(graph, options);
  exchangeFastest(cache, from, to);
  return compile::build(graph, options);
}

}  // namespace tenon::test
