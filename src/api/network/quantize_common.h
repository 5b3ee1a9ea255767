// What quantize and dequantize layers share: input, scale, zero point, axis, block shape, output type.
#pragma once

#include "api/network/lower_context.h"

namespace tenon::api {

template <typename I, typename V, nv::LayerType kLayerType>
class QuantizeCommon : public LayerOf<I, V, kLayerType> {
 public:
  using LayerOf<I, V, kLayerType>::LayerOf;

  int32_t getAxis() const noexcept final { return axis_; }
  void setAxis(int32_t axis) noexcept final { this->set(axis_, axis); }
  nv::DataType getToType() const noexcept final { return toType_; }
  void setToType(nv::DataType toType) noexcept final { this->setEnum("setToType", toType_, toType); }
  nv::Dims getBlockShape() const noexcept final { return blockShape_; }
  bool setBlockShape(const nv::Dims& blockShape) noexcept final {
    this->set(blockShape_, blockShape);
    return true;
  }
  int maxInputs() const final { return 3; }

 protected:
  // Emits an operator that has the fields axis and type.
  template <typename Op>
  std::vector<graph::ValueId> emit(LowerContext& context) const {
    Op op;
    op.axis = axis_;
    op.type = fromApi(toType_);
    std::vector<graph::ValueId> inputs{context.input(0), context.input(1)};
    if (context.has(2)) inputs.push_back(context.input(2));
    checkBlocks(context);
    return {context.add(op, std::move(inputs))};
  }
  nv::DataType toType_ = nv::DataType::kFLOAT;

 private:
  // A block shape repeats what the extents of the scale say.
  void checkBlocks(const LowerContext& context) const {
    if (blockShape_.nbDims <= 0) return;
    const Shape& x = context.shape(context.input(0));
    const Shape& scale = context.shape(context.input(1));
    context.check(static_cast<size_t>(blockShape_.nbDims) == x.size() && scale.size() == x.size(),
                  "block shape {}, input {} and scale {} have different numbers of dimensions", text(blockShape_),
                  text(x), text(scale));
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t block = blockShape_.d[i];
      if (block == -1 || !x[i].isConstant() || !scale[i].isConstant()) continue;
      context.check(block > 0 && scale[i].constant() * block == x[i].constant(),
                    "the block shape {} does not divide input {} into blocks as the scale {} has", text(blockShape_),
                    text(x), text(scale));
    }
  }

  int32_t axis_ = -1;
  nv::Dims blockShape_{-1, {}};
};

}  // namespace tenon::api
