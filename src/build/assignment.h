// The choice of one candidate per node: measured, and minimal over the whole graph with reformats counted.
#pragma once

#include <vector>

#include "build/builder.h"
#include "build/profiles.h"
#include "build/tune/profiler.h"
#include "graph/graph.h"
#include "runtime/device.h"

namespace tenon::build {

// One usable candidate of a node.
struct Option {
  Candidate candidate;
  plan::KernelRecord record;
  std::vector<std::byte> nativeCode;
  double seconds = 0;
  uint64_t workspaceBytes = 0;  // at opt shapes
  int rank = 0;
};

// Choices by node id and formats by value id; nodes that are views have no option.
struct Assignment {
  std::vector<Option> choice;
  std::vector<Format> formats;
  std::vector<bool> isView;
};

// The problem of a node at the given symbols.
Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols);

// Whether the node's output is its input's memory under another shape (no kernel needed in linear format).
bool isView(const graph::Node& node);

// Supplies the options of problems: asks the device's tactics, measures through cache and profiler.
class OptionSource {
 public:
  OptionSource(runtime::Device& device, const BuildOptions& options, TimingCache& cache);
  ~OptionSource();
  // Throws Unsupported listing each tactic's reason when there is none.
  const std::vector<Option>& options(const graph::Node& node, const Problem& problem);
  // Fastest way to change a tensor's format; seconds are infinite when there is none.
  const Option& reformat(DataType dtype, const Dims& dims, Format from, Format to);
  int measured() const noexcept { return measured_; }
  int cached() const noexcept { return cached_; }

 private:
  std::vector<Option> collect(const graph::Node& node, const Problem& problem);
  std::string cacheKey(const Option& option, int version, const std::string& problem) const;
  void prepare(const Problem& problem, const std::vector<Option>& options, const std::vector<int>& versions,
               const std::map<std::string, const Tactic*>& tactics);
  void time(const Problem& problem, std::vector<Option>& options, const std::vector<int>& versions);
  runtime::Device& device_;
  const BuildOptions& options_;
  TimingCache& cache_;
  std::unique_ptr<Profiler> profiler_;
  std::map<std::string, std::vector<Option>> known_;
  std::map<std::string, Option> reformats_;
  int measured_ = 0;
  int cached_ = 0;
};

// Chooses candidates and inserts reformat nodes where neighbours disagree.
Assignment assign(graph::Graph& graph, const SymbolValues& symbols, OptionSource& source, const BuildOptions& options);

}  // namespace tenon::build
