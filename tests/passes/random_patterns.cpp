// Random graphs: what exporters write out of single operators, and what the passes find again.
#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/gather.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"
#include "random_generator.h"

namespace tenon::passes {

void Generator::activation(ValueId x) {
  switch (pick(5)) {
    case 0: {
      const ValueId sum = withNumber("add",
                                     unaryOf("erf(x0)", pick(2) == 0 ? withNumber("div", x, 1.4142135623730951)
                                                                     : withNumber("mul", x, 0.7071067811865476)),
                                     1);
      if (pick(2) == 0) {
        withNumber("mul", binaryOf("mul(x0,x1)", x, sum), 0.5);
      } else {
        binaryOf("mul(x0,x1)", withNumber("mul", x, 0.5), sum);
      }
      return;
    }
    case 1: {
      const ValueId cube =
          pick(2) == 0 ? withNumber("pow", x, 3) : binaryOf("mul(x0,x1)", x, binaryOf("mul(x0,x1)", x, x));
      const ValueId inner =
          withNumber("mul", binaryOf("add(x0,x1)", x, withNumber("mul", cube, 0.044715)), 0.7978845608028654);
      const ValueId sum = withNumber("add", unaryOf("tanh(x0)", inner), 1);
      withNumber("mul", binaryOf("mul(x0,x1)", x, sum), 0.5);
      return;
    }
    case 2: {
      const ValueId gate = unaryOf("clip(x0,0,6)", withNumber("add", x, 3));
      pick(2) == 0 ? withNumber("div", binaryOf("mul(x0,x1)", x, gate), 6)
                   : binaryOf("mul(x0,x1)", x, withNumber("div", gate, 6));
      return;
    }
    case 3: binaryOf("mul(x0,x1)", unaryOf("sigmoid(x0)", x), x); return;
    default: {
      const ValueId sum = withNumber("add", unaryOf("exp(x0)", unaryOf("neg(x0)", unaryOf("clip(x0,-8,8)", x))), 1);
      binaryOf("div(x1,x0)", sum, x);
    }
  }
}

ValueId Generator::mean(ValueId x, std::vector<int64_t> axes) {
  put(ops::Reduce{ops::ReduceOp::kAvg, std::move(axes), true}, {x});
  return last_;
}

void Generator::normalization(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank < 2 || !shape(x)[1].isConstant() || !shape(x).back().isConstant()) return unary(x);
  std::vector<int64_t> axes{rank - 1};
  if (rank == 4 && pick(2) == 0) axes.insert(axes.begin(), 2);
  if (pick(2) == 0) {
    const ValueId before = x;
    residual(x);
    if (shape(last_) == shape(before)) x = last_;
  }
  if (pick(3) == 0) {
    const auto scale = weights({shape(x).back().constant()});
    return put(ops::Normalization{axes, 0.05, 1}, {x, scale, weights({shape(x).back().constant()})});
  }
  const ValueId difference = pick(3) == 0 ? x : binaryOf("sub(x0,x1)", x, mean(x, axes));  // x: root mean square
  const ValueId square =
      pick(2) == 0 ? binaryOf("mul(x0,x1)", difference, difference) : withNumber("pow", difference, 2);
  const ValueId variance = withNumber("add", mean(square, axes), 0.05);
  const ValueId normal = pick(2) == 0 ? binaryOf("div(x0,x1)", difference, unaryOf("sqrt(x0)", variance))
                                      : binaryOf("mul(x0,x1)", unaryOf("rsqrt(x0)", variance), difference);
  if (pick(2) == 0) return perChannel(normal);
  const int64_t last = shape(x).back().constant();
  binaryOf("add(x0,x1)", binaryOf("mul(x0,x1)", normal, weights({last})), weights({last}));
}

ValueId Generator::transposed(ValueId x, std::vector<int64_t> permutation) {
  put(ops::Transpose{std::move(permutation)}, {x});
  return last_;
}

// Two heads over the last axis of a tensor of three axes.
void Generator::attention(ValueId x) {
  const Shape in = shape(x);
  if (in.size() != 4 || !in[1].isConstant() || !in[2].isConstant() || !in[3].isConstant()) return unary(x);
  if ((in[1] * in[2]).constant() > 0 && pick(2) == 0) return exportedAttention(x);
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
  if (pick(4) == 0) {  // a soft cap
    unaryOf("tanh(x0)", last_);
    withNumber("mul", last_, 2.5);
  }
  if (pick(2) == 0) binaryOf("add(x0,x1)", last_, weights({1, 1, (in[1] * in[2]).constant()}));
  if (pick(4) == 0) withNumber("mul", last_, 0.75);
  if (pick(3) == 0) {  // another mask, where batch and heads are other axes
    const int64_t rowCount = (in[1] * in[2]).constant();
    const Shape scores = shape(last_);
    if (pick(2) == 0) {
      put(ops::Reshape{{in[0], 1, 2, rowCount, rowCount}}, {last_});
    } else {
      put(ops::Reshape{{in[0] * Extent(2), rowCount, rowCount}}, {last_});
    }
    binaryOf("add(x0,x1)", last_, weights({1, rowCount, rowCount}));
    put(ops::Reshape{scores}, {last_});
  }
  put(ops::Softmax{pick(2) == 0 ? 3 : -1}, {last_});
  put(ops::MatMul{}, {last_, heads[2]});
  if (pick(4) > 0) put(ops::Reshape{{in[0], in[1] * in[2], 2 * width}}, {transposed(last_, {0, 2, 1, 3})});
}

// As PyTorch writes it: one projection, split or picked from a stack; rows before batches; factors on q and k; a
// condition for a mask; zeros where no key is left; the result through a product of rows in two axes, and a residual
// sum.
void Generator::exportedAttention(ValueId x) {
  const Shape in = shape(x);
  const Extent batch = in[0];
  const Extent rows = in[1] * in[2];
  const Extent columns = in[3];
  const int64_t width = 1 + pick(3);
  const bool rowsFirst = pick(2) == 0;
  put(ops::Reshape{{batch, rows, columns}}, {x});
  const ValueId tokens = last_;
  if (rowsFirst) transposed(tokens, {1, 0, 2});
  put(ops::MatMul{}, {last_, weights({columns.constant(), 6 * width})});
  if (pick(3) > 0) binaryOf("add(x0,x1)", last_, weights({1, 1, 6 * width}));
  const ValueId projection = last_;
  const Shape outer = rowsFirst ? Shape{rows, batch} : Shape{batch, rows};
  ValueId stack = graph::kNone;
  if (pick(2) == 0) {
    put(ops::Reshape{{outer[0], outer[1], 3, 2 * width}}, {projection});
    stack = transposed(last_, {2, 0, 1, 3});
  }
  std::vector<ValueId> heads;
  for (int64_t i = 0; i < 3; ++i) {
    if (stack != graph::kNone) {
      put(ops::Gather{}, {stack, graph_.addConstant(graph::Constant::scalar(DataType::kI64, static_cast<double>(i)))});
    } else {
      put(ops::Slice{{0, 0, 2 * width * i}, {outer[0], outer[1], 2 * width}, {}, ops::SliceMode::kStrict},
          {projection});
    }
    if (rowsFirst) {
      put(ops::Reshape{{rows, batch * Extent(2), width}}, {last_});
      put(ops::Reshape{{batch, 2, rows, width}}, {transposed(last_, {1, 0, 2})});
    } else {
      put(ops::Reshape{{batch, rows, 2, width}}, {last_});
      transposed(last_, {0, 2, 1, 3});
    }
    heads.push_back(last_);
  }
  const bool scales = pick(2) == 0;
  if (scales) heads[0] = withNumber("mul", heads[0], 0.7);
  transposed(heads[1], {0, 1, 3, 2});
  if (scales) withNumber("mul", last_, 0.7);
  put(ops::MatMul{}, {heads[0], last_});
  const ValueId scores = last_;
  const bool conditional = pick(2) == 0;
  if (conditional) {
    put(ops::Pointwise{ops::parseScalarExpr("greater(x0,0)")},
        {weights({rows.constant(), pick(2) == 0 ? 1 : rows.constant()})});
    put(ops::Pointwise{ops::parseScalarExpr("select(x0,x1,-inf)")}, {last_, scores});
  }
  put(ops::Softmax{3}, {last_});
  if (conditional) {
    const ValueId softmax = last_;
    put(ops::Pointwise{ops::parseScalarExpr("isnan(x0)")}, {softmax});
    put(ops::Pointwise{ops::parseScalarExpr("select(x0,0,x1)")}, {last_, softmax});
  }
  put(ops::MatMul{}, {last_, heads[2]});
  transposed(last_, rowsFirst ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{0, 2, 1, 3});
  put(ops::Reshape{{batch * rows, 2 * width}}, {last_});
  put(ops::MatMul{}, {last_, weights({2 * width, columns.constant()})});
  put(ops::Reshape{{outer[0], outer[1], columns}}, {last_});
  if (rowsFirst) transposed(last_, {1, 0, 2});
  binaryOf("add(x0,x1)", last_, tokens);
  if (pick(3) == 0) put(ops::Slice{{0, 0, 0}, {batch, 1, columns}, {}, ops::SliceMode::kStrict}, {last_});
}

// Products of one matrix, often of one row, or convolutions of one image, and what some networks have behind these.
void Generator::branches(ValueId x) {
  if (isImage(x, 1) && pick(2) == 0) {
    const int64_t channels = shape(x)[1].constant();
    const bool windows = pick(2) == 0;
    for (int64_t left = 2 + pick(2); left > 0; --left) {
      ops::Convolution op;
      if (windows) op.prePadding = op.postPadding = {1, 1};
      put(op, {x, weights({1 + pick(6), channels, windows ? 3 : 1, windows ? 3 : 1})});
      if (pick(2) == 0) unaryOf("sigmoid(x0)", last_);
    }
    ops::Convolution depthwise;
    depthwise.prePadding = depthwise.postPadding = {1, 1};
    depthwise.groups = channels;
    if (channels > 1) put(depthwise, {x, weights({channels, 1, 3, 3})});
    return put(ops::Convolution{}, {channels > 1 ? last_ : x, weights({1 + pick(6), channels, 1, 1})});
  }
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank < 2 || !shape(x).back().isConstant()) return unary(x);
  if (pick(2) == 0) {
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis + 1 < rank; ++axis) axes.push_back(axis);
    x = mean(x, std::move(axes));
  }
  const int64_t depth = shape(x).back().constant();
  const bool biased = pick(2) == 0;
  for (int64_t left = 2 + pick(2); left > 0; --left) {
    const int64_t columns = 1 + pick(6);
    put(ops::MatMul{}, {x, weights({depth, columns})});
    if (biased) binaryOf("add(x0,x1)", last_, weights({pick(3) == 0 ? 1 : columns}));
  }
}

// A product of channels-last rows with a scale behind it and the residual sum behind the transpose back.
void Generator::rowBlock(ValueId x) {
  const Shape in = shape(x);
  const int64_t channels = in[1].constant();
  put(ops::MatMul{}, {transposed(x, {0, 2, 3, 1}), weights({channels, channels})});
  if (pick(2) == 0) binaryOf("add(x0,x1)", last_, weights({channels}));
  if (pick(3) == 0) withNumber("mul", last_, 0.5);
  transposed(last_, {0, 3, 1, 2});
  if (pick(3) > 0) binaryOf("mul(x0,x1)", last_, weights({channels, 1, 1}));
  binaryOf("add(x0,x1)", last_, x);
}

// Every other index of some axes, side by side along one.
void Generator::steppedPieces(ValueId x) {
  const Shape in = shape(x);
  std::vector<size_t> axes;
  for (size_t axis = 1; axis < in.size() && axes.size() < 2; ++axis) {
    if (in[axis].isConstant() && in[axis].constant() > 0 && in[axis].constant() % 2 == 0) axes.push_back(axis);
  }
  if (axes.empty()) return unary(x);
  std::vector<ValueId> parts;
  for (int64_t k = 0; k < int64_t{1} << axes.size(); ++k) {
    ops::Slice op{Shape(in.size(), 0), in, Shape(in.size(), 1), ops::SliceMode::kStrict};
    for (size_t i = 0; i < axes.size(); ++i) {
      op.start[axes[i]] = k >> i & 1;
      op.size[axes[i]] = floorDiv(in[axes[i]], 2);
      op.stride[axes[i]] = 2;
    }
    put(std::move(op), {x});
    parts.push_back(last_);
  }
  if (pick(4) == 0) std::swap(parts.front(), parts.back());
  put(ops::Concat{pick(static_cast<int64_t>(in.size()))}, parts);
}

void Generator::pieces(ValueId x) {
  const Shape in = shape(x);
  if (pick(5) == 0) return steppedPieces(x);
  if (in.size() == 4 && in[1].isConstant() && pick(4) == 0) return rowBlock(x);
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
  if (pick(3) == 0 && shape(last_)[1].isConstant()) perChannel(last_);
  if (pick(2) == 0 || in.size() != 4 || channels % 2 != 0) return;
  put(ops::Reshape{{in[0], 2, channels / 2, in[2], in[3]}}, {last_});
  put(ops::Reshape{in}, {transposed(last_, {0, 2, 1, 3, 4})});
}

// A branch of a conditional, a loop that carries x, or one over the slices of x that gives a result for each.
void Generator::anyRegion(ValueId x) {
  const auto node = [](const char* expr, std::vector<int32_t> inputs) {
    return ops::RegionNode{ops::Pointwise{ops::parseScalarExpr(expr)}, std::move(inputs), 1, "inner"};
  };
  const ValueId factor = graph_.addConstant(graph::Constant::scalar(DataType::kF32, 0.5));
  const ValueId count = indices({}, 0, 4);
  const bool isSliced = !shape(x).empty() && shape(x)[0].isConstant() && shape(x)[0].constant() > 3;
  const int64_t kind = pick(isSliced ? 3 : 2);
  if (kind == 0) {
    ops::If choice;
    choice.then = ops::Region({2, {node("mul(x0,x1)", {0, 1}), node("tanh(x0)", {2})}, {3}});
    choice.otherwise = ops::Region({2, {node("abs(x0)", {0}), node("min(x0,x1)", {2, 1})}, {3}});
    HostTensor which(DataType::kBool, {});
    which.view().storeInt(0, pick(2));
    return put(choice, {graph_.addConstant(graph::Constant::own(std::move(which))), x, factor});
  }
  ops::Loop loop;
  loop.states = 1;
  loop.counted = true;
  if (kind == 1) {
    loop.next = ops::Region({2, {node("mul(x0,x1)", {0, 1}), node("tanh(x0)", {2})}, {3}});
    return put(loop, {count, x, factor});
  }
  loop.slices = {{0, pick(2) == 0, Extent(-1)}};
  loop.stacks = {{0, pick(2) == 0, shape(x)[0]}};
  // state, slice, factor: state * factor + slice, of the slice's shape.
  loop.next = ops::Region({3, {node("mul(x0,x1);add(t0,x2)", {0, 2, 1}), node("tanh(x0)", {3})}, {4, 3}});
  ValueId first = x;
  ops::Slice slice;
  slice.start.assign(shape(x).size(), 0);
  slice.size = shape(x);
  slice.size[0] = 1;
  put(std::move(slice), {first});
  Shape rest(shape(x).begin() + 1, shape(x).end());
  put(ops::Reshape{rest}, {last_});
  put(loop, {count, last_, x, factor});
}

}  // namespace tenon::passes
