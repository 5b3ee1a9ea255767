// Slices in the modes clamp, wrap and reflect.
#include <algorithm>
#include <numeric>

#include "backends/cuda/run/own_kernel.h"
#include "core/strided.h"
#include "ops/op/slice.h"

namespace tenon::backends::cuda {
namespace {

struct Parameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int32_t rank = 0;
  int64_t extent[kMaxRank] = {};
  int64_t yStride[kMaxRank] = {};
  int64_t start[kMaxRank] = {};
  int64_t step[kMaxRank] = {};
  int64_t n[kMaxRank] = {};
  int64_t xStride[kMaxRank] = {};
};

class SliceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Slice& op, const Types& types) {
    const int mode = op.mode == ops::SliceMode::kClamp ? 0 : op.mode == ops::SliceMode::kWrap ? 1 : 2;
    const int bytes = bits(types.inputs.at(0)) / 8;
    const auto type = bytes == 1 ? "u8" : bytes == 2 ? "f16" : bytes == 4 ? "i32" : "i64";
    return {"slice.cu", {fmt::format("E={}", type), fmt::format("MODE={}", mode)}, {}};
  }
  SliceInstance(const ops::Slice& op, const Types&, const Module& module) : op_(op), function_(module.function("tenon_slice")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto from = stridesOf(x.dims, x.format);
    const auto to = stridesOf(y.dims, y.format);
    parameters_ = {};
    parameters_.count = y.dims.count();
    if (parameters_.count == 0) return 0;
    parameters_.rank = y.dims.rank;
    std::vector<size_t> order(static_cast<size_t>(y.dims.rank));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to[a] > to[b]; });
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t axis = order[place];
      const auto at = static_cast<int>(axis);
      checkUser(x.dims[at] > 0, "slice: axis {} of the input is empty, but {} elements are read of it", axis, y.dims[at]);
      parameters_.extent[place] = y.dims[at];
      parameters_.yStride[place] = to[axis];
      parameters_.start[place] = valueOf(op_.start[axis], shapes);
      parameters_.step[place] = op_.stride.empty() ? 1 : valueOf(op_.stride[axis], shapes);
      parameters_.n[place] = x.dims[at];
      parameters_.xStride[place] = from[axis];
    }
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  const ops::Slice& op_;
  CUfunction function_;
  Parameters parameters_;
};

}  // namespace

KernelRow kernelRow_slice_around() { return ownRow<ops::Slice, SliceInstance>("slice_around"); }

}  // namespace tenon::backends::cuda
