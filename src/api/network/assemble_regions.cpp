// Loops and conditionals as nodes: what runs within them is lowered into a graph of its own, which becomes a region.
#include <algorithm>
#include <set>

#include "api/network/assembly.h"
#include "api/network/region_values.h"
#include "graph/region.h"

namespace tenon::api {

std::vector<const LayerBase*> Assembly::boundary(const Construct& construct, BoundaryRole role) const {
  std::vector<const LayerBase*> result;
  for (const LayerBase* layer : construct.layers()) {
    const bool isLive = std::find(order_.begin(), order_.end(), layer) != order_.end();
    if (layer->role() == role && isLive) result.push_back(layer);
  }
  return result;
}

std::vector<std::string> Assembly::originsOf(const Construct& construct) const {
  std::vector<std::string> origins;
  for (const LayerBase* layer : order_) {
    if (layer->construct() == &construct || membership_.contains(construct, *layer)) origins.push_back(layer->name());
  }
  return origins;
}

// What a plan can hold; each level costs time of its own.
void Assembly::checkDepth(const Scope& scope, const Construct& construct) {
  constexpr int kMostNested = 16;
  int depth = 1;
  for (const Scope* outer = &scope; outer->construct != nullptr; outer = outer->outer) ++depth;
  checkUser(depth <= kMostNested,
            "'{}' is the {}th of loops and conditionals that are within each other; expected {} at most",
            construct.name(), depth, kMostNested);
}

void Assembly::lowerConstruct(Scope& scope, const Construct& construct) {
  checkDepth(scope, construct);
  construct.isLoop() ? lowerLoop(scope, construct) : lowerConditional(scope, construct);
}

// Sizes are known by their names within a region as outside: no two may have one.
void Assembly::settleSizes(Scope& region) {
  graph::replaceShapeProgram(region.graph);
  const auto inside = sizesOf(region.graph);
  if (inside.empty()) return;
  for (const Scope* scope = region.outer; scope != nullptr; scope = scope->outer) {
    auto outside = sizesOf(scope->graph);
    for (const auto& symbol : scope->graph.shapes().symbols) outside.insert(symbol.name);
    for (const auto& [symbol, source] : scope->graph.symbols()) outside.insert(symbol);
    for (const auto& name : inside) {
      checkUser(
          !outside.contains(name),
          "'{}' computes an extent under the name '{}', which another layer outside of it has; give layers within "
          "loops and conditionals names of their own",
          region.construct->name(), name);
    }
  }
}

}  // namespace tenon::api
