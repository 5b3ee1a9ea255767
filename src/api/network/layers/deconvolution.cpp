// IDeconvolutionLayer.
#include "ops/op/deconvolution.h"
#include "api/network/convolution_common.h"

namespace tenon::api {
namespace {

class DeconvolutionLayer final
    : public ConvolutionCommon<nv::IDeconvolutionLayer, nv::apiv::VDeconvolutionLayer, nv::LayerType::kDECONVOLUTION> {
 public:
  using ConvolutionCommon::ConvolutionCommon;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Window sliding = window(context);
    const int64_t inputs = channels(context);  // which checks the groups
    auto values = operands(context, inputs, maps() / groups());
    const auto op = describe<ops::Deconvolution>(sliding, deconvolutionPadding(sliding), values.size() > 2);
    return {context.add(op, std::move(values))};
  }
};

}  // namespace

LayerInfo layerInfo_deconvolution() { return describeLayer<DeconvolutionLayer>(); }

}  // namespace tenon::api
