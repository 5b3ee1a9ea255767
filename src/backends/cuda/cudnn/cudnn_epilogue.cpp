// One or a few operations per instruction; intermediate results are virtual f32 tensors.
#include "backends/cuda/cudnn/cudnn_epilogue.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace tenon::backends::cuda::dnn {
namespace {

using ops::ScalarArgument;
using ops::ScalarInstruction;
using ops::ScalarOp;
using Id = OperationGraph::Id;

const std::map<ScalarOp, PointwiseMode>& simpleModes() {
  static const std::map<ScalarOp, PointwiseMode> kModes{
      {ScalarOp::k_identity, PointwiseMode::kIdentity}, {ScalarOp::k_exp, PointwiseMode::kExp},
      {ScalarOp::k_sqrt, PointwiseMode::kSqrt},         {ScalarOp::k_rsqrt, PointwiseMode::kRsqrt},
      {ScalarOp::k_recip, PointwiseMode::kReciprocal},  {ScalarOp::k_abs, PointwiseMode::kAbs},
      {ScalarOp::k_neg, PointwiseMode::kNeg},           {ScalarOp::k_erf, PointwiseMode::kErf},
      {ScalarOp::k_tanh, PointwiseMode::kTanh},         {ScalarOp::k_relu, PointwiseMode::kRelu},
      {ScalarOp::k_sigmoid, PointwiseMode::kSigmoid},   {ScalarOp::k_softplus, PointwiseMode::kSoftplus},
      {ScalarOp::k_gelu_erf, PointwiseMode::kGeluErf},  {ScalarOp::k_gelu_tanh, PointwiseMode::kGeluTanh},
      {ScalarOp::k_add, PointwiseMode::kAdd},           {ScalarOp::k_sub, PointwiseMode::kSub},
      {ScalarOp::k_mul, PointwiseMode::kMul},           {ScalarOp::k_div, PointwiseMode::kDiv},
      {ScalarOp::k_min, PointwiseMode::kMin},           {ScalarOp::k_max, PointwiseMode::kMax}};
  return kModes;
}

bool isLiteral(const ScalarArgument& argument) { return argument.kind == ScalarArgument::Kind::kLiteral; }

class Writer {
 public:
  Writer(OperationGraph& graph, const std::vector<Id>& inputs, const Tensor& like, Id result, Scalars& scalars)
      : graph_(graph), inputs_(inputs), virtual_(like), result_(result), scalars_(scalars) {
    virtual_.type = ElementType::kF32;
    virtual_.isVirtual = true;
  }

  void write(const ops::ScalarExpr& expr) {
    for (size_t k = 0; k < expr.instructions.size(); ++k) {
      last_ = k + 1 == expr.instructions.size();
      results_.push_back(instruction(expr.instructions[k]));
    }
  }

 private:
  Id scalar(double value) {
    const auto known = std::find(scalars_.values.begin(), scalars_.values.end(), static_cast<float>(value));
    if (known != scalars_.values.end()) return scalars_.ids[static_cast<size_t>(known - scalars_.values.begin())];
    const std::vector<int64_t> ones(virtual_.dims.size(), 1);
    scalars_.values.push_back(static_cast<float>(value));
    scalars_.ids.push_back(graph_.tensor({ElementType::kF32, ones, ones, false, true}));
    return scalars_.ids.back();
  }
  Id operand(const ScalarArgument& argument) {
    if (isLiteral(argument)) return scalar(argument.literal);
    const auto at = static_cast<size_t>(argument.index);
    return argument.kind == ScalarArgument::Kind::kInput ? inputs_[at] : results_[at];
  }
  Id emit(const PointwiseSettings& settings, Id x, std::optional<Id> b, bool ends) {
    const Id y = ends ? result_ : graph_.tensor(virtual_);
    graph_.pointwise(settings, x, b, y);
    return y;
  }

  Id instruction(const ScalarInstruction& i) {
    const auto& [a, b, c] = i.arguments;
    switch (i.op) {
      case ScalarOp::k_leaky_relu: return emit({PointwiseMode::kRelu, {}, {}, b.literal, {}}, operand(a), {}, last_);
      case ScalarOp::k_elu: return emit({PointwiseMode::kElu, {}, {}, {}, b.literal}, operand(a), {}, last_);
      case ScalarOp::k_clip: return emit({PointwiseMode::kRelu, b.literal, c.literal, {}, {}}, operand(a), {}, last_);
      case ScalarOp::k_hard_sigmoid: {
        const Id scaled = emit({PointwiseMode::kMul, {}, {}, {}, {}}, operand(a), operand(b), false);
        const Id shifted = emit({PointwiseMode::kAdd, {}, {}, {}, {}}, scaled, operand(c), false);
        return emit({PointwiseMode::kRelu, 0.0, 1.0, {}, {}}, shifted, {}, last_);
      }
      case ScalarOp::k_fma: {
        const Id product = emit({PointwiseMode::kMul, {}, {}, {}, {}}, operand(a), operand(b), false);
        return emit({PointwiseMode::kAdd, {}, {}, {}, {}}, product, operand(c), last_);
      }
      default: break;
    }
    const PointwiseSettings settings{simpleModes().at(i.op), {}, {}, {}, {}};
    if (row(i.op).arity == 1) return emit(settings, operand(a), {}, last_);
    // The first operand has the extents of the result: what may broadcast stands second where the order is free.
    const bool free = i.op != ScalarOp::k_sub && i.op != ScalarOp::k_div;
    const auto broadcasts = [](const ScalarArgument& argument) {
      return isLiteral(argument) || (argument.kind == ScalarArgument::Kind::kInput && argument.index != 0);
    };
    if (free && broadcasts(a) && !broadcasts(b)) return emit(settings, operand(b), operand(a), last_);
    return emit(settings, operand(a), operand(b), last_);
  }

  OperationGraph& graph_;
  const std::vector<Id>& inputs_;
  Tensor virtual_;
  Id result_;
  Scalars& scalars_;
  std::vector<Id> results_;
  bool last_ = false;
};

}  // namespace

std::string fusionRefusal(const ops::ScalarExpr& expr) {
  for (const auto& i : expr.instructions) {
    const auto& [a, b, c] = i.arguments;
    bool fits = simpleModes().contains(i.op) || i.op == ScalarOp::k_fma;
    if (i.op == ScalarOp::k_leaky_relu || i.op == ScalarOp::k_elu) fits = isLiteral(b);
    if (i.op == ScalarOp::k_clip || i.op == ScalarOp::k_hard_sigmoid) fits = isLiteral(b) && isLiteral(c);
    if (!fits) return fmt::format("cuDNN has no operation for {} here", row(i.op).name);
  }
  return {};
}

void addEpilogue(OperationGraph& graph, const ops::ScalarExpr& expr, const std::vector<Id>& inputs, const Tensor& like,
                 Id result, Scalars& scalars) {
  checkInternal(!expr.empty(), "cuDNN: an empty epilogue");
  Writer(graph, inputs, like, result, scalars).write(expr);
}

}  // namespace tenon::backends::cuda::dnn
