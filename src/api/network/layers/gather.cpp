// IGatherLayer.
#include "ops/op/gather.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

constexpr std::array kModes{ops::GatherMode::kDefault, ops::GatherMode::kElement, ops::GatherMode::kNd};

class GatherLayer final : public LayerOf<nv::IGatherLayer, nv::apiv::VGatherLayer, nv::LayerType::kGATHER> {
 public:
  using LayerOf::LayerOf;

  void setGatherAxis(int32_t axis) noexcept override { set(axis_, axis); }
  int32_t getGatherAxis() const noexcept override { return axis_; }
  void setNbElementWiseDims(int32_t k) noexcept override { set(elementWiseDims_, k); }
  int32_t getNbElementWiseDims() const noexcept override { return elementWiseDims_; }
  void setMode(nv::GatherMode mode) noexcept override { setEnum("setMode", mode_, mode); }
  nv::GatherMode getMode() const noexcept override { return mode_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId data = context.input(0);
    ops::Gather op;
    op.mode = mapEnum(kModes, mode_, "gather mode");
    op.batchDims = elementWiseDims_;
    if (mode_ != nv::GatherMode::kND) {
      context.check(axis_ >= 0 && axis_ < context.rank(data), "axis {} is out of range; the data has {} dimensions",
                    axis_, context.rank(data));
      op.axis = axis_;
    }
    return {context.add(op, {data, context.input(1)})};
  }

 private:
  int32_t axis_ = 0;
  int32_t elementWiseDims_ = 0;
  nv::GatherMode mode_ = nv::GatherMode::kDEFAULT;
};

}  // namespace

LayerInfo layerInfo_gather() { return describeLayer<GatherLayer>(); }

}  // namespace tenon::api
