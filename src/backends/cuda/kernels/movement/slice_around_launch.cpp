// Slices in the modes clamp, wrap and reflect.
#include <algorithm>
#include <numeric>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "core/strided.h"
#include "ops/op/slice.h"

namespace tenon::backends::cuda {
namespace {

// An axis of the result, in its order of memory.
struct Axis {
  int64_t extent, yStride, start, step, n, xStride;

  bool isWhole() const { return start == 0 && step == 1 && n == extent; }
};

class SliceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Slice& op, const Types&) {
    const int mode = op.mode == ops::SliceMode::kClamp ? 0 : op.mode == ops::SliceMode::kWrap ? 1 : 2;
    return {"slice.cu", {fmt::format("MODE={}", mode)}, {}};
  }
  SliceInstance(const ops::Slice& op, const Types& types, const Module& module)
      : op_(op), bytes_(bits(types.inputs.at(0)) / 8) {
    for (int unit = bytes_; unit <= 16; unit *= 2)
      functions_[unit] = module.function(fmt::format("tenon_slice_{}", unit));
  }

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto from = stridesOf(x.dims, x.layout);
    const auto to = stridesOf(y.dims, y.layout);
    axes_.clear();
    count_ = y.dims.count();
    if (count_ == 0) return 0;
    std::vector<size_t> order(static_cast<size_t>(y.dims.rank));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to[a] > to[b]; });
    for (const size_t axis : order) {
      const auto at = static_cast<int>(axis);
      checkUser(x.dims[at] > 0, "slice: axis {} of the input is empty, but {} elements are read from it", axis,
                y.dims[at]);
      const int64_t step = op_.stride.empty() ? 1 : valueOf(op_.stride[axis], shapes);
      axes_.push_back({y.dims[at], to[axis], valueOf(op_.start[axis], shapes), step, x.dims[at], from[axis]});
    }
    if (axes_.empty()) axes_.push_back({1, 1, 0, 1, 1, 1});  // of no axes: one element
    joinInner();
    mostUnit_ = wholeUnit();
    setUnit(mostUnit_);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    int64_t unit = mostUnit_;
    while (unit > bytes_ && (!isAligned(arguments.inputs[0], static_cast<size_t>(unit)) ||
                             !isAligned(arguments.outputs[0], static_cast<size_t>(unit))))
      unit /= 2;
    if (unit != unit_) setUnit(unit);
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    launchThreads(functions_[unit_], parameters_.count, &parameters_, arguments.stream);
  }

 private:
  // Around an axis whose rows lie one behind another in both tensors, whole rows are stepped over: the two become one
  // axis.
  bool joins(const Axis& outer, const Axis& inner) const {
    if (!inner.isWhole() || outer.step != 1 || inner.yStride != 1 || inner.xStride != 1) return false;
    if (outer.yStride != inner.extent || outer.xStride != inner.extent) return false;
    return op_.mode == ops::SliceMode::kWrap || outer.isWhole();
  }
  void joinInner() {
    while (axes_.size() > 1 && axes_.back().extent == 1 && axes_.back().isWhole()) axes_.pop_back();
    while (axes_.size() > 1 && joins(axes_[axes_.size() - 2], axes_.back())) {
      const int64_t run = axes_.back().extent;
      axes_.pop_back();
      auto& outer = axes_.back();
      outer = {outer.extent * run, 1, outer.start * run, 1, outer.n * run, 1};
    }
  }

  // The most bytes that move as one: no pack lies across an edge.
  int64_t wholeUnit() const {
    const auto& inner = axes_.back();
    const bool inRows = inner.yStride == 1 && inner.xStride == 1 && inner.step == 1 &&
                        (inner.isWhole() || op_.mode == ops::SliceMode::kWrap);
    int64_t unit = inRows ? 16 : bytes_;
    const auto fits = [&](int64_t elements) { return elements * bytes_ % unit == 0; };
    const auto fit = [&](const Axis& axis) {
      return &axis == &inner ? fits(axis.extent) && fits(axis.start) && fits(axis.n)
                             : fits(axis.yStride) && fits(axis.xStride);
    };
    while (unit > bytes_ && !std::all_of(axes_.begin(), axes_.end(), fit)) unit /= 2;
    return unit;
  }

  void setUnit(int64_t unit) {
    unit_ = unit;
    const int64_t pack = unit / bytes_;
    parameters_ = {};
    parameters_.count = count_ / pack;
    parameters_.rank = static_cast<int32_t>(axes_.size());
    for (size_t place = 0; place < axes_.size(); ++place) {
      const auto& axis = axes_[place];
      const bool inner = place + 1 == axes_.size();
      parameters_.extent[place] = inner ? axis.extent / pack : axis.extent;
      parameters_.yStride[place] = inner ? axis.yStride : axis.yStride / pack;
      parameters_.start[place] = inner ? axis.start / pack : axis.start;
      parameters_.step[place] = axis.step;
      parameters_.n[place] = inner ? axis.n / pack : axis.n;
      parameters_.xStride[place] = inner ? axis.xStride : axis.xStride / pack;
    }
  }

  const ops::Slice& op_;
  int bytes_;
  CUfunction functions_[17] = {};  // by bytes that move as one
  std::vector<Axis> axes_;         // outermost first
  int64_t count_ = 0;
  int64_t mostUnit_ = 1;
  int64_t unit_ = 1;
  SliceAroundParameters parameters_;
};

}  // namespace

KernelRow kernelRow_slice_around() { return ownRow<ops::Slice, SliceInstance>("slice_around", 2); }

}  // namespace tenon::backends::cuda
