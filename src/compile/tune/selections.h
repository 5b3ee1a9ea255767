// The choices of nodes in an editable timing cache: told in the log, kept in the cache, taken from it by later builds.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "compile/proposals.h"
#include "compile/tune/timing_cache.h"

namespace tenon::compile {

// Used by the building thread only. Does nothing where the build's options want no editable cache.
class Selections {
 public:
  Selections(std::string device, const BuildOptions& options, TimingCache& cache)
      : device_(std::move(device)), options_(options), cache_(cache) {}

  // What the cache says about a node.
  std::optional<Selection> find(const graph::Node& node, const Problem& problem) const;
  // Leaves the selected candidate of a node, with its time. UserError listing the candidates when it is none of them.
  void keepOnly(const Selection& selection, const graph::Node& node, const Problem& problem,
                Proposals& proposals) const;

  // Remembers the times of a problem's candidates.
  void note(const Problem& problem, std::span<const Proposal> proposals);
  // Writes the choice for a node into log and cache, if its candidates were timed.
  void report(const graph::Node& node, const Problem& problem, const Option& choice);

 private:
  struct Row {
    double seconds = 0;
    uint64_t hash = 0;
    std::string kernel;
  };
  SelectionKey keyOf(const graph::Node& node, const Problem& problem) const;

  std::string device_;
  const BuildOptions& options_;
  TimingCache& cache_;
  std::map<std::string, std::map<std::string, Row>> timed_;  // by problem, by candidate
};

}  // namespace tenon::compile
