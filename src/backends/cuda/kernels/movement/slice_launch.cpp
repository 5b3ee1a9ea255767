// Slices that copy what lies inside the input, after filling where something lies outside.
#include "ops/op/slice.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/strided_copy.h"

namespace tenon::backends::cuda {
namespace {

class SliceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Slice&, const Types&) { return copyCode(); }
  SliceInstance(const ops::Slice& op, const Types& types, const Module& module)
      : op_(op),
        module_(module),
        bytes_(bits(types.outputs.at(0)) / 8),
        fill_(module.function(fmt::format("tenon_fill_{}", bytes_))) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto own = stridesOf(x.dims, x.layout);
    const auto to = stridesOf(y.dims, y.layout);
    Dims space;
    Strides from{};
    int64_t fromOffset = 0;
    int64_t toOffset = 0;
    for (int axis = 0; axis < y.dims.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      const int64_t start = valueOf(op_.start[at], shapes);
      const int64_t stride = op_.stride.empty() ? 1 : valueOf(op_.stride[at], shapes);
      // Output positions whose input index lies in [0, extent).
      int64_t first = 0;
      int64_t last = y.dims[axis];
      while (first < last && outside(start + first * stride, x.dims[axis])) ++first;
      while (last > first && outside(start + (last - 1) * stride, x.dims[axis])) --last;
      checkUser(op_.mode == ops::SliceMode::kFill || y.dims.count() == 0 || last - first == y.dims[axis],
                "slice: axis {}: start {}, size {} and stride {} exceed the extent {}", axis, start, y.dims[axis],
                stride, x.dims[axis]);
      space.push(last - first);
      from[at] = last - first > 1 ? own[at] * stride : 0;  // strides that nothing takes may be of any size
      if (last > first) fromOffset += (start + first * stride) * own[at];
      toOffset += first * to[at];
    }
    fills_ = !(space == y.dims);
    hasFill_ = shapes.inputs.size() > 1;
    count_ = y.dims.count();
    copy_.configure(module_, space, from, fromOffset, to, toOffset, bytes_);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (fills_) {
      ValueParameters parameters{arguments.outputs[0], hasFill_ ? arguments.inputs[1] : nullptr, count_};
      launchThreads(fill_, count_, &parameters, arguments.stream);
    }
    copy_.launch(arguments.inputs[0], arguments.outputs[0], arguments.stream);
  }

 private:
  static bool outside(int64_t index, int64_t extent) { return index < 0 || index >= extent; }

  const ops::Slice& op_;
  const Module& module_;
  int bytes_;
  CUfunction fill_;
  StridedCopy copy_;
  bool fills_ = false;
  bool hasFill_ = false;
  int64_t count_ = 0;
};

}  // namespace

KernelRow kernelRow_slice() { return ownRow<ops::Slice, SliceInstance>("slice"); }

}  // namespace tenon::backends::cuda
