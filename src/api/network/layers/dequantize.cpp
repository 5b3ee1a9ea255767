// IDequantizeLayer.
#include "ops/op/dequantize.h"

#include "api/network/quantize_common.h"

namespace tenon::api {
namespace {

class DequantizeLayer final
    : public QuantizeCommon<nv::IDequantizeLayer, nv::apiv::VDequantizeLayer, nv::LayerType::kDEQUANTIZE> {
 public:
  using QuantizeCommon::QuantizeCommon;
  std::vector<graph::ValueId> lower(LowerContext& context) const override { return emit<ops::Dequantize>(context); }
};

}  // namespace

LayerInfo layerInfo_dequantize() { return describeLayer<DequantizeLayer>(); }

}  // namespace tenon::api
