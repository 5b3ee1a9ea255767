// Random graphs: integers and truth values, extents as values, half precision, quantized values.
#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/fill.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/random.h"
#include "ops/op/reduce.h"
#include "ops/op/shape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/topk.h"
#include "random_generator.h"

namespace tenon::passes {

// An extent of x, taken out of its shape, calculated with, and added to x.
void Generator::shapeArithmetic(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank == 0) return unary(x);
  put(ops::ShapeOf{}, {x});
  ValueId extents = last_;
  if (pick(2) == 0) {
    ops::Slice op;
    op.start = {Extent(pick(rank))};
    op.size = {Extent(1)};
    put(std::move(op), {extents});
  } else {
    put(ops::Operator::parse("gather{axis=0}"), {extents, indices({1}, -rank, rank)});
  }
  extents = last_;
  constexpr const char* kSteps[] = {"mul(x0,2);add(t0,1)", "floor_div(x0,2)", "max(x0,3)", "sub(x0,1)", "add(x0,x0)"};
  if (pick(2) == 0) extents = unaryOf(kSteps[pick(std::size(kSteps))], extents);
  binaryOf(pick(2) == 0 ? "add(x0,x1)" : "mul(x0,x1)", x, unaryOf("cast.f32(x0);mul(t0,0.0625)", extents));
}

// Values linear in the index, added to x; start and deltas as fields or as inputs.
// Random numbers that count nothing, since each evaluation draws others.
void Generator::noise(ValueId x) {
  ops::Random op;
  op.shape = shape(x);
  op.seeded = pick(2) == 0;
  put(op, {});
  const ValueId numbers = last_;
  pool_.pop_back();
  exact_.erase(numbers);
  put(ops::Pointwise{ops::parseScalarExpr("mul(x1,0);add(x0,t0)")}, {x, numbers});
}

void Generator::fill(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  ops::Fill op;
  op.shape = shape(x);
  const bool whole = pick(3) == 0;
  op.type = whole ? DataType::kI32 : DataType::kF32;
  if (pick(2) == 0) {
    op.start = whole ? 1 : 0.25;
    for (int64_t i = 0; i < rank; ++i) op.deltas.push_back(static_cast<double>(pick(3)) * (whole ? 1 : 0.0625));
    put(std::move(op), {});
  } else {
    const ValueId start = weights(Dims{}, op.type);
    put(std::move(op), {start, weights({rank}, whole ? DataType::kI32 : DataType::kF32)});
  }
  const ValueId filled = whole ? unaryOf("cast.f32(x0);mul(t0,0.0625)", last_) : last_;
  binaryOf("add(x0,x1)", x, filled);
}

// An input of integers, and some work on it that comes back as numbers.
void Generator::integers() {
  integers_.push_back(graph_.addInput("k", {DataType::kI32, {3, 4}, std::nullopt}));
  exact_.insert(integers_.back());
  for (int64_t i = pick(3); i >= 0; --i) integerStep();
  backToNumbers(integers_.back());
}

// The value itself or the network's input, where it is exact; a constant in bodies whose first value varies.
ValueId Generator::exactFrom(ValueId candidate) {
  if (isExact(candidate)) return candidate;
  return isExact(pool_[0]) ? pool_[0] : weights({2, 3});
}

// Products with powers of two are exact, too.
ValueId Generator::integerOf(ValueId x) {
  constexpr const char* kCasts[] = {"mul(x0,4);cast.i32(t0)", "mul(x0,4);cast.i64(t0)", "mul(x0,16);cast.i8(t0)",
                                    "abs(x0);mul(t0,16);cast.u8(t1)", "greater(x0,0.125)"};
  const ValueId whole = unaryOf(kCasts[pick(std::size(kCasts))], x);
  if (exact_.insert(whole).second) integers_.push_back(whole);
  return whole;
}

void Generator::integerStep() {
  if (integers_.empty() || pick(4) == 0) {
    integerOf(exactFrom(pickFrom(pool_)));
    return;
  }
  const ValueId x = integers_[integers_.size() - 1 -
                              static_cast<size_t>(pick(std::min<int64_t>(3, static_cast<int64_t>(integers_.size()))))];
  const auto rank = static_cast<int64_t>(shape(x).size());
  const bool isBool = type(x) == DataType::kBool;
  switch (pick(9)) {
    case 0: return anyTranspose(x);
    case 1: return anyReshape(x);
    case 2: return anySlice(x);
    case 3: return backToNumbers(x);
    case 4: {
      if (isBool || rank == 0 || !isConstantFrom(x, 0)) return integerExpression(x);
      ops::Reduce op{static_cast<ops::ReduceOp>(pick(5)), {pick(rank)}, pick(2) == 0};
      put(std::move(op), {x});
      integerExpression(last_);
      return;
    }
    case 5: {
      if (isBool || rank == 0) return integerExpression(x);
      put(ops::Operator::parse(
              fmt::format("cumulative{{axis={} exclusive={} reverse={}}}", pick(rank), pick(2) == 0, pick(2) == 0)),
          {x});
      return integerExpression(last_);
    }
    case 6: {
      if (isBool || rank == 0 || !shape(x).back().isConstant() || shape(x).back().constant() == 0)
        return integerExpression(x);
      return put(ops::TopK{pick(2) == 0, 1 + pick(shape(x).back().constant()), -1, DataType::kI32}, {x});
    }
    default: return integerExpression(x);
  }
}

// The result stays small, so that no type overflows before a store.
void Generator::integerExpression(ValueId x) {
  if (type(x) == DataType::kBool) {
    constexpr const char* kTruth[] = {"not(x0)",    "and(x0,x0)",   "or(x0,x0);not(t0)",
                                      "xor(x0,x0)", "cast.i32(x0)", "select(x0,3,-2);cast.i32(t0)"};
    unaryOf(kTruth[pick(std::size(kTruth))], x);
    return;
  }
  constexpr const char* kSteps[] = {"add(x0,3)",
                                    "sub(x0,x1)",
                                    "mul(x0,x1)",
                                    "div(x0,2)",
                                    "div(7,x0)",
                                    "floor_div(x0,3)",
                                    "mod(x0,3)",
                                    "fmod(x0,3)",
                                    "max(x0,x1);min(t0,9)",
                                    "neg(x0)",
                                    "abs(x0)",
                                    "sign(x0)",
                                    "add(x0,x1);sub(t0,2)",
                                    "mul(x0,3)",
                                    "floor_div(x0,-2)",
                                    "mod(x0,-3)",
                                    "relu(x0)",
                                    "clip(x0,-3,4)",
                                    "greater(x0,x1);select(t0,x0,x1)",
                                    "less(x0,2);select(t0,1,x0)",
                                    "equal(x0,x1);cast.i32(t0)",
                                    "greater(x0,1)",
                                    "equal(x0,2)",
                                    "less(x0,x1)",
                                    "cast.i64(x0)",
                                    "cast.i32(x0)",
                                    "cast.i8(x0)",
                                    "pow(x0,2)",
                                    "bit_not(x0)",
                                    "bit_and(x0,x1)",
                                    "bit_or(x0,6)",
                                    "bit_xor(x0,x1);bit_not(t0)",
                                    "shift_left(x0,2)",
                                    "shift_right(x0,1)"};
  const std::string source = kSteps[pick(std::size(kSteps))];
  ValueId other = x;
  for (const ValueId value : integers_) {
    if (value != x && type(value) == type(x) && shape(value) == shape(x) && pick(2) == 0) other = value;
  }
  const bool isTruth = source.find("select") == std::string::npos &&
                       (source.find("greater") == 0 || source.find("less") == 0 || source == "equal(x0,2)");
  const auto count = std::count(source.begin(), source.end(), '(') - 1;
  const auto bounded =
      isTruth ? source
              : fmt::format("{};max(t{},{});min(t{},50)", source, count, type(x) == DataType::kU8 ? 0 : -50, count + 1);
  binaryOf(bounded, x, other);
}

void Generator::backToNumbers(ValueId x) {
  const ValueId value = unaryOf(type(x) == DataType::kBool ? "cast.f32(x0)" : "cast.f32(x0);mul(t0,0.03125)", x);
  if (pick(2) == 0) return;
  const auto rank = static_cast<int64_t>(shape(value).size());
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  put(ops::Reduce{elements(value) == 0 ? ops::ReduceOp::kSum : ops::ReduceOp::kMax, axes, false}, {value});
  binaryOf("add(x0,x1)", pool_[0], last_);
}

// A few steps in half precision.
void Generator::halves(ValueId x) {
  const Shape in = shape(x);
  const DataType half = pick(3) == 0 ? DataType::kBF16 : DataType::kF16;
  ValueId value = unaryOf(half == DataType::kF16 ? "clip(x0,-8,8);cast.f16(t0)" : "clip(x0,-8,8);cast.bf16(t0)", x);
  for (int64_t i = 1 + pick(3); i > 0; --i) {
    const auto rank = static_cast<int64_t>(shape(value).size());
    switch (pick(6)) {
      case 0:
        if (rank > 0) put(ops::Softmax{rank - 1}, {value});
        break;
      case 1:
        if (rank > 1 && shape(value).back().isConstant())
          put(ops::MatMul{}, {value, weights({shape(value).back().constant(), 1 + pick(4)}, half)});
        break;
      case 2: anyTranspose(value); break;
      case 3:
        if (rank > 0) put(ops::Reduce{ops::ReduceOp::kAvg, {rank - 1}, true}, {value});
        break;
      case 4:
        if (rank == 4 && isImage(value, 1)) {
          const int64_t channels = shape(value)[1].constant();
          put(ops::Convolution{}, {value, weights({1 + pick(3), channels, 1, 1}, half)});
        }
        break;
      default: {
        constexpr const char* kSteps[] = {"relu(x0)", "sigmoid(x0)", "mul(x0,0.5);tanh(t0)", "gelu_erf(x0)",
                                          "add(x0,0.25)"};
        unaryOf(kSteps[pick(std::size(kSteps))], value);
      }
    }
    if (type(last_) == half) value = last_;
  }
  unaryOf("cast.f32(x0)", value);
}

// An exact value quantized, through a product of 8-bit integers or straight back.
void Generator::quantized() {
  const ValueId x = exactFrom(pickFrom(pool_));
  const Shape in = shape(x);
  constexpr const char* kTypes[] = {"i8", "u8", "i8", "f8e4m3", "i4", "f4e2m1"};
  const std::string type = kTypes[pick(std::size(kTypes))];
  const auto rank = static_cast<int64_t>(in.size());
  ValueId scale = number(0.0625);
  int64_t axis = -1;
  if (rank > 0 && pick(2) == 0) {
    axis = pick(rank);
    if (in[static_cast<size_t>(axis)].isConstant()) {
      HostTensor scales(DataType::kF32, {in[static_cast<size_t>(axis)].constant()});
      for (int64_t i = 0; i < scales.view().count(); ++i)
        scales.view().storeDouble(i, 0.03125 * static_cast<double>(1 + pick(3)));
      scale = graph_.addConstant(graph::Constant::own(std::move(scales)));
    }
  }
  if (!tryPut(ops::Operator::parse(fmt::format("quantize{{axis={} type={}}}", axis, type)), {x, scale}))
    return unary(x);
  const ValueId q = last_;
  if ((type == "i8" || type == "u8") && isImage(q, 1) && pick(2) == 0) {
    if (pick(2) == 0 ? byteConvolution(q) : dequantizedConvolution(q, scale)) return;
  }
  if (type == "i8" && pick(2) == 0) return quantizedProduct(q, scale);
  if (!tryPut(ops::Operator::parse(fmt::format("dequantize{{axis={}}}", axis)), {q, scale})) unary(x);
}

void Generator::quantizedProduct(ValueId q, ValueId scale) {
  if (isImage(q, 1)) {
    ops::Convolution op;
    op.epilogue = ops::parseScalarExpr("cast.f32(x0);mul(t0,0.0078125)");
    return put(std::move(op), {q, weights({1 + pick(4), shape(q)[1].constant(), 1, 1}, DataType::kI8)});
  }
  if (shape(q).size() > 1 && shape(q).back().isConstant()) {
    ops::MatMul op;
    op.epilogue = ops::parseScalarExpr("cast.f32(x0);mul(t0,0.0078125);relu(t1)");
    return put(std::move(op), {q, weights({shape(q).back().constant(), 1 + pick(4)}, DataType::kI8)});
  }
  unaryOf("cast.f32(x0);mul(t0,0.0625)", q);
}

}  // namespace tenon::passes
