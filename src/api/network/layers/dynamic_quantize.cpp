// IDynamicQuantizeLayer: input 0 is the data, input 1 the scale of scales of kFP8; outputs are data and scales.
#include "api/network/dynamic_quantization.h"

namespace tenon::api {
namespace {

class DynamicQuantizeLayer final
    : public LayerOf<nv::IDynamicQuantizeLayer, nv::apiv::VDynamicQuantizeLayer, nv::LayerType::kDYNAMIC_QUANTIZE> {
 public:
  using LayerOf::LayerOf;

  int32_t getAxis() const noexcept override { return axis_; }
  void setAxis(int32_t axis) noexcept override { set(axis_, axis); }
  int32_t getBlockSize() const noexcept override { return blockSize_; }
  void setBlockSize(int32_t size) noexcept override { set(blockSize_, size); }
  nv::DataType getScaleType() const noexcept override { return scaleType_; }
  void setScaleType(nv::DataType type) noexcept override { setEnum("setScaleType", scaleType_, type); }
  nv::DataType getToType() const noexcept override { return toType_; }
  void setToType(nv::DataType toType) noexcept override { setEnum("setToType", toType_, toType); }
  nv::Dims getBlockShape() const noexcept override { return blockShape_; }
  void setBlockShape(const nv::Dims& blockShape) noexcept override { set(blockShape_, blockShape); }
  int outputCount() const override { return 2; }
  int maxInputs() const override { return 2; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Formula x(context, context.input(0));
    std::optional<Formula> second;
    if (context.has(1)) second = Formula(context, context.input(1));
    const auto made = quantizeDynamically(x, {blocks(context, x), fromApi(toType_), fromApi(scaleType_)}, second);
    return {made.data.id(), made.scales.id()};
  }

 private:
  // A block shape, where it was set; else so many elements of one axis.
  std::vector<int64_t> blocks(const LowerContext& context, const Formula& x) const {
    if (blockShape_.nbDims > 0) {
      context.check(blockShape_.nbDims <= nv::Dims::MAX_DIMS, "the block shape has {} dimensions; expected {} at most",
                    blockShape_.nbDims, nv::Dims::MAX_DIMS);
      return {blockShape_.d, blockShape_.d + blockShape_.nbDims};
    }
    context.check(axis_ >= -x.rank() && axis_ < x.rank(), "axis {} is outside [{}, {}) of the input {}", axis_,
                  -x.rank(), x.rank(), text(x.shape()));
    context.check(blockSize_ > 0, "the block size is {}; expected 1 or more", blockSize_);
    std::vector<int64_t> result(static_cast<size_t>(x.rank()), 1);
    result[static_cast<size_t>(axis_ < 0 ? axis_ + x.rank() : axis_)] = blockSize_;
    return result;
  }

  int32_t axis_ = -1;
  int32_t blockSize_ = 0;
  nv::DataType scaleType_ = nv::DataType::kFP8;
  nv::DataType toType_ = nv::DataType::kFP4;
  nv::Dims blockShape_{-1, {}};
};

}  // namespace

LayerInfo layerInfo_dynamic_quantize() { return describeLayer<DynamicQuantizeLayer>(); }

}  // namespace tenon::api
