// Windows of images as rows; the kernel of convolutions.
#include "backends/cuda/kernels/mma90/mma90_convolution.h"
#include "ops/contraction.h"
#include "ops/spatial.h"

namespace tenon::backends::cuda {
namespace {

Mma90Image imageOf(const ops::Convolution& op, const runtime::Shapes& shapes) {
  const auto& x = shapes.inputs[0].dims;
  const auto& w = shapes.inputs[1].dims;
  const auto& y = shapes.outputs[0].dims;
  const ops::EvalContext context{{}, {}, shapes.symbols};
  const auto windows = ops::makeWindows(context, ops::spatialAttributes(op, static_cast<size_t>(x.rank - 2)), y, x,
                                        {w.begin() + 2, w.end()});
  Mma90Image image;
  image.images = x[0];
  image.depth = windows[0].large;
  image.height = windows[1].large;
  image.width = windows[2].large;
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = windows[(i + 1) % 3];
    image.windows[i] = from.small;
    image.taps[i] = from.kernel;
    image.stride[i] = from.stride;
    image.before[i] = from.before;
    image.after[i] = from.after;
    image.dilation[i] = from.dilation;
  }
  image.isDeep = true;
  image.flatten();
  return image;
}

class ConvolutionInstance final : public runtime::KernelInstance {
 public:
  ConvolutionInstance(const ops::Convolution& op, const Mma90Record& record, CUfunction function)
      : op_(op), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const Mma90Convolution convolution(op_, shapes);
    if (!convolution.refusal.empty()) throw Unsupported("cuda.mma90_convolution: {}", convolution.refusal);
    launcher_.configure(convolution.point.shapes(shapes.symbols), convolution.image);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override { launcher_.launch(arguments); }

 private:
  const ops::Convolution& op_;
  Mma90Launcher launcher_;
};

class ConvolutionKernel final : public Mma90Kernel {
 public:
  ConvolutionKernel(ops::Convolution op, const runtime::KernelLoad& load)
      : Mma90Kernel({productOf(op), load.record}, load), op_(std::move(op)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<ConvolutionInstance>(op_, record_, function_);
  }

 private:
  ops::Convolution op_;
};

}  // namespace

void Mma90Image::flatten() {
  const auto isAlone = [&](int axis) {
    return taps[axis] == 1 && stride[axis] == 1 && before[axis] == 0 && after[axis] == 0;
  };
  if (isAlone(2)) {
    images *= depth;
  } else if (isAlone(0) && isAlone(1)) {
    width *= height;
    height = depth;
    windows[1] *= windows[0];
    for (auto* values : {windows, taps, stride, before, after, dilation}) values[0] = values[2];
  } else {
    return;
  }
  isDeep = false;
  depth = windows[2] = taps[2] = stride[2] = dilation[2] = 1;
  before[2] = after[2] = 0;
}

Mma90Convolution::Mma90Convolution(const ops::Convolution& op, const runtime::Shapes& shapes)
    : point(op, shapes, PointConvolution::Windows::kAny) {
  refusal = point.refusal;
  if (!refusal.empty() || PointConvolution::isMatrix(op, shapes)) return;
  const auto& x = shapes.inputs[0];
  if (x.dims.rank < 4) refusal = fmt::format("{} spatial dimensions; windows of 2 or 3 are supported", x.dims.rank - 2);
  else if (x.layout != Layout::kChannelsLast) refusal = "the image is not channels-last";
  else if (op.groups == x.dims[1]) refusal = "each channel by itself";
  if (!refusal.empty()) return;
  groups = op.groups;
  image = imageOf(op, shapes);
  refusal = image->refusal();
}

KernelRow kernelRow_mma90_convolution() {
  return {"mma90_convolution", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<ConvolutionKernel>(descriptionOf<ops::Convolution>(load), load);
          },
          [](const plan::KernelRecord& record) {
            return Mma90Record(productOf(descriptionOf<ops::Convolution>(record)), record).code();
          }};
}

}  // namespace tenon::backends::cuda
