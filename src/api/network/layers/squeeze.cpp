// ISqueezeLayer.
#include "api/network/axes_common.h"

namespace tenon::api {
namespace {

class SqueezeLayer final : public AxesCommon<nv::ISqueezeLayer, nv::apiv::VSqueezeLayer, nv::LayerType::kSQUEEZE> {
 public:
  using AxesCommon::AxesCommon;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Shape& from = context.shape(context.input(0));
    Shape shape = from;
    const auto removed = axes(context, static_cast<int>(from.size()));
    for (auto axis = removed.rbegin(); axis != removed.rend(); ++axis) {
      const Extent& extent = from[static_cast<size_t>(*axis)];
      context.check(!extent.isConstant() || extent.constant() == 1,
                    "axis {} of {} has extent {}; only 1 can be squeezed", *axis, text(from), extent.text());
      shape.erase(shape.begin() + *axis);
    }
    return {reshaped(context, std::move(shape))};
  }
};

}  // namespace

LayerInfo layerInfo_squeeze() { return describeLayer<SqueezeLayer>(); }

}  // namespace tenon::api
