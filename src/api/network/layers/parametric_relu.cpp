// IParametricReLULayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class ParametricReLULayer final
    : public LayerOf<nv::IParametricReLULayer, nv::apiv::VParametricReLULayer, nv::LayerType::kPARAMETRIC_RELU> {
 public:
  using LayerOf::LayerOf;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId x = context.input(0);
    graph::ValueId slope = context.input(1);
    context.check(context.rank(x) == context.rank(slope),
                  "the input {} and the slope {} have different numbers of "
                  "dimensions",
                  text(context.shape(x)), text(context.shape(slope)));
    context.unify({&x, &slope});
    return {context.pointwise(ops::ScalarOp::k_leaky_relu, {x, slope})};
  }
};

}  // namespace

LayerInfo layerInfo_parametric_relu() { return describeLayer<ParametricReLULayer>(); }

}  // namespace tenon::api
