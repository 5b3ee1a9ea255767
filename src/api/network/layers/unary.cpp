// IUnaryLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

// In the order of nvinfer1::UnaryOperation.
constexpr std::array kOperations{
    ScalarOp::k_exp,   ScalarOp::k_log,   ScalarOp::k_sqrt,  ScalarOp::k_recip, ScalarOp::k_abs,
    ScalarOp::k_neg,   ScalarOp::k_sin,   ScalarOp::k_cos,   ScalarOp::k_tan,   ScalarOp::k_sinh,
    ScalarOp::k_cosh,  ScalarOp::k_asin,  ScalarOp::k_acos,  ScalarOp::k_atan,  ScalarOp::k_asinh,
    ScalarOp::k_acosh, ScalarOp::k_atanh, ScalarOp::k_ceil,  ScalarOp::k_floor, ScalarOp::k_erf,
    ScalarOp::k_not,   ScalarOp::k_sign,  ScalarOp::k_round, ScalarOp::k_isinf, ScalarOp::k_isnan};

class UnaryLayer final : public LayerOf<nv::IUnaryLayer, nv::apiv::VUnaryLayer, nv::LayerType::kUNARY> {
 public:
  using LayerOf::LayerOf;

  void setOperation(nv::UnaryOperation op) noexcept override { setEnum("setOperation", op_, op); }
  nv::UnaryOperation getOperation() const noexcept override { return op_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.pointwise(mapEnum(kOperations, op_, "operation"), {context.input(0)})};
  }

 private:
  nv::UnaryOperation op_ = nv::UnaryOperation::kEXP;
};

}  // namespace

LayerInfo layerInfo_unary() { return describeLayer<UnaryLayer>(); }

}  // namespace tenon::api
