// IUnsqueezeLayer.
#include "api/network/axes_common.h"

namespace tenon::api {
namespace {

class UnsqueezeLayer final
    : public AxesCommon<nv::IUnsqueezeLayer, nv::apiv::VUnsqueezeLayer, nv::LayerType::kUNSQUEEZE> {
 public:
  using AxesCommon::AxesCommon;

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    Shape shape = context.shape(context.input(0));
    const auto count = static_cast<int>(context.contents(1, "axes").size());
    const int rank = static_cast<int>(shape.size()) + count;
    context.check(rank <= kMaxRank, "the result would have {} dimensions; at most {} are possible", rank, kMaxRank);
    for (const int64_t axis : axes(context, rank)) shape.insert(shape.begin() + axis, Extent(1));
    return {reshaped(context, std::move(shape))};
  }
};

}  // namespace

LayerInfo layerInfo_unsqueeze() { return describeLayer<UnsqueezeLayer>(); }

}  // namespace tenon::api
