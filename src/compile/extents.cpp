// Extents of all tensors at the shapes of a profile, operator by operator.
#include "compile/extents.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/storage.h"
#include "graph/phases.h"
#include "ops/op/gather.h"
#include "runtime/device_capacity.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Shapes that a profile names, with the words for them.
struct Point {
  std::string where;
  const SymbolValues* symbols;
};

// Min, opt and max; equal ones once, under the names of all.
std::vector<Point> pointsOf(std::span<const ProfileSymbols> profiles) {
  std::vector<Point> points;
  for (size_t p = 0; p < profiles.size(); ++p) {
    if (profiles[p].opt.empty()) {
      if (p == 0) points.push_back({{}, &profiles[p].opt});
      continue;
    }
    std::vector<std::pair<std::string, const SymbolValues*>> named;
    const auto add = [&](const char* name, const SymbolValues& symbols) {
      const auto same =
          std::find_if(named.begin(), named.end(), [&](const auto& entry) { return *entry.second == symbols; });
      if (same != named.end()) {
        same->first += fmt::format(", {}", name);
      } else {
        named.emplace_back(name, &symbols);
      }
    };
    add("min", profiles[p].min);
    add("opt", profiles[p].opt);
    add("max", profiles[p].max);
    for (const auto& [names, symbols] : named)
      points.push_back({fmt::format(" at the {} shapes of optimization profile {}", names, p), symbols});
  }
  return points;
}

std::string nameOf(const Node& node) {
  return fmt::format("layer '{}' ({})", node.origins.empty() ? node.name : node.origins[0], node.op.name());
}

// The network's inputs at a point, for messages.
std::string inputsOf(const Graph& graph, const SymbolValues& symbols) {
  constexpr size_t kMost = 6;
  std::string result;
  for (size_t i = 0; i < std::min(kMost, graph.inputs().size()); ++i) {
    const auto& value = graph.value(graph.inputs()[i]);
    result += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", value.name, evaluate(value.type.shape, symbols).text());
  }
  return graph.inputs().size() > kMost ? result + ", ..." : result;
}

class ExtentCheck {
 public:
  ExtentCheck(const Graph& graph, const Point& point, const graph::Phases& phases)
      : graph_(graph), point_(point), phases_(phases), dims_(graph.valueCount()) {}

  void run() {
    for (const ValueId id : graph_.inputs()) measure(nullptr, id);
    for (ValueId id = 0; id < graph_.valueCount(); ++id) {
      if (graph_.value(id).constant != nullptr) dims_[id] = graph_.value(id).constant->dims();
    }
    for (const auto id : graph_.order()) check(id);
  }

 private:
  // What depends on sizes that the device computes is refused by the execution alone: whether they can be so, and all
  // together, is not known before.
  void check(NodeId id) {
    const Node& node = graph_.node(id);
    const bool needsSizes = phases_.ofNode[id] != 0;
    const bool wasAsked = point_.symbols->empty();  // at these extents, when the node was made
    if (!wasAsked && !needsSizes) infer(node);
    for (const ValueId value : node.outputs) measure(&node, value, needsSizes);
    if (!needsSizes) checkIndices(node);
  }

  // Constant indices of a gather, which the kernels would refuse at these extents. Of constant data, the pass that
  // computes it says so.
  void checkIndices(const Node& node) const {
    const auto* gather = node.op.as<ops::Gather>();
    if (gather == nullptr || dims_[node.outputs[0]].count() == 0) return;
    const auto& indices = graph_.value(node.inputs[1]).constant;
    if (indices == nullptr || graph_.value(node.inputs[0]).constant != nullptr) return;
    const Dims& data = dims_[node.inputs[0]];
    const auto outside = gather->outside(data, indices->view());
    if (outside.empty()) return;
    throw UserError("{}{}: {} of the data {}; {}", nameOf(node), point_.where, outside, data.text(), advice());
  }

  // The operator once more, now with numbers.
  void infer(const Node& node) const {
    std::vector<ops::TensorType> types;
    for (const ValueId id : node.inputs)
      types.push_back({graph_.value(id).type.dtype, toShape(dims_[id]), std::nullopt});
    try {
      (void)node.op.bind(*point_.symbols).infer(fmt::format("{}{}", nameOf(node), point_.where), types);
    } catch (const Unsupported&) {
      throw;
    } catch (const Error& error) {
      throw UserError("{}; {}", error.what(), advice());
    }
  }

  // `node` is null for an input of the network.
  void measure(const Node* node, ValueId id, bool needsSizes = false) {
    const auto& value = graph_.value(id);
    const auto refuse = [&](const std::string& why) {
      const auto owner = node == nullptr ? fmt::format("network input '{}'", value.name) : nameOf(*node);
      throw UserError("{}{}: {}; {}", owner, point_.where, why, advice());
    };
    auto& dims = dims_[id];
    try {
      dims = evaluate(value.type.shape, *point_.symbols);
    } catch (const UserError& error) {
      refuse(fmt::format("the extents {} of tensor '{}': {}", text(value.type.shape), value.name, error.what()));
    }
    const uint64_t bytes = storageBytes(value.type.dtype, dims, Layout::kLinear);
    if (bytes <= kMostBytes) return;
    const bool negative = std::any_of(dims.begin(), dims.end(), [](int64_t extent) { return extent < 0; });
    if (negative && needsSizes) return;
    const auto shape =
        isConstant(value.type.shape) ? dims.text() : fmt::format("{} = {}", dims.text(), text(value.type.shape));
    refuse(negative ? fmt::format("tensor '{}' would have a negative extent: {}", value.name, shape)
                    : fmt::format("tensor '{}' of {} {} would have more than {} bytes, the limit of the address space",
                                  value.name, name(value.type.dtype), shape, kMostBytes));
  }

  std::string advice() const {
    if (point_.symbols->empty()) return "change the layer, or the shapes of the network's inputs";
    return fmt::format(
        "the network's inputs are {} there: change the profile (IOptimizationProfile::setDimensions; trtexec "
        "--minShapes, "
        "--optShapes, --maxShapes), or the layer",
        inputsOf(graph_, *point_.symbols));
  }

  const Graph& graph_;
  const Point& point_;
  const graph::Phases& phases_;
  std::vector<Dims> dims_;  // by value
};

// `limit` is what operands and results of a node may take together, `memory` what the machine has.
void checkMemory(const Graph& graph, const SymbolValues& symbols, uint64_t limit, uint64_t memory,
                 const std::string& where) {
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    uint64_t sum = 0;
    std::pair<uint64_t, ValueId> largest{0, graph::kNone};
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) {
        const auto& type = graph.value(value).type;
        const uint64_t bytes = storageBytes(type.dtype, evaluate(type.shape, symbols), Layout::kLinear);
        sum = addBytes(sum, bytes);
        largest = std::max(largest, {bytes, value});
      }
    }
    if (sum <= limit) continue;
    const auto& value = graph.value(largest.second);
    throw UserError(
        "{}{}: its tensors take {} bytes, this machine has {}; the largest is '{}' of {} {}. Make them smaller, or "
        "build on a "
        "machine with more memory",
        nameOf(node), where, sum, memory, value.name, name(value.type.dtype),
        evaluate(value.type.shape, symbols).text());
  }
}

}  // namespace

void checkExtents(const Graph& graph, std::span<const ProfileSymbols> profiles) {
  const auto phases = graph::phasesOf(graph);
  for (const auto& point : pointsOf(profiles)) ExtentCheck(graph, point, phases).run();
}

void checkMemory(const Graph& graph, std::span<const ProfileSymbols> profiles, const runtime::Device& device) {
  constexpr uint64_t kMargin = 2;  // an engine may run elsewhere
  const auto* capacity = dynamic_cast<const runtime::DeviceCapacity*>(&device);
  if (capacity == nullptr) return;
  const uint64_t memory = capacity->memoryBytes();
  for (size_t p = 0; p < profiles.size(); ++p) {
    const bool isStatic = profiles[p].opt.empty();
    checkMemory(graph, profiles[p].opt, memory, memory,
                isStatic ? "" : fmt::format(" at the opt shapes of optimization profile {}", p));
    if (isStatic) continue;
    checkMemory(graph, profiles[p].max, multiplyBytes(memory, kMargin), memory,
                fmt::format(" at the max shapes of optimization profile {}", p));
  }
}

}  // namespace tenon::compile
