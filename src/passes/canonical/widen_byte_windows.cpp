// byte_convolution => convolutions in f32 of whole numbers, whose sums f32 holds exactly, and what makes the results of
// them: for devices that have fast convolutions of floating types alone. Exact too where these keep 10 bits of their
// operands (TF32). Windows of single pixels are products of i8, which widen_bytes widens.
#include "passes/common/pass.h"

#include <cmath>

#include "ops/op/byte_convolution.h"
#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

constexpr double kExactSum = 1 << 24;  // up to which f32 holds every whole number
constexpr double kLargest = 255;       // of a byte less its zero point
constexpr int64_t kExactTerms = 4096;  // products with weights of 4 bits and a sign that stay exact
constexpr int64_t kMostParts = 16;     // what is deeper stays as it is

ConstantPtr scalarWork(const char* text, std::vector<ConstantPtr> sources) {
  return Constant::recipe(ops::Pointwise{ops::parseScalarExpr(text)}, std::move(sources));
}

ConstantPtr reshaped(const ConstantPtr& constant, Shape shape) {
  ops::Reshape op;
  op.shape = std::move(shape);
  return Constant::recipe(std::move(op), {constant});
}

// The largest sum of the products of a filter with bytes.
double largestSum(const Constant& weights) {
  const auto view = weights.view();
  const int64_t filters = view.dims[0];
  const int64_t each = filters == 0 ? 0 : view.count() / filters;
  double largest = 0;
  for (int64_t k = 0; k < filters; ++k) {
    double sum = 0;
    for (int64_t i = 0; i < each; ++i) sum += std::abs(view.loadDouble(k * each + i));
    largest = std::max(largest, sum * kLargest);
  }
  return largest;
}

class Widening {
 public:
  Widening(const Graph& graph, graph::Patch& patch, NodeId id)
      : graph_(graph), patch_(patch), id_(id), node_(graph.node(id)), op_(*node_.op.as<ops::ByteConvolution>()) {
    const auto& x = graph.value(node_.inputs[0]).type;
    shape_ = x.shape;
    weights_ = graph.value(node_.inputs[1]).constant;
    Shape filters(x.shape.size(), Extent(1));
    const auto zero = graph.value(node_.inputs[3]).constant;
    if (weights_ == nullptr || zero == nullptr) return;
    filters[0] = Extent(zero->count());
    centered_ = scalarWork("cast.f32(x0);cast.f32(x1);sub(t0,t1)", {weights_, reshaped(zero, filters)});
  }

  // Whether it is exact in few parts.
  bool fits() const {
    if (centered_ == nullptr || weights_->count() == 0) return false;
    if (isProduct()) return true;
    isExact_ = largestSum(*centered_) <= kExactSum;
    const int64_t window = weights_->dims().count(2, weights_->dims().rank);
    const int64_t channels = weights_->dims()[1];
    partChannels_ = isExact_ ? channels : std::min(channels, kExactTerms / std::max<int64_t>(window, 1));
    if (partChannels_ == 0) return false;
    const int64_t parts = (channels + partChannels_ - 1) / partChannels_;
    return parts == 1 || (op_.groups == 1 && parts <= kMostParts);
  }

  ValueId result() {
    if (isProduct()) return finished(product());
    const ValueId x = pointwise("cast.f32(x0);cast.f32(x1);sub(t0,t1)", {node_.inputs[0], node_.inputs[2]});
    ValueId sum = graph::kNone;
    const int64_t channels = weights_->dims()[1];
    for (int64_t begin = 0; begin < channels; begin += partChannels_) {
      const ValueId part = sumOf(x, begin, std::min(partChannels_, channels - begin));
      sum = sum == graph::kNone ? part : pointwise("add(x0,x1)", {sum, part});
    }
    if (op_.hasBias && !hasRealBias()) sum = pointwise("add(x0,x1)", {sum, ofChannels(node_.inputs[4])});
    return finished(sum);
  }

 private:
  ValueId pointwise(const std::string& text, std::vector<ValueId> inputs) {
    return add(ops::Pointwise{ops::parseScalarExpr(text)}, std::move(inputs));
  }
  template <typename Op>
  ValueId add(Op op, std::vector<ValueId> inputs) {
    const NodeId from[] = {id_};
    return patch_.add(std::move(op), node_.name, std::move(inputs), from);
  }

  // Windows of one pixel over images of one: rows by a matrix, which a product of i8 is.
  bool isProduct() const {
    const auto isZero = [](const Shape& padding) { return padding.empty() || padding[0].isConstant(0); };
    return shape_.size() == 3 && shape_[2].isConstant(1) && weights_->dims()[2] == 1 && op_.groups == 1 &&
           isZero(op_.prePadding) && isZero(op_.postPadding);
  }

  // sum (x - zx) (w - zw) = sum xw - zx sum w - zw sum x + C zx zw, of bytes and zero points that have a sign.
  ValueId product() {
    const Dims filters{weights_->dims()[0]};
    const Extent rows = shape_[0], channels = shape_[1];
    const auto less = [](DataType type, const char* last) {
      return std::string("cast.i32(x0);sub(t0,") + (type == DataType::kU8 ? "128)" : "0)") + last;
    };
    const auto reshape = [](Shape shape) {
      ops::Reshape op;
      op.shape = std::move(shape);
      return op;
    };
    const DataType xType = graph_.value(node_.inputs[0]).type.dtype;
    const ValueId x = add(reshape({rows, channels}), {pointwise(less(xType, ";cast.i8(t1)"), {node_.inputs[0]})});
    const auto w = reshaped(scalarWork(less(weights_->dtype(), ";cast.i8(t1)").c_str(), {weights_}),
                            {Extent(filters[0]), channels});
    const ValueId xZero = add(reshape({Extent(1), Extent(1)}), {pointwise(less(xType, ""), {node_.inputs[2]})});
    const auto zero = graph_.value(node_.inputs[3]).constant;
    const auto wZero = reshaped(scalarWork(less(weights_->dtype(), "").c_str(), {zero}), {Extent(zero->count())});
    ops::Reduce total;
    total.axes = {1};
    const auto weightSums = Constant::recipe(total, {scalarWork("cast.i32(x0)", {w})});
    ops::MatMul multiply;
    multiply.transposeB = true;
    ValueId sum = pointwise("mul(x1,x2);sub(x0,t0)", {add(std::move(multiply), {x, patch_.addConstant(w)}), xZero,
                                                      patch_.addConstant(weightSums)});
    if (isAnyNotZero(*wZero)) {
      total.keepDims = true;
      const ValueId rowSums = add(total, {pointwise("cast.i32(x0)", {x})});
      sum = pointwise("mul(x2," + std::to_string(weights_->dims()[1]) + ");sub(x1,t0);mul(x3,t1);sub(x0,t2)",
                      {sum, rowSums, xZero, patch_.addConstant(wZero)});
    }
    sum = add(reshape({rows, Extent(filters[0]), Extent(1)}), {sum});
    return op_.hasBias && !hasRealBias() ? pointwise("add(x0,x1)", {sum, ofChannels(node_.inputs[4])}) : sum;
  }

  static bool isAnyNotZero(const Constant& constant) {
    const auto view = constant.view();
    for (int64_t i = 0; i < view.count(); ++i) {
      if (view.loadDouble(i) != 0) return true;
    }
    return false;
  }

  // One value, or one for each channel of the result.
  ValueId ofChannels(ValueId value) {
    ops::Reshape op;
    op.shape.assign(shape_.size() - 1, Extent(1));
    const auto& type = graph_.value(value).type;
    if (type.rank() == 1) op.shape[0] = type.shape[0];
    return add(std::move(op), {value});
  }

  // i32 sums over some of the channels.
  ValueId sumOf(ValueId x, int64_t begin, int64_t count) {
    ConstantPtr weights = centered_;
    if (count != weights_->dims()[1]) {
      ops::Slice slice;
      slice.start.assign(shape_.size(), Extent(0));
      slice.start[1] = Extent(begin);
      slice.size = shape_;
      slice.size[1] = Extent(count);
      x = add(slice, {x});
      slice.size = toShape(weights_->dims());
      slice.size[1] = Extent(count);
      weights = Constant::recipe(std::move(slice), {weights});
    }
    if (isExact_) return convolved(x, weights);
    const ValueId high = convolved(x, scalarWork("mul(x0,0.0625);floor(t0)", {weights}));
    const ValueId low = convolved(x, scalarWork("mul(x0,0.0625);floor(t0);mul(t1,16);sub(x0,t2)", {weights}));
    return pointwise("mul(x0,16);add(t0,x1)", {high, low});
  }

  ValueId convolved(ValueId x, const ConstantPtr& weights) {
    ops::Convolution op;
    op.strides = op_.strides;
    op.dilations = op_.dilations;
    op.prePadding = op_.prePadding;
    op.postPadding = op_.postPadding;
    op.groups = op_.groups;
    return pointwise("round(x0);cast.i32(t0)", {add(std::move(op), {x, patch_.addConstant(weights)})});
  }

  ValueId finished(ValueId sum) {
    if (op_.type == DataType::kI32) return sum;
    const ValueId scale = ofChannels(node_.inputs[op_.scaleInput()]);
    const ValueId bias = hasRealBias() ? ofChannels(node_.inputs[4]) : graph::kNone;
    const ValueId real = bias == graph::kNone ? pointwise("cast.f32(x0);mul(t0,x1)", {sum, scale})
                                              : pointwise("cast.f32(x0);mul(t0,x1);add(t1,x2)", {sum, scale, bias});
    if (op_.type == DataType::kF32) return real;
    const bool isSigned = op_.type == DataType::kI8;
    const ValueId zero = ofChannels(node_.inputs[op_.zeroInput()]);
    const std::string last = op_.relu ? "max(t2,t1);" : "max(t2," + std::string(isSigned ? "-128" : "0") + ");";
    return pointwise(
        "round(x0);cast.f32(x1);add(t0,t1);" + last + "min(t3," + (isSigned ? "127);cast.i8(t4)" : "255);cast.u8(t4)"),
        {real, zero});
  }

  bool hasRealBias() const { return op_.hasBias && graph_.value(node_.inputs[4]).type.dtype == DataType::kF32; }

  const Graph& graph_;
  graph::Patch& patch_;
  NodeId id_;
  const graph::Node node_;
  const ops::ByteConvolution op_;
  Shape shape_;
  ConstantPtr weights_, centered_;
  mutable bool isExact_ = false;
  mutable int64_t partChannels_ = 0;
};

bool widen(Graph& graph, NodeId id) {
  if (graph.node(id).op.as<ops::ByteConvolution>() == nullptr) return false;
  const ValueId output = graph.node(id).outputs[0];
  graph::Patch patch(graph);
  Widening widening(graph, patch, id);
  if (!widening.fits()) return false;
  patch.replace(output, widening.result());
  patch.commit();
  return true;
}

}  // namespace

int pass_widen_byte_windows(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return widen(graph, id); });
}

}  // namespace tenon::passes
