// IConstantLayer.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class ConstantLayer final : public LayerOf<nv::IConstantLayer, nv::apiv::VConstantLayer, nv::LayerType::kCONSTANT> {
 public:
  using LayerOf::LayerOf;

  void setWeights(nv::Weights weights) noexcept override { set(weights_, weights); }
  nv::Weights getWeights() const noexcept override { return weights_; }
  void setDimensions(const nv::Dims& dimensions) noexcept override { set(dims_, dimensions); }
  nv::Dims getDimensions() const noexcept override { return dims_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Dims dims = fromApi(dims_, name() + ": dimensions", 0);
    return {context.weights(weights_, dims, "constant")};
  }

 private:
  nv::Weights weights_{nv::DataType::kFLOAT, nullptr, 0};
  nv::Dims dims_{0, {}};
};

}  // namespace

LayerInfo layerInfo_constant() { return describeLayer<ConstantLayer>(); }

}  // namespace tenon::api
