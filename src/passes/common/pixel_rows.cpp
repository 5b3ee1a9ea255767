// Pictures whose pixels are rows of a tensor, by the movement between the two.
#include "passes/common/pixel_rows.h"

#include "ops/op/reshape.h"
#include "ops/op/transpose.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::ValueId;

const std::vector<int64_t> kSwapped{0, 2, 1};

// Whether `flat` is `picture` with its pixels along one axis.
bool isFlat(const Shape& flat, const Shape& picture) {
  return flat.size() == 3 && picture.size() >= 4 && flat[0] == picture[0] && flat[1] == picture[1];
}

}  // namespace

bool becomesRows(const Graph& graph, ValueId picture) {
  const auto flat = onlyUse(graph, picture);
  if (!flat || graph.node(flat->node).op.as<ops::Reshape>() == nullptr) return false;
  const ValueId pixels = graph.node(flat->node).outputs[0];
  if (!isFlat(graph.value(pixels).type.shape, graph.value(picture).type.shape)) return false;
  const auto swapped = onlyUse(graph, pixels);
  const auto* transpose = swapped ? graph.node(swapped->node).op.as<ops::Transpose>() : nullptr;
  return transpose != nullptr && transpose->permutation == kSwapped;
}

std::optional<ValueId> pixelRowsOf(const Graph& graph, ValueId picture) {
  if (producerOp<ops::Reshape>(graph, picture) == nullptr) return std::nullopt;
  const ValueId pixels = graph.node(graph.value(picture).producer).inputs[0];
  const auto* transpose = producerOp<ops::Transpose>(graph, pixels);
  if (transpose == nullptr || transpose->permutation != kSwapped) return std::nullopt;
  if (!isFlat(graph.value(pixels).type.shape, graph.value(picture).type.shape)) return std::nullopt;
  return graph.node(graph.value(pixels).producer).inputs[0];
}

}  // namespace tenon::passes
