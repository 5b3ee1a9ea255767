// IIdentityLayer. With an output type set, in a weakly typed network, it converts.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class IdentityLayer final : public LayerOf<nv::IIdentityLayer, nv::apiv::VIdentityLayer, nv::LayerType::kIDENTITY> {
 public:
  using LayerOf::LayerOf;
  bool carriesShapes() const override { return true; }
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.add(ops::Pointwise{}, {context.input(0)})};
  }
};

}  // namespace

LayerInfo layerInfo_identity() { return describeLayer<IdentityLayer>(); }

}  // namespace tenon::api
