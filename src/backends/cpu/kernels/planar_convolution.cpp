// Convolution of row-major images of few pixels, of 1 to 3 spatial axes and any window, stride, dilation and groups:
// the image is turned, so that the channels of neighbouring pixels stand behind each other, tiles of pixels meet panels
// of output channels, and each panel of results is turned back while it is in the L1 cache.
#include <algorithm>
#include <array>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/error.h"
#include "ops/op/convolution.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kMostElements = 512;             // of a window
constexpr int64_t kMostFloats = int64_t{1} << 28;  // of a turned image

struct PlanarConvolutionKernel final : runtime::Kernel, runtime::Packer {
  PlanarConvolutionKernel(const ops::Convolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    if (!isConstantF32(w) || w.dims.rank < 3 || w.dims.rank > 5 || op.groups < 1 || w.dims[0] % op.groups != 0 ||
        w.dims.count() == 0 || w.dims.count(2, w.dims.rank) > kMostElements)
      throw Unsupported("cpu.planar_convolution needs constant f32 weights of 1 to 3 spatial axes, up to {} a window",
                        kMostElements);
    weights = w.dims;
    channels = w.dims[1];
    results = w.dims[0] / op.groups;
    taps = w.dims.count(2, w.dims.rank);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  int64_t depth() const { return taps * channels; }
  int64_t panels() const { return panelCount(results); }  // of a group
  int64_t panelFloats() const { return depth() * tileGeometry().columns; }

  // [group][panel][element of the window][channel][column]
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1},
             fmt::format("planar convolution, {} in {} groups, panels of {}", weights.text(), op.groups,
                         tileGeometry().columns),
             static_cast<uint64_t>(op.groups * panels() * panelFloats()) * sizeof(float),
             true}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    const auto* const from = static_cast<const float*>(sources[0]);
    const int64_t width = tileGeometry().columns;
    runJobs(op.groups * panels(), op.groups * panels() * panelFloats(), [&](int64_t job) {
      const int64_t first = job % panels() * width;
      const float* const source = from + (job / panels() * results + first) * depth();
      float* const panel = static_cast<float*>(to) + job * panelFloats();
      for (int64_t tap = 0; tap < taps; ++tap) {
        packPanelsInto({source + tap, channels, std::min(width, results - first), taps, depth()},
                       panel + tap * channels * width, 0);
      }
    });
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    const int64_t width = tileGeometry().columns;
    for (int64_t row = 0; row < weights[0]; ++row) {
      const int64_t column = row % results;
      const auto* const panel = static_cast<const float*>(packed) +
                                (row / results * panels() + column / width) * panelFloats() + column % width;
      auto* const out = static_cast<float*>(to) + row * depth();
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) out[c * taps + tap] = panel[(tap * channels + c) * width];
      }
    }
  }

  ops::Convolution op;
  Dims weights;
  int64_t channels = 0;  // of a group: read
  int64_t results = 0;   // of a group: computed
  int64_t taps = 0;      // elements of a window
};

class PlanarConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit PlanarConvolutionInstance(const PlanarConvolutionKernel& kernel)
      : kernel_(kernel), tile_(kernel.op.epilogue), noEpilogue_(ops::ScalarExpr{}), runner_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    findAxes(shapes);
    const auto& y = shapes.outputs[0].dims;
    images_ = y[0] * kernel_.op.groups;
    pixels_ = y.count(2, y.rank);
    empty_ = y.count() == 0;
    const auto extras = shapes.inputs.subspan(kernel_.op.hasBias ? 3 : 2);
    isInTile_ = extras.empty();
    (isInTile_ ? tile_ : noEpilogue_).configure("cpu.planar_convolution", y, {}, 1);
    if (!isInTile_) {
      std::vector<runtime::TensorShape> operands{shapes.outputs[0]};
      operands.insert(operands.end(), extras.begin(), extras.end());
      runner_.configure(operands, shapes.outputs[0]);
      addresses_.assign(operands.size(), nullptr);
    }
    if (empty_) return 0;
    findPlaces();
    return static_cast<size_t>(turnedFloats() + resultFloats() * images_ * kernel_.panels()) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* const turned = static_cast<float*>(arguments.workspace);
    if (!isReadAsItIs_) {
      runJobs(images_, images_ * imageFloats_,
              [&](int64_t image) { turn(x + image * kernel_.channels * inPixels(), turned + image * imageFloats_); });
      x = turned;
    }
    const int64_t panels = kernel_.panels();
    const int64_t jobs = images_ * panels;
    runJobs(jobs, jobs * pixels_ * kernel_.panelFloats(), [&](int64_t job) {
      multiply(job / panels, job % panels, x + job / panels * imageFloats_,
               turned + turnedFloats() + job * resultFloats(), arguments);
    });
    if (isInTile_) return;
    addresses_[0] = arguments.outputs[0];
    std::copy_n(arguments.inputs + (kernel_.op.hasBias ? 3 : 2), addresses_.size() - 1, addresses_.begin() + 1);
    runner_.run(addresses_.data(), arguments.outputs[0]);
  }

 private:
  struct Axis {
    int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, before = 0;
    int64_t needed() const { return (out - 1) * stride + (window - 1) * dilation + 1; }
  };

  void findAxes(const runtime::Shapes& shapes) {
    const auto& op = kernel_.op;
    const auto& x = shapes.inputs[0].dims;
    const auto spatial = static_cast<size_t>(x.rank - 2);
    axes_ = {};
    for (size_t i = 0; i < spatial; ++i) {
      auto& axis = axes_[3 - spatial + i];
      axis.in = x[static_cast<int>(i) + 2];
      axis.out = shapes.outputs[0].dims[static_cast<int>(i) + 2];
      axis.window = kernel_.weights[static_cast<int>(i) + 2];
      if (!op.strides.empty()) axis.stride = op.strides[i];
      if (!op.dilations.empty()) axis.dilation = op.dilations[i];
      if (op.prePadding.empty()) continue;
      const auto& before = op.prePadding[i];
      axis.before = before.isConstant() ? before.constant() : before.evaluate(*shapes.symbols);
    }
    // Signals come with an axis of one element behind them.
    const auto isOne = [](const Axis& axis) {
      return axis.in == 1 && axis.out == 1 && axis.window == 1 && axis.before == 0;
    };
    for (int i = 0; i < 2 && isOne(axes_[2]); ++i) axes_ = {Axis(), axes_[0], axes_[1]};
  }

  // Of the turned image: its extents, and where the windows and their runs of elements begin. A signal of one channel
  // without padding is its own turned image.
  void findPlaces() {
    const auto& [depth, height, width] = axes_;
    isReadAsItIs_ = kernel_.channels == 1 && std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) {
                      return axis.before == 0 && axis.needed() <= axis.in;
                    });
    for (size_t i = 0; i < 3; ++i) extents_[i] = isReadAsItIs_ ? axes_[i].in : axes_[i].needed();
    imageFloats_ = kernel_.channels;
    for (const int64_t extent : extents_) {
      if (!isReadAsItIs_ && extent > kMostFloats / imageFloats_)
        throw Unsupported(
            "cpu.planar_convolution: a padded image of {} by {} by {} by {} channels; at most {} floats are supported",
            extents_[0], extents_[1], extents_[2], kernel_.channels, kMostFloats);
      imageFloats_ *= extent;
    }
    const bool isJoined = width.dilation == 1;
    runs_.clear();
    runFloats_ = kernel_.channels * (isJoined ? width.window : 1);
    for (int64_t d = 0; d < depth.window; ++d) {
      for (int64_t h = 0; h < height.window; ++h) {
        for (int64_t w = 0; w < (isJoined ? 1 : width.window); ++w)
          runs_.push_back(placeOf(d * depth.dilation, h * height.dilation, w * width.dilation));
      }
    }
    windows_.clear();
    for (int64_t d = 0; d < depth.out; ++d) {
      for (int64_t h = 0; h < height.out; ++h) {
        for (int64_t w = 0; w < width.out; ++w)
          windows_.push_back(placeOf(d * depth.stride, h * height.stride, w * width.stride));
      }
    }
  }

  int64_t placeOf(int64_t d, int64_t h, int64_t w) const {
    return ((d * extents_[1] + h) * extents_[2] + w) * kernel_.channels;
  }
  int64_t inPixels() const { return axes_[0].in * axes_[1].in * axes_[2].in; }
  int64_t turnedFloats() const { return isReadAsItIs_ ? 0 : alignElements(images_ * imageFloats_); }
  int64_t resultFloats() const { return pixels_ == 1 ? 0 : pixels_ * tileGeometry().columns; }
  static int64_t alignElements(int64_t count) { return (count + 15) / 16 * 16; }

  // [channel][pixel] becomes [pixel][channel], with its padding.
  void turn(const float* x, float* to) const {
    const auto& [depth, height, width] = axes_;
    const int64_t begin = std::clamp<int64_t>(width.before, 0, extents_[2]);
    const int64_t end = std::clamp<int64_t>(width.before + width.in, begin, extents_[2]);
    for (int64_t d = 0; d < extents_[0]; ++d) {
      for (int64_t h = 0; h < extents_[1]; ++h) {
        float* const line = to + placeOf(d, h, 0);
        const int64_t z = d - depth.before;
        const int64_t y = h - height.before;
        const bool isInside = z >= 0 && z < depth.in && y >= 0 && y < height.in && begin < end;
        const int64_t first = isInside ? begin : 0;
        const int64_t last = isInside ? end : 0;
        std::fill_n(line, first * kernel_.channels, 0.f);
        std::fill(line + last * kernel_.channels, line + extents_[2] * kernel_.channels, 0.f);
        if (!isInside) continue;
        transpose_(x + (z * height.in + y) * width.in + begin - width.before, static_cast<size_t>(inPixels()),
                   line + begin * kernel_.channels, static_cast<size_t>(kernel_.channels),
                   static_cast<size_t>(kernel_.channels), static_cast<size_t>(end - begin));
      }
    }
  }

  // The results of a panel of channels.
  void multiply(int64_t image, int64_t panel, const float* x, float* results,
                const runtime::LaunchArguments& arguments) const {
    const auto [tileRows, width] = tileGeometry();
    const int64_t group = image % kernel_.op.groups;
    const int64_t channel = panel * width;
    TileCall call;
    call.taps = static_cast<int64_t>(runs_.size());
    call.depth = runFloats_;
    call.panel =
        static_cast<const float*>(arguments.inputs[1]) + (group * kernel_.panels() + panel) * kernel_.panelFloats();
    call.width = std::min<int64_t>(width, kernel_.results - channel);
    alignas(64) float bias[kMaxTileColumns] = {};
    if (kernel_.op.hasBias) {
      std::copy_n(static_cast<const float*>(arguments.inputs[2]) + group * kernel_.results + channel, call.width, bias);
      call.bias = bias;
    }
    auto* const out = static_cast<float*>(arguments.outputs[0]) + (image * kernel_.results + channel) * pixels_;
    const float* sources[kMostElements * kMaxTileRows];
    call.sources = sources;
    for (int64_t first = 0; first < pixels_; first += tileRows) {
      const int64_t count = std::min<int64_t>(tileRows, pixels_ - first);
      for (size_t t = 0; t < runs_.size(); ++t) {
        for (int64_t r = 0; r < count; ++r)
          sources[static_cast<int64_t>(t) * count + r] = x + windows_[static_cast<size_t>(first + r)] + runs_[t];
      }
      (isInTile_ ? tile_ : noEpilogue_)
          .run(functions_[static_cast<size_t>(count)], static_cast<int>(count), call, pixels_ == 1 ? out : results,
               nullptr, first, 0, width);
    }
    if (pixels_ > 1) {
      transpose_(results, static_cast<size_t>(width), out, static_cast<size_t>(pixels_), static_cast<size_t>(pixels_),
                 static_cast<size_t>(call.width));
    }
  }

  const PlanarConvolutionKernel& kernel_;
  TileEpilogue tile_;        // the epilogue, where it reads nothing else
  TileEpilogue noEpilogue_;  // elsewhere, with the runner behind
  PointwiseRunner runner_;
  const TileFunctions& functions_ = tileFunctions();
  decltype(TransposeFunctions::transpose) transpose_ = transposeFunctions(sizeof(float)).transpose;
  std::array<Axis, 3> axes_;  // the last ones are the spatial axes
  int64_t images_ = 0;        // and groups
  int64_t pixels_ = 0;        // of a result
  bool empty_ = false, isInTile_ = false, isReadAsItIs_ = false;
  std::array<int64_t, 3> extents_{};  // of the turned image
  int64_t imageFloats_ = 0, runFloats_ = 0;
  std::vector<int64_t> runs_, windows_;  // where they begin
  std::vector<void*> addresses_;         // of the runner
};

std::unique_ptr<runtime::KernelInstance> PlanarConvolutionKernel::instantiate() const {
  return std::make_unique<PlanarConvolutionInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Convolution>();
  if (description == nullptr) throw Unsupported("cpu.planar_convolution cannot compute {}", op.name());
  return std::make_unique<PlanarConvolutionKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_planar_convolution() { return {"planar_convolution", 1, &load}; }

}  // namespace tenon::backends::cpu
