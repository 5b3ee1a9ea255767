// Depthwise convolution along one axis of channels-last tensors.
#include "backends/cuda/kernels/depthwise/depthwise_line.h"
#include "backends/cuda/kernels/depthwise/depthwise_weights.h"
#include "core/text.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

int32_t ceilDiv(int32_t a, int32_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Params are "warps types": warps that share the taps.
struct Record {
  explicit Record(const plan::KernelRecord& record) {
    const ShapeAndTypes params(record);
    TextReader in(params.shape, "a depthwise convolution along a line");
    tapWarps = static_cast<int>(in.integer());
    if (std::find(kLineTapWarps.begin(), kLineTapWarps.end(), tapWarps) == kLineTapWarps.end() || !in.atEnd())
      in.fail("no variant of the kernel shares the taps among so many warps");
    types = params.types;
  }
  int tapWarps = 1;
  Types types;
};

Code codeOf(const ops::Convolution& op, const Record& record) {
  return directCode("depthwise_line.cuh", "filterLine", "WindowParameters", op.epilogue, record.types,
                    op.hasBias ? 3 : 2, std::array{record.tapWarps});
}

class LineInstance final : public runtime::KernelInstance {
 public:
  LineInstance(const ops::Convolution& op, int tapWarps, CUfunction function)
      : op_(op), tapWarps_(tapWarps), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    parameters_.set(op_, shapes, y, shapes.inputs[0]);
    blocks_ = 0;
    if (y.dims.count() == 0) return 0;
    if (const auto reason = turnToLine(parameters_); !reason.empty())
      throw Unsupported("cuda.depthwise_line: {}", reason);
    auto& tile = parameters_.tile;
    tile.channelTiles = ceilDiv(parameters_.channels, kLineChannels);
    tile.columnTiles = ceilDiv(parameters_.window[2].small, kLineWarps / tapWarps_ * kLinePlaces);
    tile.heights = parameters_.window[1].small;
    const auto blocks = static_cast<double>(y.dims[0]) * tile.heights * tile.channelTiles * tile.columnTiles;
    checkUser(blocks < 2147483648.0, "depthwise convolution: {} blocks; at most 2^31 - 1 are possible", blocks);
    blocks_ = static_cast<unsigned>(blocks);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    parameters_.bind(op_.hasBias, arguments);
    checkUser(isAligned(parameters_.x, kPackBytes) && isAligned(parameters_.w, kPackBytes),
              "depthwise convolution: a tensor is not aligned to {} bytes", kPackBytes);
    launchGrid(function_, blocks_, 1, 1, kLineWarps * 32, &parameters_, arguments.stream);
  }

 private:
  const ops::Convolution& op_;
  int tapWarps_;
  CUfunction function_;
  unsigned blocks_ = 0;
  WindowLaunch parameters_;
};

class LineKernel final : public runtime::Kernel, public WeightsByTap {
 public:
  explicit LineKernel(const runtime::KernelLoad& load)
      : WeightsByTap(load, "depthwise_line"),
        op_(descriptionOf<ops::Convolution>(load)),
        record_(load.record),
        module_(load.nativeCode, codeOf(op_, record_)) {
    if (!isFinite()) throw Unsupported("cuda.depthwise_line: the weights are not finite");
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    const auto function = module_.function(fmt::format("tenon_direct_{}", record_.tapWarps));
    return std::make_unique<LineInstance>(op_, record_.tapWarps, function);
  }

 private:
  ops::Convolution op_;
  Record record_;
  Module module_;
};

}  // namespace

std::string turnToLine(WindowParameters& p) {
  const auto isStill = [](const DirectWindow& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.before == 0;
  };
  if (!isStill(p.window[2]) && !isStill(p.window[1])) return "the window is not of one row or column";
  if (isStill(p.window[2])) {
    std::swap(p.window[1], p.window[2]);
    std::swap(p.xStride[3], p.xStride[4]);
    for (auto& stride : p.stride) std::swap(stride[3], stride[4]);
  }
  const auto& line = p.window[2];
  if (p.window[1].small > p.window[1].large) return "rows are padded";
  if (line.stride != 1 || line.dilation != 1) return "strides or dilations";
  return {};
}

KernelRow kernelRow_depthwise_line() {
  return {
      "depthwise_line", 1,
      [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
        return std::make_unique<LineKernel>(load);
      },
      [](const plan::KernelRecord& record) { return codeOf(descriptionOf<ops::Convolution>(record), Record(record)); }};
}

}  // namespace tenon::backends::cuda
