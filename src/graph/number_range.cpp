// Intervals along the flow of data, as far as a few steps lead.
#include "graph/number_range.h"

#include <algorithm>
#include <cmath>

#include "ops/op/count_nonzero.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/size.h"
#include "ops/op/topk.h"
#include "ops/shape_arithmetic.h"

namespace tenon::graph {
namespace {

using ops::ScalarOp;

constexpr int kMostSteps = 48;              // on the way back
constexpr int64_t kMostElements = 1 << 12;  // of constants that are read

NumberRange between(Extent low, Extent high) { return {std::move(low), std::move(high)}; }

template <typename F>
std::optional<Extent> both(const std::optional<Extent>& a, const std::optional<Extent>& b, F&& combine) {
  return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
}
template <typename F>
std::optional<Extent> either(const std::optional<Extent>& a, const std::optional<Extent>& b, F&& combine) {
  return a && b ? std::optional(combine(*a, *b)) : a ? a : b;
}
const auto lower = [](const Extent& a, const Extent& b) { return min(a, b); };
const auto higher = [](const Extent& a, const Extent& b) { return max(a, b); };

NumberRange hull(const NumberRange& a, const NumberRange& b) {
  return {both(a.low, b.low, lower), both(a.high, b.high, higher)};
}
NumberRange smaller(const NumberRange& a, const NumberRange& b) {
  return {both(a.low, b.low, lower), either(a.high, b.high, lower)};
}
NumberRange greater(const NumberRange& a, const NumberRange& b) {
  return {either(a.low, b.low, higher), both(a.high, b.high, higher)};
}
NumberRange sum(const NumberRange& a, const NumberRange& b) {
  const auto add = [](const Extent& x, const Extent& y) { return x + y; };
  return {both(a.low, b.low, add), both(a.high, b.high, add)};
}
NumberRange negative(const NumberRange& a) {
  const auto minus = [](const std::optional<Extent>& x) { return x ? std::optional(Extent(0) - *x) : std::nullopt; };
  return {minus(a.high), minus(a.low)};
}
bool notNegative(const NumberRange& a) { return a.low && a.low->isConstant() && a.low->constant() >= 0; }
NumberRange product(const NumberRange& a, const NumberRange& b) {
  const auto multiply = [](const Extent& x, const Extent& y) { return x * y; };
  if (!notNegative(a) || !notNegative(b)) return {};
  return {both(a.low, b.low, multiply), both(a.high, b.high, multiply)};
}

std::optional<Extent> integer(double value) {
  constexpr double kMost = 1LL << 52;
  return std::abs(value) <= kMost ? std::optional(Extent(static_cast<int64_t>(value))) : std::nullopt;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  NumberRange of(ValueId id, int steps) const {
    const auto& value = graph_.value(id);
    if (value.type.dtype == DataType::kBool) return between(0, 1);
    if (value.type.contents && !isFloating(value.type.dtype)) return ofElements(*value.type.contents);
    if (value.constant != nullptr) return ofConstant(*value.constant);
    if (value.producer == kNone || steps == kMostSteps) return {};
    const Node& node = graph_.node(value.producer);
    if (const auto* pointwise = node.op.as<ops::Pointwise>()) return ofPointwise(*pointwise, node, steps);
    if (const auto* size = node.op.as<ops::Size>(); size != nullptr) {
      NumberRange range;
      if (!ops::mayBeNegative(size->symbol)) range.low = 0;
      if (size->isBounded()) range.high = size->upper;
      return range;
    }
    if (node.op.as<ops::CountNonZero>() != nullptr)
      return between(0, tenon::product(graph_.value(node.inputs[0]).type.shape));
    if (const auto* top = node.op.as<ops::TopK>(); top != nullptr)
      return ofTop(*top, node, value.producerOutput, steps);
    if (const auto* reduce = node.op.as<ops::Reduce>()) return ofReduce(*reduce, node, steps);
    if (node.op.as<ops::Loop>() != nullptr) return ofLoop(node, value.producerOutput);
    if (node.op.facts().movement) return ofMovement(node, steps);
    return {};
  }

 private:
  static NumberRange ofElements(const std::vector<Extent>& elements) {
    if (elements.empty()) return between(0, 0);
    NumberRange range = between(elements[0], elements[0]);
    for (const auto& element : elements) range = hull(range, between(element, element));
    return range;
  }

  static NumberRange ofConstant(const Constant& constant) {
    const auto view = constant.view();
    if (view.count() == 0 || view.count() > kMostElements) return {};
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t i = 0; i < view.count(); ++i) {
      const double x = isFloating(view.dtype) ? view.loadDouble(i) : static_cast<double>(view.loadInt(i));
      low = std::min(low, x);
      high = std::max(high, x);
    }
    return {integer(std::floor(low)), integer(std::ceil(high))};
  }

  NumberRange ofTop(const ops::TopK& top, const Node& node, int output, int steps) const {
    if (output == 0) return of(node.inputs[0], steps + 1);
    const auto& shape = graph_.value(node.inputs[0]).type.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    return between(0, max(shape[static_cast<size_t>(top.axis < 0 ? top.axis + rank : top.axis)] - 1, 0));
  }

  // A state that begins at 0 and grows by 1 counts the iterations.
  NumberRange ofLoop(const Node& node, int output) const {
    const auto& loop = *node.op.as<ops::Loop>();
    if (output >= loop.states) return {};
    const auto begins = of(node.inputs[static_cast<size_t>(output) + (loop.counted ? 1 : 0)], kMostSteps);
    const int32_t next = loop.next->outputs[static_cast<size_t>(output)];
    int32_t result = loop.next->inputs;
    for (const auto& inner : loop.next->nodes) {
      const auto* pointwise = inner.op.as<ops::Pointwise>();
      if (result == next && pointwise != nullptr && inner.inputs == std::vector{output} && begins.low &&
          pointwise->expr ==
              ops::ScalarExpr::of(ScalarOp::k_add, {ops::ScalarArgument::input(0), ops::ScalarArgument::constant(1)})) {
        const auto most = loop.counted ? of(node.inputs[0], 0) : NumberRange{};
        return {begins.low,
                both(begins.high, most.high, [](const Extent& x, const Extent& y) { return x + max(y, 0); })};
      }
      result += inner.outputs;
    }
    return {};
  }

  NumberRange ofReduce(const ops::Reduce& reduce, const Node& node, int steps) const {
    const auto& shape = graph_.value(node.inputs[0]).type.shape;
    Extent count = 1;
    for (const int64_t axis : reduce.axes)
      count = count * shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)];
    const auto range = of(node.inputs[0], steps + 1);
    if (reduce.op == ops::ReduceOp::kSum) {
      if (!notNegative(range)) return {};
      return {Extent(0), range.high ? std::optional(*range.high * count) : std::nullopt};
    }
    // Of no element, the extremes are those of the type.
    const bool isSome = count.isConstant() && count.constant() > 0;
    return isSome && reduce.op != ops::ReduceOp::kProd ? range : NumberRange{};
  }

  // Elements of the inputs, and zeros where nothing was.
  NumberRange ofMovement(const Node& node, int steps) const {
    NumberRange range = between(0, 0);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto& indices = node.op.facts().indices;
      if (indices && indices->input == static_cast<int>(i)) continue;
      range = hull(range, of(node.inputs[i], steps + 1));
    }
    return range;
  }

  NumberRange ofPointwise(const ops::Pointwise& op, const Node& node, int steps) const {
    std::vector<NumberRange> results;
    const auto argument = [&](const ops::ScalarArgument& x) -> NumberRange {
      if (x.kind == ops::ScalarArgument::Kind::kLiteral)
        return {integer(std::floor(x.literal)), integer(std::ceil(x.literal))};
      if (x.kind == ops::ScalarArgument::Kind::kResult) return results[static_cast<size_t>(x.index)];
      return of(node.inputs[static_cast<size_t>(x.index)], steps + 1);
    };
    if (op.expr.empty()) return of(node.inputs[0], steps + 1);
    for (const auto& instruction : op.expr.instructions) {
      const int arity = ops::row(instruction.op).arity;
      NumberRange x[3];
      for (int i = 0; i < arity; ++i) x[i] = argument(instruction.arguments[static_cast<size_t>(i)]);
      results.push_back(apply(instruction, x));
    }
    return results.back();
  }

  static NumberRange apply(const ops::ScalarInstruction& instruction, const NumberRange* x) {
    if (ops::row(instruction.op).result == ops::ScalarResult::kBool) return between(0, 1);
    switch (instruction.op) {
      case ScalarOp::k_cast: return instruction.castTo == DataType::kBool ? between(0, 1) : x[0];
      case ScalarOp::k_identity:
      case ScalarOp::k_ceil:
      case ScalarOp::k_floor:
      case ScalarOp::k_round: return x[0];
      case ScalarOp::k_relu: return greater(x[0], between(0, 0));
      case ScalarOp::k_abs:
      case ScalarOp::k_exp:
      case ScalarOp::k_sqrt:
      case ScalarOp::k_softplus: return {Extent(0), std::nullopt};
      case ScalarOp::k_sigmoid:
      case ScalarOp::k_hard_sigmoid: return between(0, 1);
      case ScalarOp::k_tanh:
      case ScalarOp::k_sin:
      case ScalarOp::k_cos:
      case ScalarOp::k_erf:
      case ScalarOp::k_sign: return between(-1, 1);
      case ScalarOp::k_neg: return negative(x[0]);
      case ScalarOp::k_min: return smaller(x[0], x[1]);
      case ScalarOp::k_max: return greater(x[0], x[1]);
      case ScalarOp::k_clip: return smaller(greater(x[0], x[1]), x[2]);
      case ScalarOp::k_add: return sum(x[0], x[1]);
      case ScalarOp::k_sub: return sum(x[0], negative(x[1]));
      case ScalarOp::k_mul: return product(x[0], x[1]);
      case ScalarOp::k_fma: return sum(product(x[0], x[1]), x[2]);
      case ScalarOp::k_select: return hull(x[1], x[2]);
      default: return {};
    }
  }

  const Graph& graph_;
};

}  // namespace

NumberRange numberRange(const Graph& graph, ValueId value) { return Finder(graph).of(value, 0); }

}  // namespace tenon::graph
