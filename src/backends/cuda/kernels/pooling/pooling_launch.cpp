// Pooling over one to three spatial axes in linear and channels-last tensors.
#include "ops/op/pooling.h"

#include <utility>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/common/window.h"
#include "backends/cuda/kernels/pooling/pooling_parameters.h"

namespace tenon::backends::cuda {
namespace {

// Extents of windows that the code knows; {0, 0}: it takes them as they come.
std::pair<int64_t, int64_t> knownWindow(const ops::Pooling& op) {
  constexpr int64_t kMostColumns = 9;
  constexpr int64_t kMostRows = 16;
  if (op.window.empty() || op.window.size() > 2 || op.isDilated()) return {0, 0};
  const std::pair window{op.window.size() == 2 ? op.window[0] : 1, op.window.back()};
  const bool few =
      window.first >= 1 && window.first <= kMostRows && window.second >= 1 && window.second <= kMostColumns;
  return few ? window : std::pair<int64_t, int64_t>{0, 0};
}

class PoolingInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Pooling& op, const Types& types) {
    const auto [height, width] = knownWindow(op);
    return {"pooling.cu",
            {typeDefine("X", types.inputs.at(0)), fmt::format("KIND={}", static_cast<int>(op.type)),
             fmt::format("HEIGHT={}", height), fmt::format("WIDTH={}", width)},
            {}};
  }
  PoolingInstance(const ops::Pooling& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const ops::EvalContext context{{}, {}, shapes.symbols};
    const auto windows =
        ops::makeWindows(context, ops::spatialAttributes(op_, op_.window.size()), y.dims, x.dims, op_.window);
    parameters_ = {};
    for (size_t k = 0; k < 3; ++k) {
      const auto& w = windows[k];
      parameters_.window[k] = {int32Of(w.small),    int32Of(w.large),  int32Of(w.kernel), int32Of(w.stride),
                               int32Of(w.dilation), int32Of(w.before), int32Of(w.after)};
    }
    spreadStrides(x, parameters_.xStride);
    spreadStrides(y, parameters_.yStride);
    parameters_.count = y.dims.count();
    parameters_.channels = int32Of(y.dims[1]);
    parameters_.channelsInnermost = y.layout == Layout::kChannelsLast ? 1 : 0;
    parameters_.exclusive = op_.exclusive ? 1 : 0;
    parameters_.blend = static_cast<float>(op_.blend);
    pack_ = 16 / (bits(x.dtype) / 8);
    if (y.layout != Layout::kChannelsLast || x.layout != Layout::kChannelsLast || y.dims[1] % pack_ != 0) pack_ = 1;
    const bool known =
        knownWindow(op_).first > 0 && x.dims.count() > 0 && x.dims.count() < kMostKnown && y.dims.count() < kMostKnown;
    const std::string name = known ? "tenon_pooling_window" : "tenon_pooling";
    function_ = module_.function(name);
    packed_ = module_.function(name + "_packed");
    parameters_.rows = dividerBy(windows[1].small);
    parameters_.columns = dividerBy(windows[2].small);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    const bool packed = pack_ > 1 && isAligned(parameters_.x, 16) && isAligned(parameters_.y, 16);
    const int64_t threads = parameters_.count / (packed ? pack_ : 1);
    parameters_.packs = dividerBy(parameters_.channels / (packed ? pack_ : 1));
    launchThreads(packed ? packed_ : function_, threads, &parameters_, arguments.stream, blockSize(threads));
  }

 private:
  static constexpr int64_t kMostKnown = int64_t{1} << 31;  // elements that the code for known windows reaches
  const ops::Pooling& op_;
  const Module& module_;
  CUfunction function_ = nullptr;
  CUfunction packed_ = nullptr;
  int64_t pack_ = 1;
  PoolingParameters parameters_;
};

}  // namespace

KernelRow kernelRow_pooling() { return ownRow<ops::Pooling, PoolingInstance>("pooling"); }

}  // namespace tenon::backends::cuda
