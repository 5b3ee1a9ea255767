// ISelectLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class SelectLayer final : public LayerOf<nv::ISelectLayer, nv::apiv::VSelectLayer, nv::LayerType::kSELECT> {
 public:
  using LayerOf::LayerOf;
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId condition = context.input(0);
    graph::ValueId a = context.input(1);
    graph::ValueId b = context.input(2);
    context.check(context.type(condition).dtype == DataType::kBool, "the condition is {}; expected bool",
                  tenon::name(context.type(condition).dtype));
    context.check(context.rank(condition) == context.rank(a) && context.rank(a) == context.rank(b),
                  "the inputs {}, {} and {} have different numbers of dimensions", text(context.shape(condition)),
                  text(context.shape(a)), text(context.shape(b)));
    context.unify({&a, &b});
    return {context.pointwise(ops::ScalarOp::k_select, {condition, a, b})};
  }
};

}  // namespace

LayerInfo layerInfo_select() { return describeLayer<SelectLayer>(); }

}  // namespace tenon::api
