// Pixels at the places of a grid.
#include "ops/op/grid_sample.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/common/window.h"
#include "backends/cuda/kernels/sampling/sampling_parameters.h"

namespace tenon::backends::cuda {
namespace {

class GridSampleInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::GridSample& op, const Types& types) {
    return {"grid_sample.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("G", types.inputs.at(1)),
             fmt::format("NEAREST={}", op.mode == ops::GridMode::kNearest ? 1 : 0),
             fmt::format("BORDER={}", static_cast<int>(op.border)), fmt::format("ALIGN={}", op.alignCorners ? 1 : 0)},
            {}};
  }
  GridSampleInstance(const ops::GridSample&, const Types&, const Module& module)
      : single_(module.function("tenon_grid_sample")), packed_(module.function("tenon_grid_sample_packed")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    parameters_ = {};
    count_ = y.dims.count();
    if (count_ == 0) return 0;
    auto& p = parameters_;
    const auto from = stridesOf(x.dims, x.layout), to = stridesOf(y.dims, y.layout);
    p.channels = x.dims[1];
    p.rows = int32Of(x.dims[2]);
    p.columns = int32Of(x.dims[3]);
    p.places = y.dims[2] * y.dims[3];
    p.imageStride = from[0], p.channelStride = from[1], p.rowStride = from[2], p.columnStride = from[3];
    p.yImage = to[0], p.yChannel = to[1];
    p.yPlace = y.layout == Layout::kLinear ? 1 : y.dims[1];
    width_ = 16 / (bits(x.dtype) / 8);
    packs_ = from[1] == 1 && to[1] == 1 && p.channels % width_ == 0;
    images_ = y.dims[0];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    auto& p = parameters_;
    p.x = arguments.inputs[0];
    p.grid = arguments.inputs[1];
    p.y = arguments.outputs[0];
    const bool packs = packs_ && isAligned(p.x, 16) && isAligned(p.y, 16);
    const int64_t width = packs ? width_ : kGridChannels;
    p.groups = (p.channels + width - 1) / width;
    p.threads = images_ * p.places * p.groups;
    launchThreads(packs ? packed_ : single_, p.threads, &p, arguments.stream);
  }

 private:
  CUfunction single_, packed_;
  GridSampleParameters parameters_;
  int64_t count_ = 0, images_ = 0, width_ = 1;
  bool packs_ = false;
};

}  // namespace

KernelRow kernelRow_grid_sample() { return ownRow<ops::GridSample, GridSampleInstance>("grid_sample"); }

}  // namespace tenon::backends::cuda
