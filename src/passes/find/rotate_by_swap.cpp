// concat(a x0 + b x1, c x1 + d x0) => concat(a, c) x + concat(b, d) slice{wrap}(x), where x0 and x1 are the halves of
// an axis of x, or every other element of one: pairs of a head that are turned by an angle (rotary embedding), however
// an exporter writes them. Factors may be missing, and the first terms of both: concat(-x1, x0). On the host the pieces
// are copied as fast.
#include "passes/common/pass.h"

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// sign * factor * half
struct Term {
  NodeId slice = graph::kNone;
  ValueId half = graph::kNone;    // as it is multiplied: the slice's result, or that in another shape
  ValueId factor = graph::kNone;  // or none
  bool negated = false;
};

struct Piece {
  std::vector<Term> terms;
  std::vector<NodeId> nodes;  // that compute it
};

bool computes(const Graph& graph, ValueId value, ScalarOp op, int arguments) {
  const auto* pointwise = producerOp<ops::Pointwise>(graph, value);
  std::vector<ScalarArgument> inputs;
  for (int i = 0; i < arguments; ++i) inputs.push_back(ScalarArgument::input(i));
  return pointwise != nullptr && pointwise->expr == ScalarExpr::of(op, inputs) &&
         graph.value(value).constraints == graph::Constraints{};
}

// The value in front of a reshape.
ValueId unshaped(const Graph& graph, ValueId value) {
  return producerOp<ops::Reshape>(graph, value) == nullptr ? value : graph.node(graph.value(value).producer).inputs[0];
}

NodeId sliceOf(const Graph& graph, ValueId value) {
  const ValueId sliced = unshaped(graph, value);
  const auto* slice = producerOp<ops::Slice>(graph, sliced);
  const NodeId node = graph.value(sliced).producer;
  const bool is = slice != nullptr && slice->mode == ops::SliceMode::kStrict && graph.node(node).inputs.size() == 1;
  return is ? node : graph::kNone;
}

// Appends the terms of a sum; false where it is something else.
bool addTerms(const Graph& graph, ValueId value, bool negated, Piece& piece) {
  if (const NodeId slice = sliceOf(graph, value); slice != graph::kNone) {
    piece.terms.push_back({slice, value, graph::kNone, negated});
    return true;
  }
  if (!onlyUse(graph, value)) return false;
  const NodeId node = graph.value(value).producer;
  if (node == graph::kNone) return false;
  const auto& inputs = graph.node(node).inputs;
  piece.nodes.push_back(node);
  if (computes(graph, value, ScalarOp::k_neg, 1)) return addTerms(graph, inputs[0], !negated, piece);
  if (computes(graph, value, ScalarOp::k_mul, 2)) {
    const NodeId slices[] = {sliceOf(graph, inputs[0]), sliceOf(graph, inputs[1])};
    const size_t half = slices[0] == graph::kNone ? 1 : 0;
    if (slices[half] == graph::kNone || slices[1 - half] != graph::kNone) return false;
    piece.terms.push_back({slices[half], inputs[half], inputs[1 - half], negated});
    return true;
  }
  const bool isDifference = computes(graph, value, ScalarOp::k_sub, 2);
  if (!piece.terms.empty() || (!isDifference && !computes(graph, value, ScalarOp::k_add, 2))) return false;
  return addTerms(graph, inputs[0], negated, piece) && addTerms(graph, inputs[1], negated != isDifference, piece);
}

// The two halves of a tensor, and the tensor so shaped that an axis has one behind the other.
struct Halves {
  ValueId whole;
  Shape shape;
  size_t axis;
  bool isStepped;  // the shape is another than that of the whole
};

std::optional<Halves> halvesOf(const Graph& graph, NodeId first, NodeId second) {
  const auto& a = *graph.node(first).op.as<ops::Slice>();
  const auto& b = *graph.node(second).op.as<ops::Slice>();
  const ValueId whole = graph.node(first).inputs[0];
  Halves halves{whole, graph.value(whole).type.shape, a.start.size(), false};
  if (graph.node(second).inputs[0] != whole || !(a.size == b.size) || !(a.stride == b.stride)) return std::nullopt;
  for (size_t i = 0; i < a.start.size(); ++i) {
    const bool isDense = a.stride.empty() || a.stride[i].isConstant(1);
    if (!a.start[i].isConstant(0)) return std::nullopt;
    if (isDense && b.start[i].isConstant(0) && a.size[i] == halves.shape[i]) continue;
    if (halves.axis != a.start.size() || !a.size[i].isConstant() || !(a.size[i] * 2 == halves.shape[i]))
      return std::nullopt;
    halves.axis = i;
    halves.isStepped = !isDense;
    if (!(isDense ? b.start[i] == a.size[i] : a.stride[i].isConstant(2) && b.start[i].isConstant(1)))
      return std::nullopt;
  }
  if (halves.axis == a.start.size()) return std::nullopt;
  if (!halves.isStepped) return halves;
  Shape split;
  for (size_t i = 0; i < halves.shape.size(); ++i) {
    split.push_back(i == halves.axis ? a.size[i] : halves.shape[i]);
    if (i == halves.axis) split.push_back(2);
  }
  halves.shape = split;
  ++halves.axis;
  return halves;
}

// The halves that the pieces are made of; each piece's own half comes first then, the other one last.
std::optional<Halves> ordered(const Graph& graph, std::array<Piece, 2>& pieces) {
  auto& [own, other] = pieces;
  const bool isWhole = own.terms.size() == 2;
  const NodeId begin = isWhole ? own.terms[0].slice : other.terms[0].slice;
  const NodeId end = own.terms.back().slice;
  auto halves = halvesOf(graph, begin, end);
  if (!isWhole) return halves;
  if (!halves && (halves = halvesOf(graph, end, begin))) std::swap(own.terms[0], own.terms[1]);
  if (other.terms[0].slice == own.terms[0].slice) std::swap(other.terms[0], other.terms[1]);
  const bool isTurned = other.terms[0].slice == own.terms[1].slice && other.terms[1].slice == own.terms[0].slice;
  return isTurned ? halves : std::nullopt;
}

// The shape of a factor of a piece, with the axis of the concatenation, or nothing where the piece is not one that it
// can be cut of.
std::optional<Shape> withAxis(const Shape& factor, const Shape& sum, const Shape& piece, size_t axis) {
  const size_t behind = piece.size() - 1 - axis;
  if (sum == piece) {
    if (factor.size() <= behind || !(factor[factor.size() - 1 - behind] == piece[axis])) return std::nullopt;
    return factor;
  }
  Shape result;
  for (size_t i = 0; i < std::max(factor.size(), behind) + 1; ++i) {
    const size_t left = std::max(factor.size(), behind) - i;  // axes of the factor from here on
    if (left == behind) result.push_back(1);
    if (left > 0) result.push_back(left > factor.size() ? Extent(1) : factor[factor.size() - left]);
  }
  return result;
}

// Whether the piece has the axis of extent 1 beside the sum's.
bool insertsAxis(const Shape& sum, const Shape& piece, size_t axis) {
  if (piece.size() != sum.size() + 1 || !piece[axis].isConstant(1)) return false;
  for (size_t i = 0; i < sum.size(); ++i)
    if (!(sum[i] == piece[i < axis ? i : i + 1])) return false;
  return true;
}

// Computed factors that are as large as the sum would be read and written for nothing.
bool isSmall(const Graph& graph, ValueId factor, const Shape& sum) {
  const auto& value = graph.value(factor);
  return value.constant != nullptr || !(value.type.shape == sum);
}

// Whether the terms are of the sum's shape, have factors all or none, and these become one where they meet.
bool factorsFit(const Graph& graph, const std::array<Piece, 2>& pieces, const Shape& sum, const Shape& piece,
                size_t axis) {
  const bool haveFactors = pieces[0].terms[0].factor != graph::kNone;
  for (size_t place = 0; place < pieces[0].terms.size(); ++place) {
    std::optional<Shape> shape;
    for (const auto& [terms, nodes] : pieces) {
      const Term& term = terms[place];
      if (!(graph.value(term.half).type.shape == sum) || haveFactors != (term.factor != graph::kNone)) return false;
      if (!haveFactors) continue;
      const auto wanted = withAxis(graph.value(term.factor).type.shape, sum, piece, axis);
      if (!wanted || !isSmall(graph, term.factor, sum) || (shape && !(*shape == *wanted))) return false;
      shape = wanted;
    }
  }
  return true;
}

ScalarExpr of(ScalarOp op) { return ScalarExpr::of(op, {ScalarArgument::input(0), ScalarArgument::input(1)}); }

bool find(Graph& graph, NodeId id, const Options& options) {
  const auto node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  if (concat == nullptr || node.inputs.size() != 2 || !factsOf(options.device).launchesAreDear) return false;
  std::array<Piece, 2> pieces;
  std::vector<NodeId> from;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId sum = unshaped(graph, node.inputs[k]);
    if (!onlyUse(graph, node.inputs[k]) || !addTerms(graph, sum, false, pieces[k])) return false;
    from.insert(from.end(), pieces[k].nodes.rbegin(), pieces[k].nodes.rend());
  }
  from.push_back(id);
  const size_t count = pieces[0].terms.size();
  if (count != pieces[1].terms.size() || count > 2) return false;
  const auto halves = ordered(graph, pieces);
  if (!halves) return false;
  const auto& output = graph.value(node.outputs[0]).type;
  const Shape piece = graph.value(node.inputs[0]).type.shape;
  const Shape sum = graph.value(unshaped(graph, node.inputs[0])).type.shape;
  const auto rank = static_cast<int64_t>(output.shape.size());
  const auto axis = static_cast<size_t>(concat->axis < 0 ? concat->axis + rank : concat->axis);
  if (axis != halves->axis || !(output.shape == halves->shape) || !isFloating(output.dtype)) return false;
  if (!(sum == piece) && !insertsAxis(sum, piece, axis)) return false;
  if (!(graph.value(unshaped(graph, node.inputs[1])).type.shape == sum)) return false;
  if (piece[axis].isConstant(0) || !factorsFit(graph, pieces, sum, piece, axis)) return false;
  ops::Slice roll{Shape(halves->shape.size(), 0), halves->shape, {}, ops::SliceMode::kWrap};
  roll.start[axis] = piece[axis];
  if (options.computes && !options.computes(roll, std::span(&output, 1))) return false;

  graph::Patch patch(graph);
  ValueId whole = halves->whole;
  if (halves->isStepped) whole = patch.add(ops::Reshape{halves->shape}, node.name + " (pairs)", {whole}, from);
  // Of the terms in this place of both pieces.
  const auto factors = [&](size_t place) {
    const Term terms[] = {pieces[0].terms[place], pieces[1].terms[place]};
    const size_t behind = piece.size() - 1 - axis;
    if (terms[0].factor == graph::kNone) {
      const int64_t half = piece[axis].constant();
      Dims dims;
      for (size_t i = 0; i <= behind; ++i) dims.push(i == 0 ? 2 * half : 1);
      HostTensor signs(output.dtype, dims);
      for (int64_t i = 0; i < 2 * half; ++i) signs.view().storeDouble(i, terms[i / half].negated ? -1 : 1);
      return patch.addConstant(Constant::own(std::move(signs)), node.name + "_signs");
    }
    std::vector<ValueId> parts;
    size_t last = 0;
    for (const auto& term : terms) {
      const Shape& shape = graph.value(term.factor).type.shape;
      const Shape wanted = *withAxis(shape, sum, piece, axis);
      ValueId part = term.factor;
      if (!(wanted == shape)) part = patch.add(ops::Reshape{wanted}, node.name + " (factor)", {part}, from);
      if (term.negated)
        part = patch.add(ops::Pointwise{ScalarExpr::of(ScalarOp::k_neg)}, node.name + " (sign)", {part}, from);
      parts.push_back(part);
      last = wanted.size() - 1 - behind;
    }
    return patch.add(ops::Concat{static_cast<int64_t>(last)}, node.name + " (factors)", std::move(parts), from);
  };
  const ValueId turned = patch.add(roll, node.name + " (roll)", {whole}, from);
  const bool isRoll = count == 1 && pieces[0].terms[0].factor == graph::kNone && !pieces[0].terms[0].negated &&
                      !pieces[1].terms[0].negated;
  ValueId result = isRoll ? turned
                          : patch.add(ops::Pointwise{of(ScalarOp::k_mul)}, node.name + " (turned)",
                                      {turned, factors(count - 1)}, from);
  if (count == 2) {
    const ValueId straight =
        patch.add(ops::Pointwise{of(ScalarOp::k_mul)}, node.name + " (straight)", {whole, factors(0)}, from);
    result = patch.add(ops::Pointwise{of(ScalarOp::k_add)}, node.name, {straight, result}, from);
  }
  patch.replace(node.outputs[0], result);
  patch.commit();
  return true;
}

}  // namespace

int pass_rotate_by_swap(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return find(graph, id, options); });
}

}  // namespace tenon::passes
