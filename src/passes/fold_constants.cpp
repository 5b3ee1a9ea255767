// Constant folding: deterministic nodes over constants, and integer tensors whose contents inference knows.
#include "passes/fold_constants.h"

#include <algorithm>
#include <set>

#include "core/storage.h"

namespace tenon::passes {
namespace {

constexpr uint64_t kMaxFoldedBytes = uint64_t{1} << 28;  // a constant that grows beyond this stays a computation
constexpr uint64_t kMaxGrownBytes = uint64_t{1} << 30;   // as do others where all together are larger by this than their sources

using graph::Constant;
using graph::ConstantPtr;

// The constant that a value's known contents are, if they are numbers.
ConstantPtr fromContents(const graph::Value& value) {
  if (!value.type.contents || !isConstant(*value.type.contents) || !isConstant(value.type.shape)) return nullptr;
  HostTensor tensor(value.type.dtype, evaluate(value.type.shape, {}));
  for (size_t i = 0; i < value.type.contents->size(); ++i) {
    tensor.view().storeInt(static_cast<int64_t>(i), (*value.type.contents)[i].constant());
  }
  return Constant::own(std::move(tensor));
}

// Bytes of a constant beyond those of its sources, each counted once.
uint64_t growthOf(uint64_t bytes, const std::vector<ConstantPtr>& sources) {
  std::set<const Constant*> known;
  for (const auto& source : sources) {
    if (known.insert(source.get()).second) bytes -= std::min<uint64_t>(bytes, source->bytes());
  }
  return bytes;
}

// That of all constants which are computed from others, those behind them included.
uint64_t grownBytes(const graph::Graph& graph) {
  std::set<const Constant*> known;
  std::vector<const Constant*> open;
  const auto visit = [&](const Constant* constant) {
    if (constant != nullptr && constant->isRecipe() && known.insert(constant).second) open.push_back(constant);
  };
  for (const auto id : graph.order()) {
    for (const auto input : graph.node(id).inputs) visit(graph.value(input).constant.get());
  }
  uint64_t sum = 0;
  while (!open.empty()) {
    const auto* constant = open.back();
    open.pop_back();
    sum = addBytes(sum, growthOf(constant->bytes(), constant->sources()));
    for (const auto& source : constant->sources()) visit(source.get());
  }
  return sum;
}

// `grown` counts what folding has added.
ConstantPtr foldOutput(const graph::Graph& graph, const graph::Node& node, size_t output, bool refittable, uint64_t& grown) {
  const auto& value = graph.value(node.outputs[output]);
  if (auto known = fromContents(value)) return known;
  const bool constantInputs = !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](graph::ValueId id) {
    return graph.value(id).constant != nullptr;
  });
  const bool noInputs = node.inputs.empty() && isConstant(value.type.shape);
  if ((!constantInputs && !noInputs) || !isConstant(value.type.shape)) return nullptr;
  const uint64_t bytes = storageBytes(value.type.dtype, evaluate(value.type.shape, {}), Format::kLinear);
  if (bytes > kMaxFoldedBytes) return nullptr;
  std::vector<ConstantPtr> sources;
  for (const auto id : node.inputs) sources.push_back(graph.value(id).constant);
  if (refittable && std::any_of(sources.begin(), sources.end(), [](const auto& s) { return !s->weights().empty(); })) return nullptr;
  const uint64_t growth = growthOf(bytes, sources);
  if (addBytes(grown, growth) > kMaxGrownBytes) return nullptr;
  grown += growth;
  return Constant::recipe(node.op, std::move(sources), static_cast<int>(output));
}

}  // namespace

int foldConstants(graph::Graph& graph, const Options& options) {
  int edits = 0;
  uint64_t grown = grownBytes(graph);
  const auto order = graph.order();
  for (const auto id : order) {
    const auto& node = graph.node(id);
    const auto facts = node.op.facts();
    if (!facts.deterministic || facts.sideEffects) continue;
    const auto outputs = node.outputs;
    graph::Patch patch(graph);
    bool changed = false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto constant = foldOutput(graph, graph.node(id), i, options.refittable, grown);
      if (constant == nullptr) continue;
      patch.replace(outputs[i], patch.addConstant(std::move(constant), graph.value(outputs[i]).name + "_folded"));
      changed = true;
    }
    if (!changed) continue;
    patch.commit();
    ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
