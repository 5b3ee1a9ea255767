// Cells and windows of deconvolutions; their kernel.
#include <numeric>

#include "backends/cuda/cublas/point_convolution.h"
#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/mma90/mma90_deconvolution.h"
#include "ops/spatial.h"

namespace tenon::backends::cuda {
namespace {

int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

ops::MatMul productOf(const ops::Deconvolution& op) { return {false, true, dnn::windowOp(op).wholeEpilogue()}; }

class DeconvolutionInstance final : public runtime::KernelInstance {
 public:
  DeconvolutionInstance(const ops::Deconvolution& op, const Mma90Record& record, CUfunction function)
      : op_(op), record_(record), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const Mma90Deconvolution deconvolution(op_, shapes);
    if (!deconvolution.refusal.empty()) throw Unsupported("cuda.mma90_deconvolution: {}", deconvolution.refusal);
    checkUser(record_.weights.subpixels && deconvolution.cells.text() == record_.weights.subpixels->text(),
              "cuda.mma90_deconvolution: made for other strides or another kernel than {}", deconvolution.cells.text());
    launcher_.configure(deconvolution.shapes(shapes.symbols), deconvolution.image);
    launcher_.spread(deconvolution.subpixels);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override { launcher_.launch(arguments); }

 private:
  const ops::Deconvolution& op_;
  const Mma90Record& record_;
  Mma90Launcher launcher_;
};

class DeconvolutionKernel final : public Mma90Kernel {
 public:
  DeconvolutionKernel(ops::Deconvolution op, const runtime::KernelLoad& load)
      : Mma90Kernel({productOf(op), load.record}, load), op_(std::move(op)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<DeconvolutionInstance>(op_, record_, function_);
  }

 private:
  ops::Deconvolution op_;
};

}  // namespace

Mma90Deconvolution::Mma90Deconvolution(const ops::Deconvolution& op, const runtime::Shapes& shapes)
    : product(productOf(op)) {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  if (x.dims.rank < 4) refusal = fmt::format("{} spatial dimensions; 2 or 3 are supported", x.dims.rank - 2);
  else if (op.groups != 1) refusal = fmt::format("{} groups; one is supported", op.groups);
  else if (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast)
    refusal = "the tensors are not channels-last";
  if (!refusal.empty()) return;
  setWindows(op, shapes);
  if (refusal.empty()) setProduct(op, shapes);
}

Mma90Weights Mma90Deconvolution::weights() const {
  auto result = Mma90Weights::of(shapes(nullptr), image.allTaps(), 1, false);
  result.isDeep = image.isDeep;
  result.subpixels = cells;
  return result;
}

void Mma90Deconvolution::setWindows(const ops::Deconvolution& op, const runtime::Shapes& shapes) {
  constexpr int64_t kMostWaste = 3;  // zeros beside the kernel, as multiples of it
  const auto& x = shapes.inputs[0].dims;
  const auto& w = shapes.inputs[1].dims;
  const auto& y = shapes.outputs[0].dims;
  const ops::EvalContext context{{}, {}, shapes.symbols};
  const auto windows = ops::makeWindows(context, ops::spatialAttributes(op, static_cast<size_t>(x.rank - 2)), x, y,
                                        {w.begin() + 2, w.end()});
  image.images = x[0];
  image.depth = windows[0].small;
  image.height = windows[1].small;
  image.width = windows[2].small;
  image.isDeep = x.rank == 5;
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = windows[(i + 1) % 3];
    if (from.dilation != 1 && from.kernel != 1) refusal = fmt::format("a dilation of {}", from.dilation);
    cells.cell[i] = from.stride;
    cells.kernel[i] = from.kernel;
    const int64_t taps = cells.taps(static_cast<int>(i));
    const int64_t first = floorOf(from.before, from.stride);  // cell of the result's first pixel
    image.windows[i] = floorOf(from.large - 1 + from.before, from.stride) - first + 1;
    image.taps[i] = taps;
    image.before[i] = taps - 1 - first;
    image.after[i] = image.windows[i] - from.small - image.before[i] + taps - 1;
    subpixels.cell[i] = static_cast<int32_t>(from.stride);
    subpixels.before[i] = static_cast<int32_t>(from.before - first * from.stride);
    subpixels.extent[i] = static_cast<int32_t>(from.large);
  }
  const int64_t kernel = cells.kernel[0] * cells.kernel[1] * cells.kernel[2];
  if (refusal.empty() && cells.pixels() * image.allTaps() > kMostWaste * kernel)
    refusal = fmt::format("a kernel of {} taps in cells of {} pixels", kernel, cells.pixels());
  if (refusal.empty()) refusal = image.refusal();
  if (!refusal.empty() || y.count() == 0) return;
  subpixels.channels = dividerBy(w[1]);
  subpixels.across = dividerBy(cells.cell[1]);
  subpixels.down = dividerBy(cells.cell[0]);
  subpixels.row = dividerBy(image.windows[1]);
  subpixels.plane = dividerBy(image.windows[0]);
  subpixels.image = dividerBy(image.windows[2]);
}

void Mma90Deconvolution::setProduct(const ops::Deconvolution& op, const runtime::Shapes& shapes) {
  const auto& x = shapes.inputs[0];
  const auto& w = shapes.inputs[1];
  const auto& y = shapes.outputs[0];
  const int64_t columns = w.dims[1] * cells.pixels();
  const int64_t rows = y.dims.count() == 0 ? 0 : image.allWindows();
  inputs.push_back({x.dtype, {rows, x.dims[1]}, Layout::kLinear});
  inputs.push_back({w.dtype, {columns, x.dims[1] * image.allTaps()}, Layout::kLinear});
  for (size_t i = 2; i < shapes.inputs.size(); ++i) {
    const auto& extra = shapes.inputs[i];
    Dims dims = op.hasBias && i == 2 ? extra.dims : PointConvolution::asMatrix(extra, y.dims);
    // What is added as a whole is read as y is written.
    if (dims.rank == 0 || (dims.rank == 2 && rows <= 1)) refusal = fmt::format("an operand of {}", extra.dims.text());
    else if (dims.rank == 2) dims = {rows, columns};
    else if (dims.count() != 1) dims = {columns};
    inputs.push_back({extra.dtype, dims, Layout::kLinear});
  }
  outputs.push_back({y.dtype, {rows, columns}, Layout::kLinear});
}

KernelRow kernelRow_mma90_deconvolution() {
  return {"mma90_deconvolution", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<DeconvolutionKernel>(descriptionOf<ops::Deconvolution>(load), load);
          },
          [](const plan::KernelRecord& record) {
            return Mma90Record(productOf(descriptionOf<ops::Deconvolution>(record)), record).code();
          }};
}

}  // namespace tenon::backends::cuda
