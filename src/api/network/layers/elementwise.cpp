// IElementWiseLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

// In the order of nvinfer1::ElementWiseOperation.
constexpr std::array kOperations{ScalarOp::k_add,     ScalarOp::k_mul, ScalarOp::k_max, ScalarOp::k_min,
                                 ScalarOp::k_sub,     ScalarOp::k_div, ScalarOp::k_pow, ScalarOp::k_floor_div,
                                 ScalarOp::k_and,     ScalarOp::k_or,  ScalarOp::k_xor, ScalarOp::k_equal,
                                 ScalarOp::k_greater, ScalarOp::k_less};

class ElementWiseLayer final
    : public LayerOf<nv::IElementWiseLayer, nv::apiv::VElementWiseLayer, nv::LayerType::kELEMENTWISE> {
 public:
  using LayerOf::LayerOf;

  void setOperation(nv::ElementWiseOperation op) noexcept override { setEnum("setOperation", op_, op); }
  nv::ElementWiseOperation getOperation() const noexcept override { return op_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId a = context.input(0);
    graph::ValueId b = context.input(1);
    context.check(context.rank(a) == context.rank(b), "the inputs {} and {} have different numbers of dimensions",
                  text(context.shape(a)), text(context.shape(b)));
    context.unify({&a, &b});
    return {context.pointwise(mapEnum(kOperations, op_, "operation"), {a, b})};
  }

 private:
  nv::ElementWiseOperation op_ = nv::ElementWiseOperation::kSUM;
};

}  // namespace

LayerInfo layerInfo_elementwise() { return describeLayer<ElementWiseLayer>(); }

}  // namespace tenon::api
