// ISoftMaxLayer.
#include "ops/op/softmax.h"

#include <algorithm>

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class SoftMaxLayer final : public LayerOf<nv::ISoftMaxLayer, nv::apiv::VSoftMaxLayer, nv::LayerType::kSOFTMAX> {
 public:
  using LayerOf::LayerOf;

  void setAxes(uint32_t axes) noexcept override { set(axes_, axes); }
  uint32_t getAxes() const noexcept override {
    if (axes_ != 0) return axes_;
    // Unset: the third axis from the end, or the first.
    return 1U << std::max(inputs().empty() ? 0 : inputs()[0]->getDimensions().nbDims - 3, 0);
  }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const int rank = context.rank(x);
    const uint32_t mask = axes_ != 0 ? axes_ : 1U << std::max(rank - 3, 0);
    return {context.add(ops::Softmax{context.singleAxis(mask, rank, "axes mask")}, {x})};
  }

 private:
  uint32_t axes_ = 0;
};

}  // namespace

LayerInfo layerInfo_softmax() { return describeLayer<SoftMaxLayer>(); }

}  // namespace tenon::api
