// Measures which composites (fused nodes) are faster than their parts.
#include "compile/joins.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "compile/libraries.h"
#include "ops/op/composite.h"
#include "ops/op/normalization.h"
#include "passes/composites.h"

namespace tenon::compile {
namespace {

// Of the time apart: in a network what is joined gains less than by itself, and times of a processor that others use
// vary more than a GPU's.
constexpr double kClearlyOnHost = 0.9, kClearly = 0.97;
// Where a launch's work moves into others that stay. It was no loss as a whole: in its time the weights of the next one
// came. Of 7 per cent by themselves a network lost 1.4 in all, of 10 to 17 networks gained 4 to 9. Builds of one
// network measured 10.0 to 14.9 for the same nodes, so that the bound stands below that.
constexpr double kClearlyMoved = 0.905;
// The same where a normalization goes into the product in front of it: of 15 per cent by themselves bert_base_128 at
// batch 32 gained 2 in all (H200).
constexpr double kClearlyNormalized = 0.88;

class Judge {
 public:
  Judge(const SymbolValues& symbols, const runtime::Device& device, OptionSource& source, const BuildOptions& options)
      : symbols_(symbols), device_(device), source_(source), options_(options) {}

  bool pays(const graph::Graph& graph, std::span<const graph::NodeId> made, std::span<const graph::NodeId> instead) {
    if (!haveKernels(graph, made)) return false;
    if (!device_.isHost()) {
      note(graph, made, instead);
      announceAll();
    }
    if (!isFaster(graph, made, instead)) return false;
    if (options_.optimizationLevel == 0) return true;
    // What other programs do to the machine would often pass for a gain: it must be there a second time.
    for (const auto id : made) measureAgain(graph, graph.node(id));
    for (const auto id : instead) measureAgain(graph, graph.node(id));
    return isFaster(graph, made, instead);
  }

  // Takes note of what will be asked, for announceAll().
  void note(const graph::Graph& graph, std::span<const graph::NodeId> made, std::span<const graph::NodeId> instead) {
    if (!haveKernels(graph, made)) return;
    for (const auto& nodes : {made, instead}) {
      for (const auto id : nodes) noteOne(graph, id);
    }
    notedNodes_.insert(instead.begin(), instead.end());
  }
  // What no join touches is asked for behind them: their kernels are made while joins are measured.
  void noteOthers(const graph::Graph& graph) {
    for (const auto id : graph.order()) {
      if (!notedNodes_.contains(id) && !isView(graph.node(id))) noteOne(graph, id);
    }
  }
  // The kernels of all joins are made at once: one join by itself has too few for all threads.
  void announceAll() {
    std::vector<Asked> asked;
    for (; announced_ < noted_.size(); ++announced_)
      asked.push_back({&noted_[announced_], &notedProblems_[announced_]});
    for (size_t done = 0; done < asked.size();) done += source_.announce(std::span(asked).subspan(done));
  }

 private:
  bool haveKernels(const graph::Graph& graph, std::span<const graph::NodeId> made) {
    return std::all_of(made.begin(), made.end(),
                       [&](graph::NodeId id) { return hasKernel(problemOf(graph, graph.node(id))); });
  }

  Problem problemOf(const graph::Graph& graph, const graph::Node& node) const {
    return makeProblem(graph, node, symbols_, options_);
  }

  // It goes with its edit.
  void noteOne(const graph::Graph& graph, graph::NodeId id) {
    const auto& node = noted_.emplace_back(graph.node(id));
    notedProblems_.push_back(problemOf(graph, node));
  }

  // One that is no reference.
  bool hasKernel(const Problem& problem) {
    const auto [known, isNew] = hasKernel_.try_emplace(problem.text());
    if (!isNew) return known->second;
    const auto tactics = tacticsOf(device_.kind());
    return known->second = std::any_of(tactics.begin(), tactics.end(), [&](const Tactic* tactic) {
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
    return isClearlyFaster(graph, made, device_.isHost(), together, apart);
  }

  // Once for equal problems.
  void measureAgain(const graph::Graph& graph, const graph::Node& node) {
    const auto problem = problemOf(graph, node);
    if (measuredAgain_.insert(node.device + "|" + problem.text()).second) source_.measureAgain(node, problem, false);
  }

  const SymbolValues& symbols_;
  const runtime::Device& device_;
  OptionSource& source_;
  const BuildOptions& options_;
  std::deque<graph::Node> noted_;
  std::deque<Problem> notedProblems_;
  std::set<graph::NodeId> notedNodes_;
  size_t announced_ = 0;                   // of what is noted
  std::map<std::string, bool> hasKernel_;  // by text of the problem
  std::set<std::string> measuredAgain_;
};

}  // namespace

bool isClearlyFaster(const graph::Graph& graph, std::span<const graph::NodeId> made, bool onHost, double together,
                     double apart) {
  const auto* composite = graph.node(made[0]).op.as<ops::Composite>();
  const bool normalizes = composite != nullptr && composite->parts.back().op.as<ops::Normalization>() != nullptr;
  const double onGpu = made.size() > 1 ? kClearlyMoved : normalizes ? kClearlyNormalized : kClearly;
  return together < (onHost ? kClearlyOnHost : onGpu) * apart;
}

std::shared_ptr<const void> joinNodes(graph::Graph& graph, const SymbolValues& symbols, const runtime::Device& device,
                                      OptionSource& source, const BuildOptions& options) {
  if (options.choosesElsewhere()) return nullptr;
  auto judge = std::make_shared<Judge>(symbols, device, source, options);
  try {
    if (!device.isHost() && options.optimizationLevel > 0) {
      auto scratch = graph;
      passes::runJoins(
          scratch, {options.refittable, nullptr, device.kind(), {}},
          [&](const graph::Graph& whole, std::span<const graph::NodeId> made, std::span<const graph::NodeId> instead) {
            judge->note(whole, made, instead);
            return false;
          });
      judge->noteOthers(scratch);
      judge->announceAll();
    }
    passes::runJoins(graph, {options.refittable, options.log, device.kind(), {}},
                     [&](const graph::Graph& whole, std::span<const graph::NodeId> made,
                         std::span<const graph::NodeId> instead) { return judge->pays(whole, made, instead); });
  } catch (...) {
    source.abandon();
    throw;
  }
  return judge;
}

}  // namespace tenon::compile
