// IScatterLayer.
#include "ops/op/scatter.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

constexpr std::array kModes{ops::ScatterMode::kElement, ops::ScatterMode::kNd};

class ScatterLayer final : public LayerOf<nv::IScatterLayer, nv::apiv::VScatterLayer, nv::LayerType::kSCATTER> {
 public:
  using LayerOf::LayerOf;

  void setMode(nv::ScatterMode mode) noexcept override { setEnum("setMode", mode_, mode); }
  nv::ScatterMode getMode() const noexcept override { return mode_; }
  void setAxis(int32_t axis) noexcept override { set(axis_, axis); }
  int32_t getAxis() const noexcept override { return axis_; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId data = context.input(0);
    ops::Scatter op;
    op.mode = mapEnum(kModes, mode_, "scatter mode");
    if (mode_ == nv::ScatterMode::kELEMENT) {
      context.check(axis_ >= 0 && axis_ < context.rank(data), "axis {} is out of range; the data has {} dimensions",
                    axis_, context.rank(data));
      op.axis = axis_;
    }
    return {context.add(op, {data, context.input(1), context.input(2)})};
  }

 private:
  nv::ScatterMode mode_ = nv::ScatterMode::kELEMENT;
  int32_t axis_ = 0;
};

}  // namespace

LayerInfo layerInfo_scatter() { return describeLayer<ScatterLayer>(); }

}  // namespace tenon::api
