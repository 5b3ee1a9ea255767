// IScaleLayer: (x * scale + shift) ^ power with weights per tensor, channel or element.
#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

class ScaleLayer final : public LayerOf<nv::IScaleLayer, nv::apiv::VScaleLayer, nv::LayerType::kSCALE> {
 public:
  using LayerOf::LayerOf;

  void setMode(nv::ScaleMode mode) noexcept override { setEnum("setMode", mode_, mode); }
  nv::ScaleMode getMode() const noexcept override { return mode_; }
  void setShift(nv::Weights shift) noexcept override { set(shift_, shift); }
  nv::Weights getShift() const noexcept override { return shift_; }
  void setScale(nv::Weights scale) noexcept override { set(scale_, scale); }
  nv::Weights getScale() const noexcept override { return scale_; }
  void setPower(nv::Weights power) noexcept override { set(power_, power); }
  nv::Weights getPower() const noexcept override { return power_; }
  int32_t getChannelAxis() const noexcept override { return channelAxis_; }
  void setChannelAxis(int32_t channelAxis) noexcept override { set(channelAxis_, channelAxis); }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId value = context.input(0);
    const Dims dims = weightDims(context, context.shape(value));
    const auto apply = [&](ScalarOp op, const nv::Weights& weights, const char* role) {
      if (isEmpty(weights)) return;
      value = context.pointwise(op, {value, context.weights(weights, dims, role, context.type(value).dtype)});
    };
    apply(ScalarOp::k_mul, scale_, "scale");
    apply(ScalarOp::k_add, shift_, "shift");
    apply(ScalarOp::k_pow, power_, "power");
    if (value == context.input(0)) value = context.add(ops::Pointwise{}, {value});
    return {value};
  }

 private:
  // Extents of the weights such that they broadcast against the input.
  Dims weightDims(const LowerContext& context, const Shape& x) const {
    const int rank = static_cast<int>(x.size());
    Dims dims;
    if (mode_ == nv::ScaleMode::kUNIFORM) return dims;
    context.check(channelAxis_ >= 0 && channelAxis_ < rank,
                  "the channel axis {} is out of range; the input has {} dimensions", channelAxis_, rank);
    for (int axis = channelAxis_; axis < rank; ++axis) {
      const Extent& extent = x[static_cast<size_t>(axis)];
      if (mode_ == nv::ScaleMode::kCHANNEL && axis > channelAxis_) {
        dims.push(1);
        continue;
      }
      context.check(extent.isConstant(), "dimension {} of the input ({}) must be fixed", axis, extent.text());
      dims.push(extent.constant());
    }
    return dims;
  }

  nv::ScaleMode mode_ = nv::ScaleMode::kUNIFORM;
  nv::Weights shift_{nv::DataType::kFLOAT, nullptr, 0};
  nv::Weights scale_{nv::DataType::kFLOAT, nullptr, 0};
  nv::Weights power_{nv::DataType::kFLOAT, nullptr, 0};
  int32_t channelAxis_ = 1;
};

}  // namespace

LayerInfo layerInfo_scale() { return describeLayer<ScaleLayer>(); }

}  // namespace tenon::api
