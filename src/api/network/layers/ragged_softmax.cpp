// IRaggedSoftMaxLayer: the softmax of the first elements of each row, as many as its bound says; the rest is 0.
#include <limits>

#include "api/network/formula.h"

namespace tenon::api {
namespace {

class RaggedSoftMaxLayer final
    : public LayerOf<nv::IRaggedSoftMaxLayer, nv::apiv::VRaggedSoftMaxLayer, nv::LayerType::kRAGGED_SOFTMAX> {
 public:
  using LayerOf::LayerOf;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Formula x(context, context.input(0));
    const Formula bounds(context, context.input(1));
    context.check(isFloating(x.type()), "the input is {}; expected a floating type", tenon::name(x.type()));
    context.check(x.rank() >= 2, "the input {} has too few dimensions; expected 2 or more", text(x.shape()));
    context.check(bounds.type() == DataType::kI32 || bounds.type() == DataType::kI64,
                  "the bounds are {}; expected i32 or i64", tenon::name(bounds.type()));
    context.check(bounds.rank() == x.rank() && bounds.dim(-1).isConstant(1),
                  "the bounds have shape {}; expected that of the input {} with a last extent of 1",
                  text(bounds.shape()), text(x.shape()));
    const Formula inside = iota(context, x.dim(-1), bounds.type()) < bounds;
    const Formula masked = where(inside, x, x.number(-std::numeric_limits<double>::infinity()));
    return {where(inside, masked.softmax(x.rank() - 1), x.number(0)).id()};
  }
};

}  // namespace

LayerInfo layerInfo_ragged_softmax() { return describeLayer<RaggedSoftMaxLayer>(); }

}  // namespace tenon::api
