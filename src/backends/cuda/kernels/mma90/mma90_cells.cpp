// Cells of deconvolutions and convolutions, their windows, and the products that they are.
#include "backends/cuda/kernels/mma90/mma90_cells.h"

#include "backends/cuda/cublas/point_convolution.h"
#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Along H, W and D.
const ops::Window& along(const ops::Windows& windows, size_t axis) { return windows[(axis + 1) % 3]; }

template <typename Op>
ops::Windows windowsOf(const Op& op, const runtime::Shapes& shapes, const Dims& small, const Dims& large) {
  const auto& w = shapes.inputs[1].dims;
  const ops::EvalContext context{{}, {}, shapes.symbols};
  return ops::makeWindows(context, ops::spatialAttributes(op, static_cast<size_t>(small.rank - 2)), small, large,
                          {w.begin() + 2, w.end()});
}

std::string refusalOf(const runtime::Shapes& shapes, int64_t groups) {
  const auto& x = shapes.inputs[0];
  if (x.dims.rank < 4) return fmt::format("{} spatial dimensions; 2 or 3 are supported", x.dims.rank - 2);
  if (groups != 1) return fmt::format("{} groups; one is supported", groups);
  return x.layout == Layout::kChannelsLast ? "" : "the image is not channels-last";
}

}  // namespace

ops::MatMul Mma90CellProduct::productOf(const ops::Deconvolution& op) {
  return {false, true, dnn::windowOp(op).wholeEpilogue()};
}
ops::MatMul Mma90CellProduct::productOf(const ops::Convolution& op) {
  return {false, true, dnn::windowOp(op).wholeEpilogue()};
}

Mma90CellProduct::Mma90CellProduct(const ops::Deconvolution& op, const runtime::Shapes& shapes)
    : product(productOf(op)), refusal(refusalOf(shapes, op.groups)) {
  if (!refusal.empty()) return;
  setWindows(windowsOf(op, shapes, shapes.inputs[0].dims, shapes.outputs[0].dims));
  setProduct(shapes, shapes.inputs[1].dims[1], op.hasBias);
}

Mma90CellProduct::Mma90CellProduct(const ops::Convolution& op, const runtime::Shapes& shapes)
    : product(productOf(op)), refusal(refusalOf(shapes, op.groups)) {
  if (!refusal.empty()) return;
  const int64_t channels = shapes.inputs[1].dims[0];
  setCells(windowsOf(op, shapes, shapes.outputs[0].dims, shapes.inputs[0].dims), channels);
  setProduct(shapes, channels, op.hasBias);
}

Mma90Weights Mma90CellProduct::weights() const {
  auto result = Mma90Weights::of(shapes(nullptr), image.allTaps(), 1, false);
  result.isDeep = image.isDeep;
  result.subpixels = cells;
  return result;
}

// As many pixels as a tile of columns has place for, along axes of which neighbours read the same places.
void Mma90CellProduct::setCells(const ops::Windows& windows, int64_t channels) {
  constexpr int64_t kMostStride = 8;
  cells.gathers = true;
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = along(windows, i);
    if (from.stride != 1 || (from.dilation != 1 && from.kernel != 1)) refusal = "strides or dilations";
    cells.kernel[i] = from.kernel;
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i : {1, 0}) {
      if (cells.kernel[i] == 1 || 2 * cells.cell[i] > kMostStride || 2 * cells.pixels() * channels > kMma90Columns)
        continue;
      cells.cell[i] *= 2;
      grows = true;
    }
  }
  if (cells.pixels() == 1)
    refusal = fmt::format("{} channels of the result and a kernel of {} taps", channels,
                          cells.kernel[0] * cells.kernel[1] * cells.kernel[2]);
  image.depth = along(windows, 2).large;
  image.height = along(windows, 0).large;
  image.width = along(windows, 1).large;
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = along(windows, i);
    image.taps[i] = cells.taps(static_cast<int>(i));
    image.stride[i] = cells.cell[i];
    image.windows[i] = (from.small + cells.cell[i] - 1) / cells.cell[i];
    image.before[i] = from.before;
    image.after[i] = (image.windows[i] - 1) * cells.cell[i] + image.taps[i] - from.large - from.before;
    subpixels.cell[i] = static_cast<int32_t>(cells.cell[i]);
    subpixels.extent[i] = static_cast<int32_t>(from.small);
  }
}

void Mma90CellProduct::setWindows(const ops::Windows& windows) {
  constexpr int64_t kMostWaste = 3;  // zeros beside the kernel, as multiples of it
  image.depth = along(windows, 2).small;
  image.height = along(windows, 0).small;
  image.width = along(windows, 1).small;
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = along(windows, i);
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
}

void Mma90CellProduct::setProduct(const runtime::Shapes& shapes, int64_t channels, bool hasBias) {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  image.images = x.dims[0];
  image.isDeep = x.dims.rank == 5;
  if (refusal.empty()) refusal = image.refusal();
  if (!refusal.empty()) return;
  const bool isPlanar = y.layout == Layout::kLinear;
  if (y.dims.count() != 0) {
    subpixels.channels = dividerBy(channels);
    subpixels.across = dividerBy(cells.cell[1]);
    subpixels.down = dividerBy(cells.cell[0]);
    subpixels.row = dividerBy(image.windows[1]);
    subpixels.plane = dividerBy(image.windows[0]);
    subpixels.image = dividerBy(image.windows[2]);
    subpixels.isPlanar = isPlanar ? 1 : 0;
  }
  const int64_t columns = channels * cells.pixels();
  const int64_t rows = y.dims.count() == 0 ? 0 : image.allWindows();
  inputs.push_back({x.dtype, {rows, x.dims[1]}, Layout::kLinear});
  inputs.push_back({shapes.inputs[1].dtype, {columns, x.dims[1] * image.allTaps()}, Layout::kLinear});
  for (size_t i = 2; i < shapes.inputs.size(); ++i) {
    const auto& extra = shapes.inputs[i];
    Dims dims = hasBias && i == 2 ? extra.dims : PointConvolution::asMatrix(extra, y.dims);
    // What is added as a whole is read as y is written.
    if (dims.rank == 0 || (dims.rank == 2 && (rows <= 1 || isPlanar)))
      refusal = fmt::format("an operand of {}", extra.dims.text());
    else if (dims.rank == 2) dims = {rows, columns};
    else if (dims.count() != 1) dims = {columns};
    inputs.push_back({extra.dtype, dims, Layout::kLinear});
  }
  outputs.push_back({y.dtype, {rows, columns}, Layout::kLinear});
  if (refusal.empty() && isPlanar && weights().columnsAtOnce() != 1)
    refusal = fmt::format("{} channels as planes", channels);
}

}  // namespace tenon::backends::cuda
