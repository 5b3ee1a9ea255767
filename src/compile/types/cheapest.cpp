// Nodes on the side of the source are in f32, those on the side of the sink in the half.
#include "compile/types/cheapest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compile/types/min_cut.h"

namespace tenon::compile {
namespace {

using graph::NodeId;
using graph::ValueId;

constexpr double kGain = 0.98;  // of the time in f32: what a half must reach

int64_t costOf(double seconds) {
  constexpr double kUnits = 1e15;  // in a second: 1,000 seconds fit below what must not be cut
  return std::isfinite(seconds) ? static_cast<int64_t>(std::min(seconds, 1e3) * kUnits) : MinCut::kNever;
}

// The side of each node that is decided beforehand.
enum class Side : uint8_t { kF32, kHalf, kFree };

Side sideOf(const TypeSets& sets, NodeId id, DataType half, const TypeTimes& times) {
  const auto demand = sets.demand(id);
  if ((demand && *demand != half) || !sets.may(id, half)) return Side::kF32;
  if (demand) return Side::kHalf;
  return std::isfinite(times.half[id]) ? Side::kFree : Side::kF32;
}

class Cut {
 public:
  Cut(const TypeSets& sets, DataType half, const TypeTimes& times)
      : sets_(sets), graph_(sets.graph()), half_(half), times_(times), vertex_(graph_.nodeCount(), MinCut::kSource) {}

  NodeTypes run() {
    for (const NodeId id : graph_.order()) {
      vertex_[id] = cut_.addVertex();
      const auto side = sideOf(sets_, id, half_, times_);
      cut_.addEdge(MinCut::kSource, vertex_[id], side == Side::kF32 ? MinCut::kNever : costOf(times_.half[id]));
      cut_.addEdge(vertex_[id], MinCut::kSink, side == Side::kHalf ? MinCut::kNever : costOf(times_.f32[id] * kGain));
    }
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.valueCount()); ++id) {
      if (sets_.isFree(id) && graph_.value(id).constant == nullptr) addCasts(id);
    }
    const auto isHalf = cut_.solve();
    NodeTypes types(graph_.nodeCount(), DataType::kF32);
    for (const NodeId id : graph_.order()) {
      if (isHalf[static_cast<size_t>(vertex_[id])]) types[id] = half_;
    }
    return types;
  }

 private:
  // A vertex stands for the value in the half, another for the value in f32, each there where somebody reads it.
  void addCasts(ValueId id) {
    const auto& value = graph_.value(id);
    const bool isOutput = graph_.isOutput(id);
    const auto& uses = graph_.uses(id);
    if (uses.empty() && !isOutput) return;
    const int producer = value.producer == graph::kNone ? MinCut::kSource : vertex_[value.producer];
    const int halved = cut_.addVertex();
    const int full = cut_.addVertex();
    cut_.addEdge(producer, halved, costOf(times_.down[id]));
    cut_.addEdge(full, producer, costOf(times_.up[id]));
    for (const auto& use : uses) {
      cut_.addEdge(halved, vertex_[use.node], MinCut::kNever);
      cut_.addEdge(vertex_[use.node], full, MinCut::kNever);
    }
    if (isOutput) cut_.addEdge(MinCut::kSource, full, MinCut::kNever);
  }

  const TypeSets& sets_;
  const graph::Graph& graph_;
  const DataType half_;
  const TypeTimes& times_;
  MinCut cut_;
  std::vector<int> vertex_;  // by node id
};

}  // namespace

NodeTypes cheapestTypes(const TypeSets& sets, DataType half, const TypeTimes& times) {
  return Cut(sets, half, times).run();
}

double totalSeconds(const TypeSets& sets, DataType half, const TypeTimes& times, const NodeTypes& types) {
  const auto& graph = sets.graph();
  double total = 0;
  for (const NodeId id : graph.order()) total += types[id] == half ? times.half[id] : times.f32[id];
  for (ValueId id = 0; id < static_cast<ValueId>(graph.valueCount()); ++id) {
    const auto& value = graph.value(id);
    if (!sets.isFree(id) || value.constant != nullptr) continue;
    const bool isHalf = value.producer != graph::kNone && types[value.producer] == half;
    bool isReadAsOther = isHalf && graph.isOutput(id);
    for (const auto& use : graph.uses(id)) isReadAsOther = isReadAsOther || (types[use.node] == half) != isHalf;
    if (isReadAsOther) total += isHalf ? times.up[id] : times.down[id];
  }
  return total;
}

}  // namespace tenon::compile
