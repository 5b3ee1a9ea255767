// Pooling over one to three spatial axes in linear and channels-last tensors.
#include "ops/op/pooling.h"

#include "backends/cuda/run/own_kernel.h"
#include "backends/cuda/run/window.h"

namespace tenon::backends::cuda {
namespace {

struct PoolingWindow {
  int32_t small, large, kernel, stride, before, after;
};
struct Parameters {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t count = 0;
  int32_t channels = 1;
  int32_t channelsInnermost = 0;
  PoolingWindow window[3] = {};
  int64_t xStride[5] = {};
  int64_t yStride[5] = {};
  int32_t exclusive = 0;
  float blend = 0;
};

class PoolingInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Pooling& op, const Types& types) {
    return {"pooling.cu", {typeDefine("X", types.inputs.at(0)), fmt::format("KIND={}", static_cast<int>(op.type))}, {}};
  }
  PoolingInstance(const ops::Pooling& op, const Types&, const Module& module) : op_(op), function_(module.function("tenon_pooling")), packed_(module.function("tenon_pooling_packed")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows = ops::makeWindows(context, ops::spatialAttributes(op_, op_.window.size()), y.dims, x.dims, op_.window);
    parameters_ = {};
    for (size_t k = 0; k < 3; ++k) {
      const auto& w = windows[k];
      parameters_.window[k] = {int32Of(w.small), int32Of(w.large), int32Of(w.kernel), int32Of(w.stride), int32Of(w.before), int32Of(w.after)};
    }
    spreadStrides(x, parameters_.xStride);
    spreadStrides(y, parameters_.yStride);
    parameters_.count = y.dims.count();
    parameters_.channels = int32Of(y.dims[1]);
    parameters_.channelsInnermost = y.format == Format::kChannelsLast ? 1 : 0;
    parameters_.exclusive = op_.exclusive ? 1 : 0;
    parameters_.blend = static_cast<float>(op_.blend);
    pack_ = 16 / (bits(x.dtype) / 8);
    if (y.format != Format::kChannelsLast || x.format != Format::kChannelsLast || y.dims[1] % pack_ != 0) pack_ = 1;
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    const bool packed = pack_ > 1 && isAligned(parameters_.x, 16) && isAligned(parameters_.y, 16);
    const int64_t threads = parameters_.count / (packed ? pack_ : 1);
    launchThreads(packed ? packed_ : function_, threads, &parameters_, arguments.stream, blockSize(threads));
  }

 private:
  const ops::Pooling& op_;
  CUfunction function_;
  CUfunction packed_;
  int64_t pack_ = 1;
  Parameters parameters_;
};

}  // namespace

KernelRow kernelRow_pooling() { return ownRow<ops::Pooling, PoolingInstance>("pooling"); }

}  // namespace tenon::backends::cuda
