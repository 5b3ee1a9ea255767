// The generator of random graphs: how often what comes, and plain layers.
#include "random_graph.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "random_generator.h"
#include "rounding.h"
#include "support/build_and_run.h"

namespace tenon::passes {
namespace {

// What is larger is only made smaller.
constexpr int64_t kManyElements = 2500, kManyAtScale = 60000;

}  // namespace

graph::Graph Generator::make() {
  addInputs();
  const int64_t nodes = 3 + pick(10);
  for (int64_t i = 0; i < nodes; ++i)
    step(pool_[pool_.size() - 1 - static_cast<size_t>(pick(std::min<int64_t>(3, static_cast<int64_t>(pool_.size()))))]);
  graph_.addOutput(pool_.back());
  for (const auto* values : {&pool_, &integers_}) {
    for (const ValueId value : *values) {
      if (pick(6) == 0 && !graph_.isOutput(value) && !graph_.value(value).isInput) graph_.addOutput(value);
    }
  }
  return std::move(graph_);
}

void Generator::addInputs() {
  const auto extent = [&](const char* symbol, int axis, int64_t chance, int64_t otherwise) {
    if (pick(chance) != 0) return Extent(otherwise);
    graph_.addSymbol(symbol, {graph::SymbolSource::Kind::kInputExtent, "x", axis});
    return Extent::symbol(symbol);
  };
  const Extent batch = extent("N", 0, 3, 1 + pick(3));
  const Extent last = extent("L", 3, 10, pixels(3 + pick(5)));
  pool_.push_back(
      graph_.addInput("x", {DataType::kF32, {batch, channels(1 + pick(5)), pixels(3 + pick(5)), last}, std::nullopt}));
  exact_.insert(pool_.back());
  if (pick(4) == 0) integers();
}

bool Generator::isConstantFrom(ValueId x, size_t axis) const {
  const auto& in = shape(x);
  return std::all_of(in.begin() + static_cast<std::ptrdiff_t>(std::min(axis, in.size())), in.end(),
                     [](const Extent& e) { return e.isConstant(); });
}

int64_t Generator::elements(ValueId x) const {
  static const SymbolValues kSymbols{{"N", 2}, {"L", 2}};
  return evaluate(shape(x), kSymbols).count();
}

Dims Generator::channelDims(ValueId x) const {
  Dims dims;
  dims.rank = static_cast<int>(shape(x).size());
  for (int i = 0; i < dims.rank; ++i) dims[i] = i == 1 ? shape(x)[1].constant() : 1;
  return dims;
}

void Generator::put(ops::Operator op, std::vector<ValueId> inputs) {
  const auto name = fmt::format("{}{}", op.name(), count_++);
  const auto id = graph_.addNode(std::move(op), name, std::move(inputs), {name}, {});
  const auto& node = graph_.node(id);
  const bool keeps = isExactNode(graph_, node) &&
                     std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return isExact(v); });
  for (const ValueId output : node.outputs) {
    const auto dtype = type(output);
    if (keeps) exact_.insert(output);
    if (output == node.outputs[0]) last_ = output;
    if (dtype == DataType::kF32) pool_.push_back(output);
    if (keeps && (dtype == DataType::kBool || (isInteger(dtype) && bits(dtype) >= 8))) integers_.push_back(output);
  }
}

bool Generator::tryPut(const ops::Operator& op, std::vector<ValueId> inputs) {
  try {
    op.infer("try", graph_.inputTypes(inputs));
  } catch (const UserError&) {
    return false;
  }
  put(op, std::move(inputs));
  return true;
}

ValueId Generator::weights(const Dims& dims, DataType dtype) {
  HostTensor values = test::randomTensor(dtype, dims, random_());
  // Sums of many terms stay as large as these.
  const int64_t terms = dims.rank < 2 || dims.count() == 0 ? 1 : dims.rank == 2 ? dims[0] : dims.count() / dims[0];
  for (int64_t i = 0; scale_ > 1 && i < dims.count(); ++i)
    values.view().storeDouble(i, values.view().loadDouble(i) / std::sqrt(static_cast<double>(terms)));
  return graph_.addConstant(graph::Constant::own(std::move(values)));
}

ValueId Generator::indices(const Dims& dims, int64_t low, int64_t high) {
  HostTensor tensor(pick(2) == 0 ? DataType::kI32 : DataType::kI64, dims);
  for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeInt(i, low + pick(high - low));
  return graph_.addConstant(graph::Constant::own(std::move(tensor)));
}

ValueId Generator::number(double value) {
  const auto scalar = graph::Constant::scalar(DataType::kF32, value);
  return graph_.addConstant(pick(2) == 0 ? scalar : graph::Constant::recipe(ops::Reshape{{1}}, {scalar}));
}

ValueId Generator::unaryOf(const std::string& expr, ValueId x) {
  put(ops::Pointwise{ops::parseScalarExpr(expr)}, {x});
  return last_;
}

ValueId Generator::binaryOf(const std::string& expr, ValueId x, ValueId y) {
  put(ops::Pointwise{ops::parseScalarExpr(expr)}, {x, y});
  return last_;
}

ValueId Generator::withNumber(const std::string& op, ValueId x, double value) {
  if (pick(3) == 0) return unaryOf(fmt::format("{}(x0,{})", op, value), x);
  const bool commutes = op == "add" || op == "mul";
  return binaryOf(op + (commutes && pick(2) == 0 ? "(x1,x0)" : "(x0,x1)"), x, number(value));
}

void Generator::step(ValueId x) {
  if (elements(x) > (scale_ == 1 ? kManyElements : kManyAtScale)) return anyRowwise(x);
  switch (pick(24)) {
    case 0: return unary(x);
    case 1: return perChannel(x);
    case 2:
    case 3: return residual(x);
    case 4:
    case 5: return convolution(x);
    case 6: return pick(2) == 0 ? pooling(x) : movement(x);
    case 7: return pick(2) == 0 ? matmul(x) : branches(x);
    case 8: return rowwise(x);
    case 9: return activation(x);
    case 10: return normalization(x);
    case 11: return attention(x);
    case 12: return pieces(x);
    case 13:
    case 14: return movement(x);
    default: return anyOperator(x);
  }
}

void Generator::unary(ValueId x) {
  constexpr const char* kExprs[] = {"relu(x0)",        "sigmoid(x0)",       "tanh(x0)",
                                    "neg(x0)",         "mul(x0,0.5)",       "add(x0,0.25);relu(t0)",
                                    "neg(x0);neg(t0)", "identity(x0)",      "sigmoid(x0);mul(x0,t0)",
                                    "sub(1,x0)",       "clip(x0,-0.5,0.75)"};
  put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x});
}

void Generator::perChannel(ValueId x) {
  constexpr const char* kExprs[] = {"mul(x0,x1)", "add(x0,x1)", "sub(x1,x0)", "mul(x0,x1);add(t0,x1)", "fma(x0,x1,1)"};
  const auto& in = shape(x);
  if (in.size() < 2 || !in[1].isConstant()) return unary(x);
  Dims dims;
  dims.rank = static_cast<int>(in.size());
  for (int i = 0; i < dims.rank; ++i) dims[i] = i == 1 ? in[1].constant() : 1;
  put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, weights(dims)});
}

void Generator::residual(ValueId x) {
  for (const ValueId other : pool_) {
    if (other == x || shape(other) != shape(x)) continue;
    constexpr const char* kExprs[] = {"add(x0,x1)", "add(x0,x1);relu(t0)", "mul(x0,x1)", "max(x0,x1)",
                                      "neg(x1);add(x0,t0)"};
    return put(ops::Pointwise{ops::parseScalarExpr(kExprs[pick(std::size(kExprs))])}, {x, other});
  }
  unary(x);
}

bool Generator::isImage(ValueId x, int64_t smallest) const {
  const auto& in = shape(x);
  return in.size() == 4 && in[1].isConstant() && in[2].isConstant() && in[3].isConstant() &&
         in[2].constant() >= smallest && in[3].constant() >= smallest;
}

void Generator::convolution(ValueId x) {
  if (!isImage(x, 1)) return unary(x);
  const int64_t in = shape(x)[1].constant();
  const int64_t pad = pick(2);
  const int64_t limit = std::min(shape(x)[2].constant(), shape(x)[3].constant()) + 2 * pad;
  const int64_t kernel = 1 + pick(std::min<int64_t>(3, limit));
  ops::Convolution op;
  op.prePadding = op.postPadding = {pad, pad};
  op.strides = {1 + pick(2), 1 + pick(2)};
  op.groups = in > 1 && pick(4) == 0 ? in : 1;
  op.hasBias = pick(2) == 0;
  const int64_t out = pick(2) == 0 ? in : op.groups == 1 ? channels(1 + pick(4)) : op.groups * (1 + pick(4));
  std::vector<ValueId> inputs{x, weights({out, in / op.groups, kernel, kernel})};
  if (op.hasBias) inputs.push_back(weights({out}));
  put(std::move(op), std::move(inputs));
}

void Generator::pooling(ValueId x) {
  if (!isImage(x, 2)) return unary(x);
  put(ops::Operator::parse(fmt::format("pooling{{type={} window=[2,2] strides=[{},{}]}}",
                                       pick(2) == 0 ? "max" : "average", 1 + pick(2), 1 + pick(2))),
      {x});
}

void Generator::matmul(ValueId x) {
  const auto& in = shape(x);
  if (in.size() < 2 || !in.back().isConstant()) return unary(x);
  put(ops::MatMul{}, {x, weights({in.back().constant(), channels(1 + pick(6))})});
}

void Generator::rowwise(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank == 0) return unary(x);
  if (pick(2) == 0) return put(ops::Softmax{pick(rank)}, {x});
  constexpr ops::ReduceOp kOps[] = {ops::ReduceOp::kSum, ops::ReduceOp::kMax, ops::ReduceOp::kAvg};
  put(ops::Reduce{kOps[pick(3)], {rank - 1}, rank < 3 || pick(2) == 0}, {x});
}

void Generator::movement(ValueId x) {
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
void Generator::slice(ValueId x) {
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

graph::Graph randomGraph(uint64_t seed) { return Generator(seed).make(); }

graph::Graph largeRandomGraph(uint64_t seed) {
  constexpr int64_t kScale = 8;
  return Generator(seed, kScale).make();
}

}  // namespace tenon::passes
