// Constant folding: deterministic nodes over constants, and integer tensors whose contents inference knows.
#include "passes/common/pass.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/storage.h"
#include "graph/bad_constant.h"

namespace tenon::passes {
namespace {

constexpr uint64_t kMaxFoldedBytes = uint64_t{1} << 28;  // a constant that grows beyond this stays a computation
constexpr uint64_t kMaxGrownBytes = uint64_t{1}
                                    << 30;  // as do others where all together are larger by this than their sources
constexpr int kMaxDepth = 1000;             // and recipes of recipes: each asks the one before

// The constant that a value's known contents are, if they are numbers.
ConstantPtr fromContents(const graph::Value& value) {
  if (isFloating(value.type.dtype)) return nullptr;  // fractions; their nodes fold where the inputs are constant
  if (!value.type.contents || !isConstant(*value.type.contents) || !isConstant(value.type.shape)) return nullptr;
  HostTensor tensor(value.type.dtype, evaluate(value.type.shape, {}));
  for (size_t i = 0; i < value.type.contents->size(); ++i) {
    tensor.view().storeInt(static_cast<int64_t>(i), (*value.type.contents)[i].constant());
  }
  return Constant::own(std::move(tensor));
}

// Bytes of a constant beyond those of its sources, each counted once.
uint64_t growthOf(uint64_t bytes, const std::vector<ConstantPtr>& sources) {
  std::unordered_set<const Constant*> known;
  for (const auto& source : sources) {
    if (known.insert(source.get()).second) bytes -= std::min<uint64_t>(bytes, source->bytes());
  }
  return bytes;
}

class Folder {
 public:
  Folder(graph::Graph& graph, bool refittable) : graph_(graph), refittable_(refittable) {
    for (const auto id : graph.order()) {
      for (const auto input : graph.node(id).inputs) note(graph.value(input).constant);
    }
  }

  int run() {
    int edits = 0;
    graph::Patch patch(graph_);
    const auto order = graph_.order();
    for (const auto id : order) {
      const auto facts = graph_.node(id).op.facts();
      if (!facts.deterministic || facts.sideEffects) continue;
      bool changed = false;
      const auto outputs = graph_.node(id).outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        auto constant = fold(graph_.node(id), i);
        if (constant == nullptr) continue;
        folded_[outputs[i]] = constant;
        patch.replace(outputs[i], patch.addConstant(std::move(constant), graph_.value(outputs[i]).name + "_folded"));
        changed = true;
      }
      edits += changed ? 1 : 0;
    }
    if (edits > 0) patch.commit();
    return edits;
  }

 private:
  ConstantPtr constantOf(graph::ValueId id) const {
    const auto found = folded_.find(id);
    return found != folded_.end() ? found->second : graph_.value(id).constant;
  }

  // Counts a recipe and those behind it: what they have grown by, and how deep they are.
  void note(const ConstantPtr& constant) {
    std::vector<const Constant*> open;
    const auto isNew = [&](const Constant* c) { return c != nullptr && c->isRecipe() && !depth_.contains(c); };
    if (isNew(constant.get())) open.push_back(constant.get());
    while (!open.empty()) {
      const auto* recipe = open.back();
      const size_t before = open.size();
      int depth = 0;
      for (const auto& source : recipe->sources()) {
        if (isNew(source.get())) {
          open.push_back(source.get());
        } else if (source->isRecipe()) {
          depth = std::max(depth, depth_.at(source.get()));
        }
      }
      if (open.size() != before) continue;
      open.pop_back();
      if (depth_.emplace(recipe, depth + 1).second)
        grown_ = addBytes(grown_, growthOf(recipe->bytes(), recipe->sources()));
    }
  }

  ConstantPtr fold(const graph::Node& node, size_t output) {
    const auto& value = graph_.value(node.outputs[output]);
    if (auto known = fromContents(value)) return known;
    if (!isConstant(value.type.shape)) return nullptr;
    std::vector<ConstantPtr> sources;
    int depth = 0;
    for (const auto id : node.inputs) {
      sources.push_back(constantOf(id));
      if (sources.back() == nullptr) return nullptr;
      if (const auto found = depth_.find(sources.back().get()); found != depth_.end())
        depth = std::max(depth, found->second);
    }
    const uint64_t bytes = storageBytes(value.type.dtype, evaluate(value.type.shape, {}), Layout::kLinear);
    if (bytes > kMaxFoldedBytes || depth >= kMaxDepth) return nullptr;
    if (refittable_ && std::any_of(sources.begin(), sources.end(), [](const auto& s) { return !s->weights().empty(); }))
      return nullptr;
    if (addBytes(grown_, growthOf(bytes, sources)) > kMaxGrownBytes) return nullptr;
    try {
      auto constant = Constant::recipe(node.op, std::move(sources), static_cast<int>(output));
      note(constant);
      return constant;
    } catch (const UserError& error) {  // what is known of its operands only now
      throw graph::BadConstant("{} of constants cannot be evaluated: {}", node.name, error.what());
    }
  }

  graph::Graph& graph_;
  bool refittable_;
  uint64_t grown_ = 0;
  std::unordered_map<const Constant*, int> depth_;  // of recipes
  std::unordered_map<graph::ValueId, ConstantPtr> folded_;
};

}  // namespace

int pass_fold_constants(Graph& graph, const Options& options) { return Folder(graph, options.refittable).run(); }

}  // namespace tenon::passes
