// IPaddingLayer: zeros around, or a cut of, the two innermost axes.
#include "api/network/padding.h"

#include "api/network/lower_context.h"
#include "ops/op/slice.h"

namespace tenon::api {
namespace {

class PaddingLayer final : public LayerOf<nv::IPaddingLayer, nv::apiv::VPaddingLayer, nv::LayerType::kPADDING> {
 public:
  using LayerOf::LayerOf;

  void setPrePaddingNd(const nv::Dims& padding) noexcept override { set(pre_, padding); }
  nv::Dims getPrePaddingNd() const noexcept override { return pre_; }
  void setPostPaddingNd(const nv::Dims& padding) noexcept override { set(post_, padding); }
  nv::Dims getPostPaddingNd() const noexcept override { return post_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    Shape size = context.shape(x);
    context.check(pre_.nbDims == 2 && post_.nbDims == 2, "the pre-padding {} and post-padding {} must have 2 entries",
                  text(pre_), text(post_));
    context.check(size.size() >= 2, "the input has {} dimensions; expected at least 2", size.size());
    ops::Slice op;
    op.start.assign(size.size(), Extent(0));
    for (size_t i = 0; i < 2; ++i) {
      const size_t axis = size.size() - 2 + i;
      op.start[axis] = Extent(-pre_.d[i]);
      size[axis] = size[axis] + Extent(pre_.d[i] + post_.d[i]);
    }
    op.size = std::move(size);
    op.mode = ops::SliceMode::kFill;
    return {context.add(op, {x})};
  }

 private:
  nv::Dims pre_{2, {}};
  nv::Dims post_{2, {}};
};

}  // namespace

LayerInfo layerInfo_padding() { return describeLayer<PaddingLayer>(); }

}  // namespace tenon::api
