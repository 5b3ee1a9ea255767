// IShapeLayer.
#include "ops/op/shape.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class ShapeLayer final : public LayerOf<nv::IShapeLayer, nv::apiv::VShapeLayer, nv::LayerType::kSHAPE> {
 public:
  using LayerOf::LayerOf;
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.add(ops::ShapeOf{}, {context.input(0)})};
  }
};

}  // namespace

LayerInfo layerInfo_shape() { return describeLayer<ShapeLayer>(); }

}  // namespace tenon::api
