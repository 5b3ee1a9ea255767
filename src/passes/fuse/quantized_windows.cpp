// quantize(relu(convolution(dequantize(x), dequantize(w)) + b)) => byte_convolution(x, w, b), and so products with a
// matrix of weights: what a network of quantize and dequantize nodes means is computed in integers. Without a quantize
// node behind it the result is real. Products of two computed matrices between quantize nodes => byte_matmul(x, y)
// and what makes results of its sums. Before weights are folded.
#include "passes/common/pass.h"

#include "ops/op/byte_convolution.h"
#include "ops/op/byte_matmul.h"
#include "ops/op/convolution.h"
#include "ops/op/dequantize.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/quantize.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

bool isByte(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }

ConstantPtr scalarWork(const char* text, std::vector<ConstantPtr> sources) {
  return Constant::recipe(ops::Pointwise{ops::parseScalarExpr(text)}, std::move(sources));
}

// A constant, or what quantize and dequantize nodes make of constants.
ConstantPtr constantOf(const Graph& graph, ValueId value) {
  if (graph.value(value).constant != nullptr) return graph.value(value).constant;
  if (producerOp<ops::Quantize>(graph, value) == nullptr && producerOp<ops::Dequantize>(graph, value) == nullptr)
    return nullptr;
  const auto& node = graph.node(graph.value(value).producer);
  std::vector<ConstantPtr> sources;
  for (const ValueId input : node.inputs) {
    sources.push_back(constantOf(graph, input));
    if (sources.back() == nullptr) return nullptr;
  }
  return Constant::recipe(node.op, std::move(sources));
}

// Numbers of f32 as a vector of one element, or of one for each slice of `axis`; null for others.
ConstantPtr numbersOf(const Graph& graph, ValueId value, const Shape& of, int64_t axis, int64_t wanted) {
  const auto& constant = graph.value(value).constant;
  if (constant == nullptr) return nullptr;
  const bool isAlong =
      constant->dims().rank == 1 && (axis < 0 ? axis + static_cast<int64_t>(of.size()) : axis) == wanted;
  return constant->count() == 1 || (isAlong && constant->count() > 0) ? asVector(constant) : nullptr;
}

// What a dequantize node reads.
struct Source {
  ValueId bytes = graph::kNone;
  DataType type = DataType::kI8;
  ConstantPtr scale, zero;  // vectors, the zero point of `type`
  explicit operator bool() const { return bytes != graph::kNone; }
};

ConstantPtr zeroOf(const Graph& graph, const graph::Node& node, const Shape& shape, int64_t axis, DataType type,
                   int64_t wanted) {
  if (node.inputs.size() < 3) return asVector(Constant::scalar(type, 0));
  auto zero = numbersOf(graph, node.inputs[2], shape, axis, wanted);
  if (zero == nullptr || zero->dtype() == type) return zero;
  return Constant::recipe(ops::Pointwise{ops::ScalarExpr::castTo(type)}, {zero});
}

// Bytes whose scale is one number, or one for each slice of `axis` (-1: one number).
Source sourceOf(const Graph& graph, ValueId value, int64_t axis = -1) {
  const auto* const dequantize = producerOp<ops::Dequantize>(graph, value);
  if (dequantize == nullptr || dequantize->type != DataType::kF32) return {};
  const auto& node = graph.node(graph.value(value).producer);
  const auto& type = graph.value(node.inputs[0]).type;
  if (!isByte(type.dtype)) return {};
  Source source{node.inputs[0], type.dtype, nullptr, nullptr};
  source.scale = numbersOf(graph, node.inputs[1], type.shape, dequantize->axis, axis);
  source.zero = zeroOf(graph, node, type.shape, dequantize->axis, type.dtype, axis);
  const bool fits = source.scale != nullptr && source.zero != nullptr && source.scale->dtype() == DataType::kF32 &&
                    (axis >= 0 || (source.scale->count() == 1 && source.zero->count() == 1));
  return fits ? source : Source{};
}

// The nodes behind a convolution or product that its result takes in.
class Followers {
 public:
  Followers(const Graph& graph, NodeId id, const Extent& channels, bool isLast, const Options& options)
      : graph_(graph), mayCompare_(!options.refittable), result_(graph.node(id).outputs[0]), nodes_{id} {
    if (isLast) takeBias(channels);
    const ValueId real = result_;
    const auto nodes = nodes_;
    takeBound();
    if (takeQuantize()) return;
    result_ = real;
    nodes_ = nodes;
    relu_ = false;
  }

  ValueId result() const { return result_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  bool isQuantized() const { return scale_ != nullptr; }
  bool relu() const { return relu_; }
  DataType type() const { return type_; }
  const ConstantPtr& scale() const { return scale_; }
  const ConstantPtr& zero() const { return zero_; }
  const ConstantPtr& bias() const { return bias_; }

 private:
  std::optional<graph::Use> next() const { return onlyUse(graph_, result_); }

  void take(NodeId node) {
    nodes_.push_back(node);
    result_ = graph_.node(node).outputs[0];
  }

  // One number for each element of the last axis.
  void takeBias(const Extent& channels) {
    const auto use = next();
    const auto* const op = use ? graph_.node(use->node).op.as<ops::Pointwise>() : nullptr;
    if (op == nullptr || ops::text(op->expr) != "add(x0,x1)") return;
    const auto& node = graph_.node(use->node);
    auto constant = graph_.value(node.inputs[use->input == 0 ? 1 : 0]).constant;
    if (constant == nullptr || constant->dtype() != DataType::kF32 || !channels.isConstant(constant->count())) return;
    if (!variesAlong(constant->dims(), graph_.value(result_).type.shape,
                     static_cast<int>(graph_.value(result_).type.shape.size()) - 1))
      return;
    bias_ = asVector(constant);
    take(use->node);
  }

  // relu, or a clip to [0, bound] that the type of the result may make superfluous.
  void takeBound() {
    const auto use = next();
    const auto* const op = use ? graph_.node(use->node).op.as<ops::Pointwise>() : nullptr;
    if (op == nullptr || op->expr.instructions.size() != 1 || graph_.node(use->node).inputs.size() != 1) return;
    const auto& step = op->expr.instructions[0];
    const auto isLiteral = [&](size_t i) { return step.arguments[i].kind == ScalarArgument::Kind::kLiteral; };
    if (step.op == ScalarOp::k_clip && isLiteral(1) && isLiteral(2) && step.arguments[1].literal == 0) {
      bound_ = step.arguments[2].literal;
    } else if (step.op != ScalarOp::k_relu) {
      return;
    }
    relu_ = true;
    take(use->node);
  }

  bool takeQuantize() {
    const auto use = next();
    const auto* const quantize = use && use->input == 0 ? graph_.node(use->node).op.as<ops::Quantize>() : nullptr;
    if (quantize == nullptr || !isByte(quantize->type)) return false;
    const auto& node = graph_.node(use->node);
    const auto& shape = graph_.value(result_).type.shape;
    auto scale = numbersOf(graph_, node.inputs[1], shape, quantize->axis, -1);
    auto zero = zeroOf(graph_, node, shape, quantize->axis, quantize->type, -1);
    if (scale == nullptr || zero == nullptr || scale->count() != 1 || zero->count() != 1 ||
        scale->dtype() != DataType::kF32)
      return false;
    if (bound_ && !isSuperfluous(*bound_, quantize->type, *scale, *zero)) return false;
    type_ = quantize->type;
    scale_ = std::move(scale);
    zero_ = std::move(zero);
    take(use->node);
    return true;
  }

  bool isSuperfluous(double bound, DataType type, const Constant& scale, const Constant& zero) const {
    if (!mayCompare_) return false;
    const double step = scale.view().loadDouble(0);
    return ((type == DataType::kU8 ? 255 : 127) - zero.view().loadDouble(0)) * step < bound + step / 2;
  }

  const Graph& graph_;
  bool mayCompare_;  // values of constants
  ValueId result_;
  std::vector<NodeId> nodes_;
  ConstantPtr bias_, scale_, zero_;  // vectors; scale and zero point of the result
  DataType type_ = DataType::kF32;
  bool relu_ = false;
  std::optional<double> bound_;
};

// The operands of one convolution in integers.
struct Window {
  Source x, w;
  ConstantPtr weights, bias;
  ops::ByteConvolution op;
};

class Rewriter {
 public:
  Rewriter(Graph& graph, const Options& options) : graph_(graph), options_(options) {}

  bool rewrite(NodeId id) {
    if (const auto* op = graph_.node(id).op.as<ops::Convolution>()) return convolution(id, *op);
    if (const auto* op = graph_.node(id).op.as<ops::MatMul>()) return product(id, *op) || productOfTwo(id, *op);
    return false;
  }

 private:
  bool convolution(NodeId id, const ops::Convolution& op) {
    const auto& node = graph_.node(id);
    if (!op.epilogue.empty()) return false;
    Window window;
    if (!readOperands(node, 0, window)) return false;
    if (op.hasBias) {
      window.bias = constantOf(graph_, node.inputs[2]);
      if (window.bias == nullptr || window.bias->dtype() != DataType::kF32) return false;
      window.bias = asVector(window.bias);
    }
    window.op.strides = op.strides;
    window.op.dilations = op.dilations;
    window.op.prePadding = op.prePadding;
    window.op.postPadding = op.postPadding;
    window.op.groups = op.groups;
    const Followers followers(graph_, id, Extent(window.weights->dims()[0]), false, options_);
    return put(followers, std::move(window), nullptr);
  }

  // A row of the left matrix is a pixel.
  bool product(NodeId id, const ops::MatMul& op) {
    const auto& node = graph_.node(id);
    const auto& a = graph_.value(node.inputs[0]).type.shape;
    if (!op.epilogue.empty() || op.transposeA || a.size() < 2 || graph_.value(node.inputs[1]).type.rank() != 2)
      return false;
    Window window;
    if (!readOperands(node, op.transposeB ? 0 : 1, window)) return false;
    if (!op.transposeB) window.weights = Constant::recipe(ops::Transpose{{1, 0}}, {window.weights});
    const Dims dims = window.weights->dims();
    window.weights = Constant::recipe(ops::Reshape{{Extent(dims[0]), Extent(dims[1]), Extent(1)}}, {window.weights});
    Extent rows(1);
    for (size_t i = 0; i + 1 < a.size(); ++i) rows = rows * a[i];
    const Shape pixels{rows, a.back(), Extent(1)};
    const Followers followers(graph_, id, Extent(dims[0]), true, options_);
    window.bias = followers.bias();
    return put(followers, std::move(window), &pixels);
  }

  // Of two computed matrices, each with one scale.
  bool productOfTwo(NodeId id, const ops::MatMul& op) {
    const auto& node = graph_.node(id);
    if (!op.epilogue.empty() || op.transposeA || op.transposeB) return false;
    const auto a = sourceOf(graph_, node.inputs[0]), b = sourceOf(graph_, node.inputs[1]);
    const auto isComputed = [&](const Source& source) {
      return source && graph_.value(source.bytes).type.rank() >= 2 && constantOf(graph_, source.bytes) == nullptr;
    };
    constexpr int64_t kMostTerms = 32768;  // whose sum i32 holds
    if (!isComputed(a) || !isComputed(b)) return false;
    const Extent depth = graph_.value(a.bytes).type.shape.back();
    if (!depth.isConstant() || depth.constant() > kMostTerms) return false;
    const Followers followers(graph_, id, Extent(0), false, options_);
    if (!followers.isQuantized()) return false;  // attention keeps real scores
    const auto scale = scalarWork("div(x0,x1)", {scalarWork("mul(x0,x1)", {a.scale, b.scale}), followers.scale()});
    const bool isSigned = followers.type() == DataType::kI8;
    const auto finish =
        fmt::format("cast.f32(x0);mul(t0,x1);round(t1);cast.f32(x2);add(t2,t3);max(t4,{});min(t5,{});cast.{}(t6)",
                    followers.relu() ? "t3"
                    : isSigned       ? "-128"
                                     : "0",
                    isSigned ? "127" : "255", isSigned ? "i8" : "u8");
    const std::string name = graph_.node(followers.nodes().back()).name;
    graph::Patch patch(graph_);
    std::vector<ValueId> inputs{a.bytes, b.bytes, patch.addConstant(a.zero), patch.addConstant(b.zero)};
    if (options_.computes && !options_.computes(ops::ByteMatMul{}, graph_.inputTypes(inputs))) {
      patch.discard();
      return false;
    }
    std::vector<ValueId> operands{patch.add(ops::ByteMatMul{}, name, std::move(inputs), followers.nodes()),
                                  patch.addConstant(scale), patch.addConstant(followers.zero())};
    const ValueId y =
        patch.add(ops::Pointwise{ops::parseScalarExpr(finish)}, name, std::move(operands), followers.nodes());
    patch.replace(followers.result(), y);
    patch.commit();
    return true;
  }

  bool readOperands(const graph::Node& node, int64_t filterAxis, Window& window) const {
    window.x = sourceOf(graph_, node.inputs[0]);
    window.w = sourceOf(graph_, node.inputs[1], filterAxis);
    if (!window.x || !window.w || graph_.value(window.x.bytes).constant != nullptr) return false;
    window.weights = constantOf(graph_, window.w.bytes);
    if (window.weights == nullptr || window.weights->count() == 0) return false;
    constexpr int64_t kMostTerms = 32768;  // whose sum i32 holds
    const Dims dims = window.weights->dims();
    return dims.count() / dims[static_cast<int>(filterAxis)] <= kMostTerms;
  }

  // `pixels`: the shape that the operand is read in, where it is a matrix.
  bool put(const Followers& followers, Window window, const Shape* pixels) {
    const Shape shape = graph_.value(followers.result()).type.shape;
    auto& op = window.op;
    op.hasBias = window.bias != nullptr;
    op.type = followers.type();
    op.relu = followers.relu();
    auto scale = scalarWork("mul(x0,x1)", {window.x.scale, window.w.scale});
    if (followers.isQuantized()) {
      scale = scalarWork("div(x0,x1)", {scale, followers.scale()});
      if (op.hasBias) window.bias = scalarWork("div(x0,x1)", {window.bias, followers.scale()});
    }
    const auto last = followers.nodes().back();
    const std::string name = graph_.node(last).name;
    graph::Patch patch(graph_);
    ValueId x = window.x.bytes;
    if (pixels != nullptr) x = patch.add(ops::Reshape{*pixels}, name, {x}, followers.nodes());
    std::vector<ValueId> inputs{x, patch.addConstant(window.weights), patch.addConstant(window.x.zero),
                                patch.addConstant(window.w.zero)};
    if (op.hasBias) inputs.push_back(patch.addConstant(window.bias));
    inputs.push_back(patch.addConstant(scale));
    if (followers.isQuantized()) inputs.push_back(patch.addConstant(followers.zero()));
    if (options_.computes && !options_.computes(op, graph_.inputTypes(inputs))) {
      patch.discard();
      return false;
    }
    ValueId y = patch.add(std::move(op), name, std::move(inputs), followers.nodes());
    if (pixels != nullptr) y = patch.add(ops::Reshape{shape}, name, {y}, followers.nodes());
    patch.replace(followers.result(), y);
    patch.commit();
    return true;
  }

  Graph& graph_;
  const Options& options_;
};

}  // namespace

int pass_quantized_windows(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return Rewriter(graph, options).rewrite(id); });
}

}  // namespace tenon::passes
