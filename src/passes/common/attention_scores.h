// The scores of an attention as exporters write them: a product, scaled and capped, with masks added or chosen.
#pragma once

#include <optional>
#include <vector>

#include "core/extent.h"
#include "graph/graph.h"
#include "passes/common/terms.h"

namespace tenon::passes {

// What leaves keys out: numbers that are added to the scores, or a condition where `closed` takes their place.
struct ScoreMask {
  graph::ValueId value = graph::kNone;
  Shape scores;            // where it stands
  double factor = 1;       // of numbers that are added
  bool condition = false;  // with these two:
  bool closedWhere = true;
  double closed = 0;
};

// A factor for each row of the scores, or for each head: it may as well multiply the queries.
struct RowFactor {
  graph::ValueId value = graph::kNone;
  Shape scores;  // where it stands
};

// softcap * tanh(scale * product / softcap), without softcap scale * product, and then the masks in turn; the product
// times the factors.
struct AttentionScores {
  graph::ValueId product = graph::kNone;
  std::vector<RowFactor> factors;
  double scale = 1;
  double softcap = 0;
  std::vector<ScoreMask> masks;
};

// Nothing where the term is something else. It is the same number as the operator's with all masks added, conditions
// as their numbers, wherever some key of a row is open.
std::optional<AttentionScores> matchScores(const graph::Graph& graph, const Terms& terms, const Term& term);

// Whether the value is a reshape that only cuts or joins the leading axes.
bool keepsRows(const graph::Graph& graph, graph::ValueId value);

// What a term is a cast of.
Term withoutCasts(const Terms& terms, Term term);

// What the masks add to the scores together, in the space of the scores: `shapes` are theirs there, `type` is that of
// the result. New nodes are named after `name`.
graph::ValueId addMasks(const graph::Graph& graph, graph::Patch& patch, const AttentionScores& scores,
                        const Shape& space, const std::vector<Shape>& shapes, DataType type, const std::string& name);

}  // namespace tenon::passes
