// IOneHotLayer: an axis of `depth` elements, the second value where the index stands and the first elsewhere.
#include "api/network/formula.h"

namespace tenon::api {
namespace {

class OneHotLayer final : public LayerOf<nv::IOneHotLayer, nv::apiv::VOneHotLayer, nv::LayerType::kONE_HOT> {
 public:
  using LayerOf::LayerOf;

  int32_t getAxis() const noexcept override { return axis_; }
  void setAxis(int32_t axis) noexcept override { set(axis_, axis); }
  bool carriesShapes() const override { return true; }
  bool isShapeInput(int index) const override { return index == 2; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Formula indices(context, context.input(0));
    const Formula values(context, context.input(1));
    const auto& depth = context.contents(2, "depth");
    context.check(depth.size() == 1, "the depth (input 2) has {} elements; expected 1", depth.size());
    context.check(!depth[0].isConstant() || depth[0].constant() >= 0, "the depth (input 2) is {}; expected 0 or more",
                  depth[0].text());
    context.check(indices.type() == DataType::kI32 || indices.type() == DataType::kI64,
                  "the indices are {}; expected i32 or i64", tenon::name(indices.type()));
    context.check(values.rank() == 1 && (!values.dim(0).isConstant() || values.dim(0).constant() == 2),
                  "the values have shape {}; expected [2]", text(values.shape()));
    const int rank = indices.rank() + 1;
    context.check(axis_ >= -rank && axis_ < rank, "axis {} is not in [{}, {})", axis_, -rank, rank);
    const int axis = axis_ < 0 ? axis_ + rank : axis_;
    Shape along(static_cast<size_t>(rank), Extent(1));
    along[static_cast<size_t>(axis)] = depth[0];
    const Formula places = iota(context, depth[0], indices.type()).reshape(std::move(along));
    const Formula off = values.slice(0, Extent(0), Extent(1)).reshape({});
    const Formula on = values.slice(0, Extent(1), Extent(1)).reshape({});
    return {where(equal(indices.unsqueeze(axis), places), on, off).id()};
  }

 private:
  int32_t axis_ = -1;
};

}  // namespace

LayerInfo layerInfo_one_hot() { return describeLayer<OneHotLayer>(); }

}  // namespace tenon::api
