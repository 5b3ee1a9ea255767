// IResizeLayer.
#include "ops/op/resize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "api/network/lower_context.h"
#include "ops/op/bitcast.h"
#include "ops/op/shape.h"

namespace tenon::api {
namespace {

// In the orders of the public enumerations.
constexpr std::array kModes{ops::ResizeMode::kNearest, ops::ResizeMode::kLinear, ops::ResizeMode::kCubic};
constexpr std::array kCoordinates{ops::CoordinateTransform::kAlignCorners, ops::CoordinateTransform::kAsymmetric,
                                  ops::CoordinateTransform::kHalfPixel};
constexpr std::array kSelectors{ops::SelectorForSinglePixel::kFormula, ops::SelectorForSinglePixel::kUpper};
constexpr std::array kRoundings{ops::NearestRounding::kHalfUp, ops::NearestRounding::kHalfDown,
                                ops::NearestRounding::kFloor, ops::NearestRounding::kCeil};

class ResizeLayer final : public LayerOf<nv::IResizeLayer, nv::apiv::VResizeLayer, nv::LayerType::kRESIZE> {
 public:
  using LayerOf::LayerOf;

  void setOutputDimensions(const nv::Dims& dimensions) noexcept override { set(output_, dimensions); }
  nv::Dims getOutputDimensions() const noexcept override { return output_; }
  void setScales(const float* scales, int32_t nbScales) noexcept override {
    guarded(reporter(), "IResizeLayer::setScales", [&] {
      checkUser(nbScales >= 0 && (scales != nullptr || nbScales == 0), "layer '{}': {} scales at a null address",
                name(), nbScales);
      scales_.assign(scales, scales + nbScales);
      changed();
    });
  }
  int32_t getScales(int32_t size, float* scales) const noexcept override {
    const auto count = static_cast<int32_t>(scales_.size());
    if (scales != nullptr && size >= count) std::copy(scales_.begin(), scales_.end(), scales);
    return count;
  }
  void setResizeMode(nv::InterpolationMode mode) noexcept override { setEnum("setResizeMode", mode_, mode); }
  nv::InterpolationMode getResizeMode() const noexcept override { return mode_; }
  void setCoordinateTransformation(nv::ResizeCoordinateTransformation transformation) noexcept override {
    setEnum("setCoordinateTransformation", coordinates_, transformation);
  }
  nv::ResizeCoordinateTransformation getCoordinateTransformation() const noexcept override { return coordinates_; }
  void setSelectorForSinglePixel(nv::ResizeSelector selector) noexcept override {
    setEnum("setSelectorForSinglePixel", selector_, selector);
  }
  nv::ResizeSelector getSelectorForSinglePixel() const noexcept override { return selector_; }
  void setNearestRounding(nv::ResizeRoundMode value) noexcept override {
    setEnum("setNearestRounding", rounding_, value);
  }
  nv::ResizeRoundMode getNearestRounding() const noexcept override { return rounding_; }
  void setCubicCoeff(float value) noexcept override { set(cubicCoeff_, value); }
  float getCubicCoeff() const noexcept override { return cubicCoeff_; }
  void setExcludeOutside(bool value) noexcept override { set(excludeOutside_, value); }
  bool getExcludeOutside() const noexcept override { return excludeOutside_; }
  int maxInputs() const override { return 2; }
  bool isShapeInput(int index) const override { return index == 1; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const Shape& in = context.shape(x);
    ops::Resize op;
    op.mode = mapEnum(kModes, mode_, "resize mode");
    op.coordinates = mapEnum(kCoordinates, coordinates_, "coordinate transformation");
    op.selector = mapEnum(kSelectors, selector_, "selector");
    if (op.mode == ops::ResizeMode::kNearest) op.rounding = mapEnum(kRoundings, rounding_, "rounding");
    if (op.mode == ops::ResizeMode::kCubic) op.cubicCoeff = cubicCoeff_;
    op.excludeOutside = excludeOutside_;
    if (context.has(1) && isFloating(context.type(context.input(1)).dtype)) {
      const auto scales = context.cast(context.input(1), DataType::kF32);
      context.check(context.rank(scales) == 1 && context.shape(scales)[0].isConstant(static_cast<int64_t>(in.size())),
                    "scales of shape {}, expected one for each dimension of an input {}", text(context.shape(scales)),
                    text(in));
      op.shape = computedShape(context, x, scales);
      const auto bits = context.add(ops::BitCast{DataType::kI32}, {scales});
      op.scaleBits = context.elements(context.cast(bits, DataType::kI64));
      const auto isKnown = [](const Extent& extent) { return extent.isConstant(); };
      if (std::all_of(op.scaleBits.begin(), op.scaleBits.end(), isKnown)) op = op.bound(nullptr);
    } else if (context.has(1)) {
      op.shape = context.contents(1, "output dimensions");
    } else if (!scales_.empty()) {
      context.check(scales_.size() == in.size(), "{} scales for an input with {} dimensions", scales_.size(),
                    in.size());
      op.shape = scaled(context, x);
      op.scales.assign(scales_.begin(), scales_.end());
    } else {
      for (int i = 0; i < output_.nbDims && i < nv::Dims::MAX_DIMS; ++i) op.shape.push_back(Extent(output_.d[i]));
    }
    context.check(op.shape.size() == in.size(), "the output dimensions {} do not match an input {}", text(op.shape),
                  text(in));
    return {context.add(op, {x})};
  }

 private:
  // floor(extent * scale), in floating point. An expression where the scale is a fraction with a small denominator.
  Shape scaled(LowerContext& context, graph::ValueId x) const {
    Shape result;
    std::optional<Shape> computed;
    for (size_t i = 0; i < scales_.size(); ++i) {
      context.check(scales_[i] > 0 && std::isfinite(scales_[i]), "scale {} is not above zero", scales_[i]);
      auto extent = scaled(context.shape(x)[i], scales_[i]);
      if (!extent && !computed) computed = computedShape(context, x, givenScales(context));
      result.push_back(extent ? *extent : (*computed)[i]);
    }
    return result;
  }

  static std::optional<Extent> scaled(const Extent& extent, float scale) {
    if (extent.isConstant()) {
      return Extent(static_cast<int64_t>(std::floor(static_cast<float>(extent.constant()) * scale)));
    }
    constexpr int64_t kMaxDenominator = 1024;
    for (int64_t denominator = 1; denominator <= kMaxDenominator; ++denominator) {
      const double numerator = std::round(static_cast<double>(scale) * static_cast<double>(denominator));
      if (static_cast<float>(numerator / static_cast<double>(denominator)) == scale) {
        return floorDiv(extent * Extent(static_cast<int64_t>(numerator)), denominator);
      }
    }
    return std::nullopt;
  }

  graph::ValueId givenScales(LowerContext& context) const {
    HostTensor scales(DataType::kF32, {static_cast<int64_t>(scales_.size())});
    std::copy(scales_.begin(), scales_.end(), scales.view().as<float>());
    return context.constant(graph::Constant::own(std::move(scales)));
  }

  // What no expression says is computed when shapes are bound.
  static Shape computedShape(LowerContext& context, graph::ValueId x, graph::ValueId scales) {
    const auto extents = context.cast(context.add(ops::ShapeOf{}, {x}), DataType::kF32);
    const auto product = context.pointwise(ops::ScalarOp::k_mul, {extents, scales});
    return context.elements(context.cast(context.pointwise(ops::ScalarOp::k_floor, {product}), DataType::kI64));
  }

  nv::Dims output_{0, {}};
  std::vector<float> scales_;
  nv::InterpolationMode mode_ = nv::InterpolationMode::kNEAREST;
  nv::ResizeCoordinateTransformation coordinates_ = nv::ResizeCoordinateTransformation::kASYMMETRIC;
  nv::ResizeSelector selector_ = nv::ResizeSelector::kFORMULA;
  nv::ResizeRoundMode rounding_ = nv::ResizeRoundMode::kFLOOR;
  float cubicCoeff_ = -0.75F;
  bool excludeOutside_ = false;
};

}  // namespace

LayerInfo layerInfo_resize() { return describeLayer<ResizeLayer>(); }

}  // namespace tenon::api
