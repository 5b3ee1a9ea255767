// Each node and each cast is timed like a node of the network; the cheapest combination of one half with f32 wins.
#include "compile/types/choose.h"

#include <fmt/ranges.h>

#include <deque>
#include <limits>

#include "compile/libraries.h"
#include "compile/types/casts.h"
#include "compile/types/lower.h"
#include "core/error.h"
#include "ops/op/pointwise.h"
#include "runtime/device.h"
#include "runtime/half_precision.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

bool computesInHalves(const runtime::Device& device) {
  return dynamic_cast<const runtime::HalfPrecision*>(&device) != nullptr;
}

constexpr double kNoKernel = std::numeric_limits<double>::infinity();

// Problems that are timed together, so that their machine code is made at once.
class Timing {
 public:
  Timing(const TypeSets& sets, OptionSource& source, const BuildOptions& options)
      : sets_(sets), source_(source), options_(options) {}

  // `seconds` is written by run(). The operator is kept here.
  void add(const Node& like, ops::Operator op, std::vector<TensorDesc> inputs, std::vector<TensorDesc> outputs,
           double* seconds) {
    auto& node = nodes_.emplace_back(like);
    node.op = std::move(op);
    auto& problem = problems_.emplace_back(Problem{node.op, std::move(inputs), std::move(outputs), sets_.symbols()});
    allow(problem, options_);
    asked_.push_back({&node, &problem});
    seconds_.push_back(seconds);
  }

  void run() {
    source_.timeSingleCandidates(true);
    const Announcing announcing(source_);
    size_t announced = 0;
    for (size_t i = 0; i < asked_.size(); ++i) {
      if (i >= announced) announced = i + source_.announce(std::span(asked_).subspan(i));
      *seconds_[i] = best(*asked_[i].node, *asked_[i].problem);
    }
    source_.timeSingleCandidates(false);
  }

 private:
  double best(const Node& node, const Problem& problem) {
    double seconds = kNoKernel;
    try {
      for (const auto& option : source_.options(node, problem)) seconds = std::min(seconds, option.seconds);
    } catch (const Unsupported&) {
      // Nothing computes it in this type: the infinite time says so.
    }
    return seconds;
  }

  const TypeSets& sets_;
  OptionSource& source_;
  const BuildOptions& options_;
  std::deque<Node> nodes_;  // whose addresses stay
  std::deque<Problem> problems_;
  std::vector<Asked> asked_;
  std::vector<double*> seconds_;
};

class Measurer {
 public:
  Measurer(const TypeSets& sets, DataType half, OptionSource& source, const BuildOptions& options)
      : sets_(sets), graph_(sets.graph()), half_(half), timing_(sets, source, options) {}

  TypeTimes run() {
    times_.f32.assign(graph_.nodeCount(), 0);
    times_.half.assign(graph_.nodeCount(), kNoKernel);
    times_.down.assign(graph_.valueCount(), 0);
    times_.up.assign(graph_.valueCount(), 0);
    for (const NodeId id : graph_.order()) {
      if (!sets_.may(id, half_)) continue;
      const auto& node = graph_.node(id);
      addNode(id, node);
      for (const ValueId value : node.inputs) addCasts(value);
      for (const ValueId value : node.outputs) addCasts(value);
    }
    timing_.run();
    return std::move(times_);
  }

 private:
  // A node that must stay in f32 costs the same whatever the others are.
  void addNode(NodeId id, const Node& node) {
    if (isView(node)) {
      times_.half[id] = 0;
      return;
    }
    const auto typed = inHalf(graph_, node, half_);
    std::vector<TensorDesc> full, halves;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      full.push_back(tensor(node.inputs[i], graph_.value(node.inputs[i]).type.dtype));
      halves.push_back(tensor(node.inputs[i], typed->inputs[i].dtype));
    }
    std::vector<TensorDesc> fullResults, halfResults;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      fullResults.push_back(tensor(node.outputs[i], graph_.value(node.outputs[i]).type.dtype));
      halfResults.push_back(tensor(node.outputs[i], typed->outputs[i].dtype));
    }
    timing_.add(node, node.op, std::move(full), std::move(fullResults), &times_.f32[id]);
    timing_.add(node, typed->op, std::move(halves), std::move(halfResults), &times_.half[id]);
  }

  void addCasts(ValueId id) {
    if (!sets_.isFree(id) || graph_.value(id).constant != nullptr || times_.down[id] != 0) return;
    times_.down[id] = times_.up[id] = kNoKernel;
    const Node like{ops::Pointwise{}, "cast", {}, {}, {}, {}};
    const auto add = [&](DataType from, DataType to, double* seconds) {
      timing_.add(like, ops::Pointwise{castExpression(to)}, {tensor(id, from)}, {tensor(id, to)}, seconds);
    };
    add(DataType::kF32, half_, &times_.down[id]);
    add(half_, DataType::kF32, &times_.up[id]);
  }

  TensorDesc tensor(ValueId id, DataType type) {
    const auto& value = graph_.value(id);
    TensorDesc desc{type, evaluate(value.type.shape, sets_.symbols()), value.constant};
    if (value.constant != nullptr && type != value.type.dtype) {
      auto& constant = halves_[id];
      if (constant == nullptr) constant = halfConstant(value.constant, type, false);
      desc.constant = constant;
    }
    return desc;
  }

  const TypeSets& sets_;
  const Graph& graph_;
  const DataType half_;
  Timing timing_;
  TypeTimes times_;
  std::map<ValueId, graph::ConstantPtr> halves_;
};

NodeTypes measuredTypes(const TypeSets& sets, OptionSource& source, const BuildOptions& options, std::string& how) {
  std::optional<NodeTypes> best;
  double bestSeconds = 0, fullSeconds = 0;
  for (const DataType half : sets.options().halves) {
    const auto times = measureTypes(sets, half, source, options);
    auto types = cheapestTypes(sets, half, times);
    const double seconds = totalSeconds(sets, half, times, types);
    fullSeconds = totalSeconds(sets, half, times, NodeTypes(types.size(), DataType::kF32));
    options.log->verbose("Types: {:.3f} us with {}, {:.3f} us without, for the nodes that may be in it", seconds * 1e6,
                         name(half), fullSeconds * 1e6);
    if (best && !(seconds < bestSeconds)) continue;
    best = std::move(types);
    bestSeconds = seconds;
  }
  how = "measured on the device";
  // Layers that shall be in the other half.
  for (const NodeId id : sets.graph().order()) {
    const auto demand = sets.demand(id);
    if (demand && *demand != DataType::kF32 && sets.may(id, *demand)) (*best)[id] = *demand;
  }
  return std::move(*best);
}

// How many nodes with floating results are in which type.
std::string countsOf(const TypeSets& sets, const NodeTypes& types) {
  std::map<DataType, size_t> counts;
  for (const NodeId id : sets.graph().order()) {
    const auto& outputs = sets.graph().node(id).outputs;
    if (std::any_of(outputs.begin(), outputs.end(), [&](ValueId value) { return sets.isFree(value); }))
      ++counts[types[id]];
  }
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) parts.push_back(fmt::format("{} in {}", count, name(type)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

bool measuresTypes(const BuildOptions& options, const runtime::Device& device) {
  constexpr int kMeasuredFrom = 4;
  return options.optimizationLevel >= kMeasuredFrom && !options.types.halves.empty() && !options.choosesElsewhere() &&
         computesInHalves(device);
}

TypeTimes measureTypes(const TypeSets& sets, DataType half, OptionSource& source, const BuildOptions& options) {
  return Measurer(sets, half, source, options).run();
}

NodeTypes chooseTypes(const TypeSets& sets, OptionSource& source, const BuildOptions& options,
                      const runtime::Device& device) {
  std::string how = "by rule";
  const auto types = measuresTypes(options, device) ? measuredTypes(sets, source, options, how)
                                                    : typesByRule(sets, !computesInHalves(device));
  sets.reportUnmet(types, *options.log);
  options.log->verbose("Types of floating-point nodes, {}: {}", how, countsOf(sets, types));
  if (!computesInHalves(device)) return types;
  for (const NodeId id : sets.graph().order()) {
    if (types[id] != DataType::kF32) continue;
    for (const DataType half : options.types.halves) {
      const auto& reason = sets.refusal(id, half);
      if (!reason.empty()) options.log->verbose("{} stays in f32: {}", sets.graph().node(id).name, reason);
    }
  }
  return types;
}

Graph inChosenTypes(const Graph& graph, const BuildOptions& options, const runtime::Device& device,
                    const SymbolValues& symbols, OptionSource& source) {
  const KernelExists hasKernel = [&](const Node& node, const Problem& problem) {
    if (isView(node)) return true;
    for (const auto* tactic : tacticsOf(device.kind(), node.device)) {
      if (!isAllowed(*tactic, options.excludedLibraries)) continue;
      // The last resort computes on the host: on another device it is no reason to change the type.
      const auto rows = rowMajor(tactic->name(), problem);
      if (tactic->supports(problem) && (device.isHost() || !tactic->isLastResort(problem, rows))) return true;
    }
    return false;
  };
  const TypeSets sets(graph, options.types, symbols, hasKernel);
  auto result = lowerPrecision(graph, options.types, chooseTypes(sets, source, options, device), options.refittable);
  graph::verify(result);
  return result;
}

}  // namespace tenon::compile
