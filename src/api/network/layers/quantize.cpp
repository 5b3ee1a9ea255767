// IQuantizeLayer.
#include "ops/op/quantize.h"

#include "api/network/quantize_common.h"

namespace tenon::api {
namespace {

class QuantizeLayer final
    : public QuantizeCommon<nv::IQuantizeLayer, nv::apiv::VQuantizeLayer, nv::LayerType::kQUANTIZE> {
 public:
  QuantizeLayer(Network& network, std::string name) : QuantizeCommon(network, std::move(name)) {
    toType_ = nv::DataType::kINT8;
  }
  std::vector<graph::ValueId> lower(LowerContext& context) const override { return emit<ops::Quantize>(context); }
};

}  // namespace

LayerInfo layerInfo_quantize() { return describeLayer<QuantizeLayer>(); }

}  // namespace tenon::api
