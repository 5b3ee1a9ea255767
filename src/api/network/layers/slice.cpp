// ISliceLayer.
#include "ops/op/slice.h"

#include <algorithm>

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

// In the order of nvinfer1::SampleMode.
constexpr std::array kModes{ops::SliceMode::kStrict, ops::SliceMode::kWrap, ops::SliceMode::kClamp,
                            ops::SliceMode::kFill, ops::SliceMode::kReflect};

class SliceLayer final : public LayerOf<nv::ISliceLayer, nv::apiv::VSliceLayer, nv::LayerType::kSLICE> {
 public:
  using LayerOf::LayerOf;

  void setStart(const nv::Dims& start) noexcept override { set(start_, start); }
  nv::Dims getStart() const noexcept override { return start_; }
  void setSize(const nv::Dims& size) noexcept override { set(size_, size); }
  nv::Dims getSize() const noexcept override { return size_; }
  void setStride(const nv::Dims& stride) noexcept override { set(stride_, stride); }
  nv::Dims getStride() const noexcept override { return stride_; }
  void setMode(nv::SampleMode mode) noexcept override { setEnum("setMode", mode_, mode); }
  nv::SampleMode getMode() const noexcept override { return mode_; }
  void setAxes(const nv::Dims& axes) noexcept override { set(axes_, axes); }
  nv::Dims getAxes() const noexcept override { return axes_; }
  // 0 data, 1 start, 2 size, 3 stride, 4 fill value, 5 axes
  int maxInputs() const override { return 6; }
  bool isShapeInput(int index) const override { return index == 1 || index == 2 || index == 3 || index == 5; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId x = context.input(0);
    const Shape& shape = context.shape(x);
    const auto axes = axisList(context, shape.size());
    const Shape start = entries(context, 1, start_, "start", axes.size());
    const Shape size = entries(context, 2, size_, "size", axes.size());
    const Shape stride = entries(context, 3, stride_, "stride", axes.size());
    ops::Slice op;
    op.start.assign(shape.size(), Extent(0));
    op.size = shape;
    op.stride.assign(shape.size(), Extent(1));
    for (size_t i = 0; i < axes.size(); ++i) {
      op.start[axes[i]] = start[i];
      op.size[axes[i]] = size[i];
      op.stride[axes[i]] = stride[i];
    }
    if (std::all_of(op.stride.begin(), op.stride.end(), [](const Extent& e) { return e.isConstant(1); }))
      op.stride.clear();
    op.mode = mapEnum(kModes, mode_, "slice mode");
    std::vector<graph::ValueId> inputs{x};
    if (context.has(4)) {
      context.check(mode_ == nv::SampleMode::kFILL, "a fill value (input 4) needs the mode kFILL");
      inputs.push_back(context.cast(context.input(4), context.type(x).dtype));
    }
    return {context.add(op, std::move(inputs))};
  }

 private:
  std::vector<size_t> axisList(const LowerContext& context, size_t rank) const {
    std::vector<int64_t> given;
    if (context.has(5)) {
      for (const Extent& axis : context.contents(5, "axes")) {
        context.check(axis.isConstant(), "the axes (input 5) must be constants, got {}", axis.text());
        given.push_back(axis.constant());
      }
    } else if (axes_.nbDims > 0) {
      given.assign(axes_.d, axes_.d + axes_.nbDims);
    } else {
      for (size_t i = 0; i < rank; ++i) given.push_back(static_cast<int64_t>(i));
    }
    std::vector<size_t> axes;
    for (const int64_t axis : given) {
      const auto signedRank = static_cast<int64_t>(rank);
      context.check(axis >= -signedRank && axis < signedRank, "axis {} is out of range; the input has {} dimensions",
                    axis, rank);
      axes.push_back(static_cast<size_t>(axis < 0 ? axis + signedRank : axis));
    }
    return axes;
  }

  static Shape entries(const LowerContext& context, size_t index, const nv::Dims& fixed, const char* what,
                       size_t count) {
    Shape result;
    if (context.has(index)) {
      result = context.contents(index, what);
    } else {
      for (int i = 0; i < fixed.nbDims && i < nv::Dims::MAX_DIMS; ++i) result.push_back(Extent(fixed.d[i]));
    }
    context.check(result.size() == count, "the {} has {} entries; expected {}", what, result.size(), count);
    return result;
  }

  nv::Dims start_{0, {}};
  nv::Dims size_{0, {}};
  nv::Dims stride_{0, {}};
  nv::Dims axes_{-1, {}};
  nv::SampleMode mode_ = nv::SampleMode::kSTRICT_BOUNDS;
};

}  // namespace

LayerInfo layerInfo_slice() { return describeLayer<SliceLayer>(); }

}  // namespace tenon::api
