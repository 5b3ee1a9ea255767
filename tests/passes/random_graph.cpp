// The generator of random graphs.
#include "random_graph.h"

#include <random>

#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/resize.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/topk.h"
#include "ops/op/transpose.h"
#include "support/build_and_run.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::ValueId;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), graph_("random") {}

  Graph make() {
    const bool dynamic = pick(3) == 0;
    const Extent batch = dynamic ? Extent::symbol("N") : Extent(1 + pick(3));
    if (dynamic) graph_.addSymbol("N", {graph::SymbolSource::Kind::kInputExtent, "x", 0});
    pool_.push_back(graph_.addInput("x", {DataType::kF32, {batch, 1 + pick(5), 3 + pick(5), 3 + pick(5)}, std::nullopt}));
    const int64_t nodes = 3 + pick(10);
    if (pick(4) == 0) integers();
    for (int64_t i = 0; i < nodes; ++i) step(pool_[pool_.size() - 1 - static_cast<size_t>(pick(std::min<int64_t>(3, static_cast<int64_t>(pool_.size()))))]);
    graph_.addOutput(pool_.back());
    for (size_t i = 1; i + 1 < pool_.size(); ++i) {
      if (pick(6) == 0 && !graph_.isOutput(pool_[i])) graph_.addOutput(pool_[i]);
    }
    return std::move(graph_);
  }

 private:
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }

  void put(ops::Operator op, std::vector<ValueId> inputs) {
    const auto name = fmt::format("{}{}", op.name(), count_++);
    last_ = graph_.add(std::move(op), name, std::move(inputs), {name});
    if (graph_.value(last_).type.dtype == DataType::kF32) pool_.push_back(last_);
  }

  ValueId weights(const Dims& dims) { return graph_.addConstant(graph::Constant::own(test::randomTensor(DataType::kF32, dims, random_()))); }

  void step(ValueId x) {
    switch (pick(16)) {
      case 0: case 1: return unary(x);
      case 2: return perChannel(x);
      case 3: return residual(x);
      case 4: case 5: return convolution(x);
      case 6: return pick(2) == 0 ? pooling(x) : movement(x);
      case 7: return matmul(x);
      case 8: return rowwise(x);
      case 9: return activation(x);
      case 10: return normalization(x);
      case 11: return attention(x);
      case 12: return pieces(x);
      case 13: return rarer(x);
      default: return movement(x);
    }
  }

  void unary(ValueId x) {
    constexpr const char* kExprs[] = {"relu(x0)", "sigmoid(x0)", "tanh(x0)", "neg(x0)", "mul(x0,0.5)", "add(x0,0.25);relu(t0)",
                                      "neg(x0);neg(t0)", "identity(x0)", "sigmoid(x0);mul(x0,t0)", "sub(1,x0)", "clip(x0,-0.5,0.75)"};
    put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x});
  }

  void perChannel(ValueId x) {
    constexpr const char* kExprs[] = {"mul(x0,x1)", "add(x0,x1)", "sub(x1,x0)", "mul(x0,x1);add(t0,x1)", "fma(x0,x1,1)"};
    const auto& in = shape(x);
    if (in.size() < 2 || !in[1].isConstant()) return unary(x);
    Dims dims;
    dims.rank = static_cast<int>(in.size());
    for (int i = 0; i < dims.rank; ++i) dims[i] = i == 1 ? in[1].constant() : 1;
    put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, weights(dims)});
  }

  void residual(ValueId x) {
    for (const ValueId other : pool_) {
      if (other == x || shape(other) != shape(x)) continue;
      constexpr const char* kExprs[] = {"add(x0,x1)", "add(x0,x1);relu(t0)", "mul(x0,x1)", "max(x0,x1)", "neg(x1);add(x0,t0)"};
      return put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, other});
    }
    unary(x);
  }

  bool isImage(ValueId x, int64_t smallest) const {
    const auto& in = shape(x);
    return in.size() == 4 && in[1].isConstant() && in[2].isConstant() && in[3].isConstant() && in[2].constant() >= smallest && in[3].constant() >= smallest;
  }

  void convolution(ValueId x) {
    if (!isImage(x, 1)) return unary(x);
    const int64_t channels = shape(x)[1].constant();
    const int64_t pad = pick(2);
    const int64_t limit = std::min(shape(x)[2].constant(), shape(x)[3].constant()) + 2 * pad;
    const int64_t kernel = 1 + pick(std::min<int64_t>(3, limit));
    ops::Convolution op;
    op.prePadding = op.postPadding = {pad, pad};
    op.strides = {1 + pick(2), 1 + pick(2)};
    op.groups = channels > 1 && pick(4) == 0 ? channels : 1;
    op.hasBias = pick(2) == 0;
    const int64_t out = pick(2) == 0 ? channels : op.groups * (1 + pick(4));
    std::vector<ValueId> inputs{x, weights({out, channels / op.groups, kernel, kernel})};
    if (op.hasBias) inputs.push_back(weights({out}));
    put(std::move(op), std::move(inputs));
  }

  void pooling(ValueId x) {
    if (!isImage(x, 2)) return unary(x);
    put(ops::Operator::parse(fmt::format("pooling{{type={} window=[2,2] strides=[{},{}]}}", pick(2) == 0 ? "max" : "average", 1 + pick(2), 1 + pick(2))), {x});
  }

  void matmul(ValueId x) {
    const auto& in = shape(x);
    if (in.size() < 2 || !in.back().isConstant()) return unary(x);
    put(ops::MatMul{}, {x, weights({in.back().constant(), 1 + pick(6)})});
  }

  void rowwise(ValueId x) {
    const auto rank = static_cast<int64_t>(shape(x).size());
    if (rank == 0) return unary(x);
    if (pick(2) == 0) return put(ops::Softmax{pick(rank)}, {x});
    constexpr ops::ReduceOp kOps[] = {ops::ReduceOp::kSum, ops::ReduceOp::kMax, ops::ReduceOp::kAvg};
    put(ops::Reduce{kOps[pick(3)], {rank - 1}, rank < 3 || pick(2) == 0}, {x});
  }

  void movement(ValueId x) {
    const Shape in = shape(x);
    const size_t rank = in.size();
    if (rank < 2) return unary(x);
    switch (pick(4)) {
      case 0: {
        ops::Transpose op;
        for (size_t i = 0; i < rank; ++i) op.permutation.push_back(static_cast<int64_t>(i));
        std::swap(op.permutation[1 + static_cast<size_t>(pick(static_cast<int64_t>(rank) - 1))], op.permutation.back());
        return put(std::move(op), {x});
      }
      case 1: {
        Shape flat{in[0], 1};
        for (size_t i = 1; i < rank; ++i) flat[1] = flat[1] * in[i];
        return put(ops::Reshape{flat}, {x});
      }
      case 2: return slice(x);
      default: return put(ops::Concat{static_cast<int64_t>(rank) - 1}, {x, x});
    }
  }

  // Crops or pads the last axes; half of them are padding in front of a convolution.
  void slice(ValueId x) {
    ops::Slice op;
    op.size = shape(x);
    op.start.assign(op.size.size(), 0);
    const bool pads = pick(2) == 0;
    for (size_t i = op.size.size() == 4 ? 2 : op.size.size() - 1; i < op.size.size(); ++i) {
      if (pads) {
        const int64_t before = pick(3);
        op.start[i] = -before;
        op.size[i] = op.size[i] + before + pick(3);
      } else if (op.size[i].isConstant() && op.size[i].constant() > 2) {
        op.start[i] = 1;
        op.size[i] = op.size[i] - 1;
      }
    }
    if (pads) op.mode = ops::SliceMode::kFill;
    put(std::move(op), {x});
    if (pads) convolution(pool_.back());
  }

  // --- what exporters write out ---------------------------------------------------------------------------------------

  ValueId unaryOf(const char* expr, ValueId x) {
    put(ops::Pointwise{ops::parseScalarExpr(expr)}, {x});
    return last_;
  }
  ValueId binaryOf(const char* expr, ValueId x, ValueId y) {
    put(ops::Pointwise{ops::parseScalarExpr(expr)}, {x, y});
    return last_;
  }
  ValueId number(double value) {
    const auto scalar = graph::Constant::scalar(DataType::kF32, value);
    return graph_.addConstant(pick(2) == 0 ? scalar : graph::Constant::recipe(ops::Reshape{{1}}, {scalar}));
  }
  ValueId withNumber(const char* op, ValueId x, double value) {
    const std::string name = op;
    switch (pick(3)) {
      case 0: return unaryOf(fmt::format("{}(x0,{})", name, value).c_str(), x);
      case 1: return binaryOf((name + "(x0,x1)").c_str(), x, number(value));
      default: return name == "add" || name == "mul" ? binaryOf((name + "(x1,x0)").c_str(), x, number(value)) : binaryOf((name + "(x0,x1)").c_str(), x, number(value));
    }
  }

  void activation(ValueId x) {
    switch (pick(5)) {
      case 0: {
        const ValueId sum = withNumber("add", unaryOf("erf(x0)", pick(2) == 0 ? withNumber("div", x, 1.4142135623730951) : withNumber("mul", x, 0.7071067811865476)), 1);
        if (pick(2) == 0) {
          withNumber("mul", binaryOf("mul(x0,x1)", x, sum), 0.5);
        } else {
          binaryOf("mul(x0,x1)", withNumber("mul", x, 0.5), sum);
        }
        return;
      }
      case 1: {
        const ValueId cube = pick(2) == 0 ? withNumber("pow", x, 3) : binaryOf("mul(x0,x1)", x, binaryOf("mul(x0,x1)", x, x));
        const ValueId inner = withNumber("mul", binaryOf("add(x0,x1)", x, withNumber("mul", cube, 0.044715)), 0.7978845608028654);
        const ValueId sum = withNumber("add", unaryOf("tanh(x0)", inner), 1);
        withNumber("mul", binaryOf("mul(x0,x1)", x, sum), 0.5);
        return;
      }
      case 2: {
        const ValueId gate = unaryOf("clip(x0,0,6)", withNumber("add", x, 3));
        pick(2) == 0 ? withNumber("div", binaryOf("mul(x0,x1)", x, gate), 6) : binaryOf("mul(x0,x1)", x, withNumber("div", gate, 6));
        return;
      }
      case 3: binaryOf("mul(x0,x1)", unaryOf("sigmoid(x0)", x), x); return;
      default: {
        const ValueId sum = withNumber("add", unaryOf("exp(x0)", unaryOf("neg(x0)", unaryOf("clip(x0,-8,8)", x))), 1);
        binaryOf("div(x1,x0)", sum, x);
      }
    }
  }

  ValueId mean(ValueId x, std::vector<int64_t> axes) {
    put(ops::Reduce{ops::ReduceOp::kAvg, std::move(axes), true}, {x});
    return last_;
  }

  void normalization(ValueId x) {
    const auto rank = static_cast<int64_t>(shape(x).size());
    if (rank < 2 || !shape(x)[1].isConstant() || !shape(x).back().isConstant()) return unary(x);
    std::vector<int64_t> axes{rank - 1};
    if (rank == 4 && pick(2) == 0) axes.insert(axes.begin(), 2);
    if (pick(3) == 0) {
      const auto scale = weights({shape(x).back().constant()});
      return put(ops::Normalization{axes, 0.05, 1}, {x, scale, weights({shape(x).back().constant()})});
    }
    const ValueId difference = binaryOf("sub(x0,x1)", x, mean(x, axes));
    const ValueId square = pick(2) == 0 ? binaryOf("mul(x0,x1)", difference, difference) : withNumber("pow", difference, 2);
    const ValueId variance = withNumber("add", mean(square, axes), 0.05);
    const ValueId normal = pick(2) == 0 ? binaryOf("div(x0,x1)", difference, unaryOf("sqrt(x0)", variance)) : binaryOf("mul(x0,x1)", unaryOf("rsqrt(x0)", variance), difference);
    if (pick(2) == 0) return perChannel(normal);
    const int64_t last = shape(x).back().constant();
    binaryOf("add(x0,x1)", binaryOf("mul(x0,x1)", normal, weights({last})), weights({last}));
  }

  ValueId transposed(ValueId x, std::vector<int64_t> permutation) {
    put(ops::Transpose{std::move(permutation)}, {x});
    return last_;
  }

  // Two heads over the last axis of a tensor of three axes.
  void attention(ValueId x) {
    const Shape in = shape(x);
    if (in.size() != 4 || !in[1].isConstant() || !in[2].isConstant() || !in[3].isConstant()) return unary(x);
    put(ops::Reshape{{in[0], in[1] * in[2], in[3]}}, {x});
    const ValueId rows = last_;
    const int64_t width = 1 + pick(4);
    std::vector<ValueId> heads;
    for (int i = 0; i < 3; ++i) {
      put(ops::MatMul{}, {rows, weights({in[3].constant(), 2 * width})});
      if (pick(2) == 0) binaryOf("add(x0,x1)", last_, weights({2 * width}));
      put(ops::Reshape{{in[0], in[1] * in[2], 2, width}}, {last_});
      heads.push_back(transposed(last_, i == 1 ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3}));
    }
    put(ops::MatMul{}, {heads[0], heads[1]});
    if (pick(3) > 0) withNumber(pick(2) == 0 ? "mul" : "div", last_, 1.5);
    if (pick(2) == 0) binaryOf("add(x0,x1)", last_, weights({1, 1, (in[1] * in[2]).constant()}));
    put(ops::Softmax{pick(2) == 0 ? 3 : -1}, {last_});
    put(ops::MatMul{}, {last_, heads[2]});
    if (pick(4) > 0) put(ops::Reshape{{in[0], in[1] * in[2], 2 * width}}, {transposed(last_, {0, 2, 1, 3})});
  }

  // --- cutting, joining, shuffling ------------------------------------------------------------------------------------

  void pieces(ValueId x) {
    const Shape in = shape(x);
    if (in.size() < 2 || !in[1].isConstant() || in[1].constant() < 2) return unary(x);
    const int64_t channels = in[1].constant();
    const int64_t cut = 1 + pick(channels - 1);
    std::vector<ValueId> parts;
    for (const auto& [start, size] : {std::pair<int64_t, int64_t>{0, cut}, {cut, channels - cut}}) {
      ops::Slice op;
      op.start.assign(in.size(), 0);
      op.size = in;
      op.start[1] = start;
      op.size[1] = size;
      put(std::move(op), {x});
      parts.push_back(last_);
    }
    if (pick(3) == 0) std::swap(parts[0], parts[1]);
    if (pick(3) == 0) parts[0] = unaryOf("relu(x0)", parts[0]);
    put(ops::Concat{1}, parts);
    if (pick(2) == 0 || in.size() != 4 || channels % 2 != 0) return;
    put(ops::Reshape{{in[0], 2, channels / 2, in[2], in[3]}}, {last_});
    put(ops::Reshape{in}, {transposed(last_, {0, 2, 1, 3, 4})});
  }

  void rarer(ValueId x) {
    const Shape in = shape(x);
    const auto rank = static_cast<int64_t>(in.size());
    if (rank < 2 || !in.back().isConstant() || in.back().constant() < 1) return unary(x);
    const int64_t last = in.back().constant();
    switch (pick(8)) {
      case 0: {
        std::vector<int64_t> indices;
        for (int64_t i = 0; i < 1 + pick(4); ++i) indices.push_back(pick(last));
        return put(ops::Operator::parse(fmt::format("gather{{axis={}}}", rank - 1)), {x, graph_.addConstant(graph::Constant::ofInts(indices))});
      }
      case 1: return put(ops::Operator::parse(fmt::format("cumulative{{axis={} exclusive={} reverse={}}}", rank - 1, pick(2) == 0, pick(2) == 0)), {x});
      case 2: return put(ops::Operator::parse("lrn{window=3 alpha=0.1}"), {x});
      case 3: {
        Shape to = in;
        to.back() = Extent(last * 2);
        ops::Resize op;
        op.shape = to;
        op.mode = pick(2) == 0 ? ops::ResizeMode::kNearest : ops::ResizeMode::kLinear;
        return put(std::move(op), {x});
      }
      case 4: {
        const auto name = fmt::format("topk{}", count_++);
        const auto node = graph_.addNode(ops::TopK{pick(2) == 0, 1 + pick(last), -1, DataType::kI32}, name, {x}, {name});
        pool_.push_back(last_ = graph_.node(node).outputs[0]);
        return;
      }
      case 5: {
        if (!isImage(x, 1)) return unary(x);
        ops::Deconvolution op;
        op.strides = {1 + pick(2), 1 + pick(2)};
        return put(std::move(op), {x, weights({in[1].constant(), 1 + pick(3), 2, 2})});
      }
      case 6: {
        put(ops::Operator::parse("quantize{type=f8e4m3}"), {pool_[0], number(0.125)});
        return put(ops::Operator::parse("dequantize"), {last_, number(0.125)});
      }
      default: {
        const ValueId truth = unaryOf("greater(x0,0.1)", pool_[0]);
        return put(ops::Pointwise{ops::parseScalarExpr("select(x0,x1,x2)")}, {truth, pool_[0], number(0.5)});
      }
    }
  }

  // An integer tensor of its own, whose sums enter the rest as numbers.
  void integers() {
    const ValueId k = graph_.addInput("k", {DataType::kI32, {3, 4}, std::nullopt});
    constexpr const char* kExprs[] = {"add(x0,x1)", "mul(x0,x1);sub(t0,x0)", "max(x0,x1);min(t0,3)", "floor_div(x0,2);add(t0,x1)"};
    ValueId value = k;
    for (int64_t i = 0; i < 1 + pick(3); ++i) {
      value = graph_.add(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, fmt::format("int{}", i), {value, k});
    }
    value = graph_.add(ops::Reduce{ops::ReduceOp::kSum, {0, 1}, true}, "intsum", {value});
    value = graph_.add(ops::Pointwise{ops::parseScalarExpr("cast.f32(x0);mul(t0,0.03125)")}, "intcast", {value});
    binaryOf("add(x0,x1)", pool_[0], value);
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> pool_;  // f32 values that steps may read
  ValueId last_ = 0;
  int count_ = 0;
};

}  // namespace

Graph randomGraph(uint64_t seed) { return Generator(seed).make(); }

}  // namespace tenon::passes
