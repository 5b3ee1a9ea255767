// IPoolingLayer.
#include "ops/op/pooling.h"

#include "api/network/lower_context.h"
#include "api/network/padding.h"

namespace tenon::api {
namespace {

constexpr std::array kTypes{ops::PoolingType::kMax, ops::PoolingType::kAverage, ops::PoolingType::kMaxAverageBlend};

class PoolingLayer final : public LayerOf<nv::IPoolingLayer, nv::apiv::VPoolingLayer, nv::LayerType::kPOOLING> {
 public:
  using LayerOf::LayerOf;

  void setPoolingType(nv::PoolingType type) noexcept override { setEnum("setPoolingType", type_, type); }
  nv::PoolingType getPoolingType() const noexcept override { return type_; }
  void setBlendFactor(float blendFactor) noexcept override { set(blend_, blendFactor); }
  float getBlendFactor() const noexcept override { return blend_; }
  void setAverageCountExcludesPadding(bool exclusive) noexcept override { set(exclusive_, exclusive); }
  bool getAverageCountExcludesPadding() const noexcept override { return exclusive_; }
  void setPrePadding(const nv::Dims& padding) noexcept override { set(prePadding_, padding); }
  nv::Dims getPrePadding() const noexcept override { return orFilled(prePadding_, 0); }
  void setPostPadding(const nv::Dims& padding) noexcept override { set(postPadding_, padding); }
  nv::Dims getPostPadding() const noexcept override { return orFilled(postPadding_, 0); }
  void setPaddingMode(nv::PaddingMode mode) noexcept override { setEnum("setPaddingMode", mode_, mode); }
  nv::PaddingMode getPaddingMode() const noexcept override { return mode_; }
  void setWindowSizeNd(const nv::Dims& windowSize) noexcept override { set(window_, windowSize); }
  nv::Dims getWindowSizeNd() const noexcept override { return window_; }
  void setStrideNd(const nv::Dims& stride) noexcept override { set(stride_, stride); }
  nv::Dims getStrideNd() const noexcept override { return orFilled(stride_, 1); }
  void setPaddingNd(const nv::Dims& padding) noexcept override {
    prePadding_ = padding;
    set(postPadding_, padding);
  }
  nv::Dims getPaddingNd() const noexcept override { return getPrePadding(); }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const int rank = window_.nbDims;
    context.check(
        rank >= 1 && rank <= 3 && context.rank(x) == rank + 2,
        "the window {} does not fit an input with {} dimensions; expected [N,C] and one spatial dimension per window "
        "entry",
        text(window_), context.rank(x));
    const auto dims = [&](const nv::Dims& value, int64_t lowest, int64_t fill, const char* what) {
      return windowDims(value, rank, lowest, fill, fmt::format("{}: {}", name(), what));
    };
    const Window window{dims(window_, 1, 1, "window"),
                        Dims::of(std::vector<int64_t>(static_cast<size_t>(rank), 1)),
                        dims(stride_, 1, 1, "stride"),
                        dims(prePadding_, 0, 0, "pre-padding"),
                        dims(postPadding_, 0, 0, "post-padding"),
                        mode_};
    const Shape& shape = context.shape(x);
    Padding padding = samePadding(window, Shape(shape.begin() + 2, shape.end()));
    ops::Pooling op;
    op.type = mapEnum(kTypes, type_, "pooling type");
    op.window.assign(window.kernel.begin(), window.kernel.end());
    op.strides.assign(window.stride.begin(), window.stride.end());
    if (!allZero(padding.pre)) op.prePadding = std::move(padding.pre);
    if (!allZero(padding.post)) op.postPadding = std::move(padding.post);
    if (op.type == ops::PoolingType::kMaxAverageBlend) op.blend = blend_;
    if (op.type != ops::PoolingType::kMax) op.exclusive = exclusive_;
    op.ceilMode = mode_ == nv::PaddingMode::kEXPLICIT_ROUND_UP;
    return {context.add(op, {x})};
  }

 private:
  nv::Dims orFilled(const nv::Dims& dims, int64_t value) const {
    return dims.nbDims > 0 ? dims : filledDims(window_.nbDims, value);
  }

  nv::PoolingType type_ = nv::PoolingType::kMAX;
  float blend_ = 0;
  bool exclusive_ = true;
  nv::Dims window_{0, {}};
  nv::Dims stride_{0, {}};
  nv::Dims prePadding_{0, {}};
  nv::Dims postPadding_{0, {}};
  nv::PaddingMode mode_ = nv::PaddingMode::kEXPLICIT_ROUND_DOWN;
};

}  // namespace

LayerInfo layerInfo_pooling() { return describeLayer<PoolingLayer>(); }

}  // namespace tenon::api
