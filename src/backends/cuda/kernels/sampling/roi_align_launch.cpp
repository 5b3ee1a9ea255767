// Regions of maps: grid, border and pooling decide the code.
#include "ops/op/roi_align.h"

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/sampling/sampling_parameters.h"

namespace tenon::backends::cuda {
namespace {

class RoiAlignInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::RoiAlign& op, const Types& types) {
    return {"roi_align.cu",
            {typeDefine("X", types.inputs.at(2)), fmt::format("POOL={}", static_cast<int>(op.pool)),
             fmt::format("GRID={}", static_cast<int>(op.grid)), fmt::format("BORDER={}", static_cast<int>(op.border))},
            {}};
  }
  RoiAlignInstance(const ops::RoiAlign& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_roi_align")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& y = shapes.outputs[0].dims;
    parameters_.channels = y[1];
    parameters_.height = op_.height;
    parameters_.width = op_.width;
    parameters_.images = shapes.inputs[2].dims[0];
    parameters_.samples = op_.samples;
    parameters_.least = op_.least;
    parameters_.mostSamples = ops::RoiAlign::kMostSamples;
    parameters_.offset = static_cast<float>(op_.offset);
    // As many channels to a thread as leave the chip full.
    const int64_t count = y.count();
    parameters_.channelsOfThread = kRoiChannels;
    while (parameters_.channelsOfThread > 1 && count / parameters_.channelsOfThread < 1024 * multiprocessors())
      parameters_.channelsOfThread /= 2;
    const int64_t perThread = parameters_.channelsOfThread;
    parameters_.threads = count == 0 ? 0 : count / y[1] * ((y[1] + perThread - 1) / perThread);
    parameters_.mapCount = static_cast<int32_t>(shapes.inputs.size()) - 2;
    checkUser(parameters_.mapCount <= kMostMaps, "roi_align: {} maps; expected at most {}", parameters_.mapCount,
              kMostMaps);
    for (int i = 0; i < parameters_.mapCount; ++i) {
      parameters_.rows[i] = shapes.inputs[static_cast<size_t>(i) + 2].dims[2];
      parameters_.columns[i] = shapes.inputs[static_cast<size_t>(i) + 2].dims[3];
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (parameters_.threads == 0) return;
    parameters_.regions = static_cast<const float*>(arguments.inputs[0]);
    parameters_.origins = static_cast<const int32_t*>(arguments.inputs[1]);
    for (int i = 0; i < parameters_.mapCount; ++i) parameters_.maps[i] = arguments.inputs[static_cast<size_t>(i) + 2];
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.threads, &parameters_, arguments.stream);
  }

 private:
  const ops::RoiAlign& op_;
  CUfunction function_;
  RoiAlignParameters parameters_;
};

}  // namespace

KernelRow kernelRow_roi_align() { return ownRow<ops::RoiAlign, RoiAlignInstance>("roi_align", 2); }

}  // namespace tenon::backends::cuda
