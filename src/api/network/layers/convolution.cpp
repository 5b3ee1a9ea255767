// IConvolutionLayer.
#include "ops/op/convolution.h"
#include "api/network/convolution_common.h"

namespace tenon::api {
namespace {

class ConvolutionLayer final
    : public ConvolutionCommon<nv::IConvolutionLayer, nv::apiv::VConvolutionLayer, nv::LayerType::kCONVOLUTION> {
 public:
  using ConvolutionCommon::ConvolutionCommon;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Window sliding = window(context);
    const Shape& x = context.shape(context.input(0));
    const Padding padding = slidingPadding(sliding, Shape(x.begin() + 2, x.end()));
    const int64_t inputs = channels(context);  // which checks the groups
    auto values = operands(context, maps(), inputs / groups());
    const auto op = describe<ops::Convolution>(sliding, padding, values.size() > 2);
    return {context.add(op, std::move(values))};
  }
};

}  // namespace

LayerInfo layerInfo_convolution() { return describeLayer<ConvolutionLayer>(); }

}  // namespace tenon::api
