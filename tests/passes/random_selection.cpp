// Random graphs: sizes that only the run knows. What has such an extent is summed, so that other steps meet none.
#include "ops/op/concat.h"
#include "ops/op/count_nonzero.h"
#include "ops/op/gather.h"
#include "ops/op/nms.h"
#include "ops/op/nonzero.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/size.h"
#include "ops/op/slice.h"
#include "ops/op/topk.h"
#include "ops/op/transpose.h"
#include "random_generator.h"

namespace tenon::passes {

ValueId Generator::plain(const std::string& name, ops::Operator op, std::vector<ValueId> inputs) {
  return graph_.add(std::move(op), name, std::move(inputs), {name});
}

// The number as an extent; elements of `values` at the places that `rows` gives are summed and join x.
Extent Generator::sizeOf(const std::string& name, ValueId number, const Extent& upper) {
  plain(name, ops::Size{prefix_ + name + ".size", ceilDiv(upper, 2), upper}, {number});
  return Extent::symbol(prefix_ + name + ".size");
}

void Generator::sumInto(const std::string& name, ValueId x, ValueId values, ValueId rows) {
  ops::Gather gather;
  gather.mode = ops::GatherMode::kNd;
  const ValueId chosen = plain(name, std::move(gather), {values, rows});
  put(ops::Reduce{ops::ReduceOp::kSum, {0}, pick(2) == 0}, {chosen});
  binaryOf("add(x0,x1)", x, unaryOf("clip(x0,-4,4)", last_));
}

// Where an exact value is not 0.
void Generator::selection(ValueId x) {
  if (integers_.empty()) integerStep();
  if (integers_.empty()) return unary(x);
  const ValueId from = pickFrom(integers_);
  if (shape(from).empty() || elements(from) > 600) return unary(x);
  const auto name = fmt::format("selection{}", count_++);
  const Extent size = sizeOf(name, plain(name, ops::CountNonZero{}, {from}), product(shape(from)));
  const DataType index = pick(2) == 0 ? DataType::kI32 : DataType::kI64;
  const ValueId places = plain(name, ops::NonZero{size, index}, {from});
  const ValueId rows = plain(name, ops::Transpose{{1, 0}}, {places});
  sumInto(name, x, unaryOf("cast.f32(x0);mul(t0,0.0625)", from), rows);
}

// Boxes and scores of the same exact values.
void Generator::suppression(ValueId x) {
  const ValueId from = exactFrom(pool_[0]);
  if (elements(from) > 600) return unary(x);
  const auto name = fmt::format("suppression{}", count_++);
  const auto scalar = [&](const char* expr, ValueId of) {
    return plain(name, ops::Pointwise{ops::parseScalarExpr(expr)}, {of});
  };
  const auto constant = [&](DataType type, double value) {
    return graph_.addConstant(graph::Constant::scalar(type, value));
  };
  const Extent count = product(shape(from));
  const ValueId scores = plain(name, ops::Reshape{{1, count, 1}}, {from});
  const ValueId boxes = plain(
      name, ops::Concat{2}, {scores, scalar("neg(x0)", scores), scalar("abs(x0)", scores), scalar("relu(x0)", scores)});
  ops::Nms op;
  op.format = pick(2) == 0 ? ops::BoxFormat::kCorners : ops::BoxFormat::kCenters;
  op.limit = pick(2) == 0 ? 5000 : 20;
  op.most = count;
  const auto id = graph_.addNode(op, name,
                                 {boxes, scores, constant(DataType::kI32, static_cast<double>(pick(40))),
                                  constant(DataType::kF32, static_cast<double>(pick(5)) / 4),
                                  constant(DataType::kF32, static_cast<double>(pick(3) - 1) / 2)},
                                 {name});
  const auto outputs = graph_.node(id).outputs;
  const Extent size = sizeOf(name, outputs[1], count);
  const ValueId rows = plain(name, ops::Slice{{0, 0}, {size, 3}, {1, 1}}, {outputs[0]});
  const ValueId column = plain(name, ops::Slice{{0, 2}, {size, 1}, {1, 1}}, {rows});
  sumInto(name, x, plain(name, ops::Reshape{{count}}, {from}), column);
}

void Generator::anyTopK(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank == 0) return unary(x);
  const int64_t axis = pick(rank);
  const Extent& extent = shape(x)[static_cast<size_t>(axis)];
  if (!extent.isConstant() || extent.constant() == 0) return unary(x);
  put(ops::TopK{pick(2) == 0, 1 + pick(extent.constant()), pick(2) == 0 ? axis : axis - rank,
                pick(2) == 0 ? DataType::kI32 : DataType::kI64},
      {x});
}

}  // namespace tenon::passes
