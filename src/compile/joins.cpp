// Measures which composites (fused nodes) are faster than their parts.
#include "compile/joins.h"

#include <algorithm>
#include <limits>

#include "compile/libraries.h"
#include "passes/composites.h"

namespace tenon::compile {
namespace {

// Of the time apart: in a network what is joined gains less than by itself, and times of a processor that others use
// vary more than a GPU's.
constexpr double kClearlyOnHost = 0.9, kClearly = 0.97;

class Judge {
 public:
  Judge(const SymbolValues& symbols, const runtime::Device& device, OptionSource& source, const BuildOptions& options)
      : symbols_(symbols), device_(device), source_(source), options_(options) {}

  bool pays(const graph::Graph& graph, std::span<const graph::NodeId> made, std::span<const graph::NodeId> instead) {
    for (const auto id : made) {
      if (!hasKernel(problemOf(graph, graph.node(id)))) return false;
    }
    announce(graph, made, instead);
    if (!isFaster(graph, made, instead)) return false;
    if (options_.optimizationLevel == 0) return true;
    // What other programs do to the machine would often pass for a gain: it must be there a second time.
    for (const auto id : made) measureAgain(graph, graph.node(id));
    for (const auto id : instead) measureAgain(graph, graph.node(id));
    return isFaster(graph, made, instead);
  }

 private:
  Problem problemOf(const graph::Graph& graph, const graph::Node& node) const {
    return makeProblem(graph, node, symbols_, options_);
  }

  // The kernels of all are made at once.
  void announce(const graph::Graph& graph, std::span<const graph::NodeId> made,
                std::span<const graph::NodeId> instead) {
    std::vector<const graph::Node*> nodes;
    for (const auto id : made) nodes.push_back(&graph.node(id));
    for (const auto id : instead) nodes.push_back(&graph.node(id));
    std::vector<Problem> problems;
    for (const auto* node : nodes) problems.push_back(problemOf(graph, *node));
    std::vector<Asked> asked;
    for (size_t i = 0; i < nodes.size(); ++i) asked.push_back({nodes[i], &problems[i]});
    source_.announce(asked);
  }

  // One that is no reference.
  bool hasKernel(const Problem& problem) const {
    const auto tactics = tacticsOf(device_.kind());
    return std::any_of(tactics.begin(), tactics.end(), [&](const Tactic* tactic) {
      if (!isAllowed(*tactic, options_.excludedLibraries) || !tactic->supports(problem)) return false;
      const auto candidates = tactic->candidates(problem);
      return !candidates.empty() && !tactic->isLastResort(problem, candidates[0]);
    });
  }

  double seconds(const graph::Graph& graph, const graph::Node& node) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& option : source_.options(node, problemOf(graph, node))) best = std::min(best, option.seconds);
    return best;
  }

  bool isFaster(const graph::Graph& graph, std::span<const graph::NodeId> made,
                std::span<const graph::NodeId> instead) {
    double apart = 0, together = 0;
    for (const auto id : instead) apart += seconds(graph, graph.node(id));
    for (const auto id : made) together += seconds(graph, graph.node(id));
    options_.log->verbose("{} ({} nodes): {:.3f} us separate, {:.3f} us fused", graph.node(made.back()).op.name(),
                          instead.size(), apart * 1e6, together * 1e6);
    return together < (device_.isHost() ? kClearlyOnHost : kClearly) * apart;
  }

  void measureAgain(const graph::Graph& graph, const graph::Node& node) {
    source_.measureAgain(node, problemOf(graph, node), false);
  }

  const SymbolValues& symbols_;
  const runtime::Device& device_;
  OptionSource& source_;
  const BuildOptions& options_;
};

}  // namespace

void joinNodes(graph::Graph& graph, const SymbolValues& symbols, const runtime::Device& device, OptionSource& source,
               const BuildOptions& options) {
  if (options.choosesElsewhere()) return;
  Judge judge(symbols, device, source, options);
  passes::runJoins(graph, {options.refittable, options.log, device.kind(), {}},
                   [&](const graph::Graph& whole, std::span<const graph::NodeId> made,
                       std::span<const graph::NodeId> instead) { return judge.pays(whole, made, instead); });
}

}  // namespace tenon::compile
