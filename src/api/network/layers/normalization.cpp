// INormalizationLayer.
#include "ops/op/normalization.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class NormalizationLayer final
    : public LayerOf<nv::INormalizationLayer, nv::apiv::VNormalizationLayer, nv::LayerType::kNORMALIZATION> {
 public:
  using LayerOf::LayerOf;

  void setEpsilon(float eps) noexcept override { set(epsilon_, eps); }
  float getEpsilon() const noexcept override { return epsilon_; }
  void setAxes(uint32_t axesMask) noexcept override { set(axes_, axesMask); }
  uint32_t getAxes() const noexcept override { return axes_; }
  void setNbGroups(int64_t nbGroups) noexcept override { set(groups_, nbGroups); }
  int64_t getNbGroups() const noexcept override { return groups_; }
  void setComputePrecision(nv::DataType type) noexcept override {
    guarded(reporter(), "INormalizationLayer::setComputePrecision", [&] {
      const auto wanted = checkedEnum(type, fmt::format("layer '{}': value", name()));
      if (wanted != precision_)
        noEffect(reporter(), "INormalizationLayer::setComputePrecision", "mean and variance are computed in FP32");
      set(precision_, wanted);
    });
  }
  nv::DataType getComputePrecision() const noexcept override { return precision_; }
  bool isV2() const noexcept override { return variant() == kVariantV2; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId x = context.input(0);
    graph::ValueId scale = context.input(1);
    graph::ValueId bias = context.input(2);
    context.unify({&x, &scale, &bias});
    ops::Normalization op;
    op.axes = context.axes(axes_, context.rank(x), "axes mask");
    op.epsilon = epsilon_;
    op.groups = groups_;
    return {context.add(op, {x, scale, bias})};
  }

 private:
  float epsilon_ = 1e-5F;
  uint32_t axes_ = 0;
  int64_t groups_ = 1;
  nv::DataType precision_ = nv::DataType::kFLOAT;
};

}  // namespace

LayerInfo layerInfo_normalization() { return describeLayer<NormalizationLayer>(); }

}  // namespace tenon::api
