// Depthwise convolution over channels-last images: neighbouring pixels of a row times a panel of channels.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/window.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"
#include "ops/op/convolution.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr size_t kMostTaps = 128;

struct DepthwiseKernel final : runtime::Kernel, runtime::Packer {
  DepthwiseKernel(const ops::Convolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    if (!isConstantF32(w) || w.dims.rank != 4 || w.dims[1] != 1 || w.dims[0] != op.groups ||
        w.dims.count(2, 4) > static_cast<int64_t>(kMostTaps)) {
      throw Unsupported("cpu.depthwise needs constant weights of one channel a group and at most {} window elements",
                        kMostTaps);
    }
    if (op.hasBias && !isConstantF32(load.constants[2]))
      throw Unsupported("cpu.depthwise needs a bias that is a constant");
    weights = w.dims;
    if (!op.hasBias) return;
    const auto* const values = static_cast<const float*>(load.constants[2].data);
    bias.assign(values, values + w.dims[0]);
    bias.resize(static_cast<size_t>(panelCount(w.dims[0]) * tileGeometry().columns), 0.f);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  // [panel][tap][column]
  int64_t taps() const { return weights.count(2, 4); }
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1},
             fmt::format("panels of {}, {} by {}, transposed", tileGeometry().columns, taps(), weights[0]),
             panelBytes(taps(), weights[0]),
             true}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    packPanelsInto({static_cast<const float*>(sources[0]), taps(), weights[0], 1, taps()}, static_cast<float*>(to),
                   taps() * tileGeometry().columns);
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    unpackPanels(static_cast<const float*>(packed), static_cast<float*>(to), taps(), weights[0], 1, taps());
  }

  ops::Convolution op;
  Dims weights;
  std::vector<float> bias;  // filled up to whole panels; empty without
};

class DepthwiseInstance final : public runtime::KernelInstance {
 public:
  explicit DepthwiseInstance(const DepthwiseKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    firstExtra_ = kernel_.op.hasBias ? 3 : 2;
    epilogue_.configure("cpu.depthwise", y.dims, shapes.inputs.subspan(firstExtra_), 1);
    epilogue_.setSteps(y, shapes.inputs.subspan(firstExtra_));
    window_ = makeWindow(kernel_.op, kernel_.weights, shapes.inputs[0], y, shapes.symbols);
    taps_ = window_.size[0] * window_.size[1];
    zeros_.assign(static_cast<size_t>(window_.channels + (kMaxTileRows - 1) * window_.stride[1] * window_.step), 0.f);
    // Pixels of a row whose windows lie within the image's columns.
    firstInner_ =
        std::clamp<int64_t>((window_.before[1] + window_.stride[1] - 1) / window_.stride[1], 0, window_.out[1]);
    const int64_t reach = (window_.size[1] - 1) * window_.dilation[1];
    const int64_t room = window_.extent[1] - 1 - reach + window_.before[1];
    lastInner_ = room < 0 ? firstInner_ : std::clamp(room / window_.stride[1] + 1, firstInner_, window_.out[1]);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (window_.outPixels() * window_.channels == 0) return;
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    void* const* const extras = arguments.inputs + firstExtra_;
    const auto* const weights = static_cast<const float*>(arguments.inputs[1]);
    // Loads bound it, so a multiply-add counts for more than in a dense product.
    runJobs(window_.batch * window_.out[0], 2 * window_.outPixels() * window_.channels * taps_, [&](int64_t row) {
      line(row, {x, weights}, out, extras);
    });
  }

 private:
  // Where the taps of the pixel at `column` of an output row stand, and how far they go from one pixel to the next.
  void pointAt(int64_t row, int64_t column, const float* x, const float** sources, int64_t* steps) const {
    const Window w = window_;
    const float* const zeros = zeros_.data();
    const int64_t image = row / w.out[0];
    const int64_t top = row % w.out[0] * w.stride[0] - w.before[0];
    const int64_t left = column * w.stride[1] - w.before[1];
    for (int64_t r = 0; r < w.size[0]; ++r) {
      const int64_t y = top + r * w.dilation[0];
      const bool rowInside = y >= 0 && y < w.extent[0];
      const float* const start = x + (image * w.extent[0] + y) * w.extent[1] * w.step;
      for (int64_t s = 0; s < w.size[1]; ++s) {
        const int64_t at = left + s * w.dilation[1];
        const bool inside = rowInside && at >= 0 && at < w.extent[1];
        *sources++ = inside ? start + at * w.step : zeros;
        *steps++ = inside ? w.stride[1] * w.step : 0;
      }
    }
  }

  struct Operands {
    const float* x;
    const float* weights;
  };

  void line(int64_t row, const Operands& operands, float* out, void* const* extras) const {
    const int64_t tileRows = tileGeometry().rows;
    const float* sources[kMostTaps];
    int64_t steps[kMostTaps];
    TileCall call;
    call.sources = sources;
    call.taps = taps_;
    call.panel = operands.weights;
    call.rowStep = window_.stride[1] * window_.step;
    for (int64_t column = 0; column < window_.out[1];) {
      const bool inner = column >= firstInner_ && column < lastInner_;
      const int64_t count = inner ? std::min(tileRows, lastInner_ - column) : 1;
      if (!inner || column == firstInner_) pointAt(row, column, operands.x, sources, steps);
      pixels(call, row * window_.out[1] + column, static_cast<int>(count), out, extras);
      column += count;
      for (int64_t t = 0; t < taps_; ++t) sources[t] += count * steps[t];
    }
  }

  void pixels(TileCall& call, int64_t pixel, int count, float* out, void* const* extras) const {
    const int64_t width = tileGeometry().columns;
    const float* const weights = call.panel;
    const auto function = depthwiseFunctions()[static_cast<size_t>(count)];
    for (int64_t channel = 0; channel < window_.channels; channel += width) {
      call.offset = channel;
      call.panel = weights + channel * taps_;
      call.bias = kernel_.bias.empty() ? nullptr : kernel_.bias.data() + channel;
      call.width = std::min(width, window_.channels - channel);
      epilogue_.run(function, count, call, out, extras, pixel, channel, window_.channels);
    }
    call.panel = weights;
  }

  const DepthwiseKernel& kernel_;
  TileEpilogue epilogue_;
  size_t firstExtra_ = 2;
  Window window_;
  int64_t taps_ = 0;
  int64_t firstInner_ = 0, lastInner_ = 0;
  std::vector<float> zeros_;
};

std::unique_ptr<runtime::KernelInstance> DepthwiseKernel::instantiate() const {
  return std::make_unique<DepthwiseInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Convolution>();
  if (description == nullptr) throw Unsupported("cpu.depthwise cannot compute {}", op.name());
  return std::make_unique<DepthwiseKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_depthwise() { return {"depthwise", 1, &load}; }

}  // namespace tenon::backends::cpu
