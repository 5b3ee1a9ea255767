// Convolution over row-major images where groups have few channels: depthwise ones, first and last layers, signals. The
// lines of the image that a few lines of the result need are copied side by side, with their padding and by phases of
// the stride, so that every tap is a contiguous line.
#include <algorithm>
#include <array>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/row_convolution_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/error.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kColumns = 2048;            // of the result, at a time
constexpr int64_t kBufferFloats = 16 * 1024;  // of lines, where a job can do with so few
constexpr int64_t kJobs = 16;                 // at least, where there are lines for so many
constexpr int64_t kMostFloats = 1 << 22;

class RowConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit RowConvolutionInstance(const ops::Convolution& op)
      : op_(op), runner_(op.epilogue), tile_(op.epilogue), pick_(transposeFunctions(sizeof(float)).pick) {
    for (size_t channels = 1; channels < convolve_.size(); ++channels)
      convolve_[channels] = rowConvolutionFunction(static_cast<int64_t>(channels));
  }

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto& w = shapes.inputs[1].dims;
    const auto& y = shapes.outputs[0].dims;
    const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
    const auto spatial = static_cast<size_t>(x.rank - 2);
    axes_ = {};
    for (size_t i = 0; i < spatial; ++i) {
      auto& axis = axes_[3 - spatial + i];
      axis.in = x[static_cast<int>(i) + 2];
      axis.out = y[static_cast<int>(i) + 2];
      axis.window = w[static_cast<int>(i) + 2];
      if (!op_.strides.empty()) axis.stride = op_.strides[i];
      if (!op_.dilations.empty()) axis.dilation = op_.dilations[i];
      if (!op_.prePadding.empty()) axis.before = value(op_.prePadding[i]);
    }
    // Signals come with an axis of one element behind them.
    const auto isOne = [](const Axis& axis) {
      return axis.in == 1 && axis.out == 1 && axis.window == 1 && axis.before == 0;
    };
    for (int i = 0; i < 2 && isOne(axes_[2]); ++i) axes_ = {Axis(), axes_[0], axes_[1]};
    batch_ = x[0];
    inEach_ = w[1];
    outEach_ = w[0] / op_.groups;
    empty_ = y.count() == 0;
    const size_t firstExtra = op_.hasBias ? 3 : 2;
    findEnds(y, shapes.inputs.size() == firstExtra);
    if (!op_.epilogue.empty() && !isInRegisters_) {
      std::vector<runtime::TensorShape> operands{shapes.outputs[0]};
      operands.insert(operands.end(), shapes.inputs.begin() + static_cast<std::ptrdiff_t>(firstExtra),
                      shapes.inputs.end());
      runner_.configure(operands, shapes.outputs[0]);
      addresses_.assign(operands.size(), nullptr);
    }
    if (empty_) return 0;
    isPointwise_ = std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) {
      return axis.window == 1 && axis.stride == 1 && axis.before == 0 && axis.in == axis.out;
    });
    if (isPointwise_) {
      layOutPixels();
    } else {
      layOut();
    }
    return static_cast<size_t>(bufferFloats_ * std::min<int64_t>(jobs_, platform::coreCount())) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const auto& [depth, height, width] = axes_;
    const int64_t work = batch_ * op_.groups * outEach_ * depth.out * height.out * width.out * taps();
    runJobs(jobs_, work, [&](int64_t job, int place) {
      float* const buffer = static_cast<float*>(arguments.workspace) + place * bufferFloats_;
      if (isPointwise_) return runPixels(job, arguments, buffer);
      run(job, arguments, buffer);
    });
    if (op_.epilogue.empty() || isInRegisters_) return;
    addresses_[0] = arguments.outputs[0];
    const size_t firstExtra = op_.hasBias ? 3 : 2;
    for (size_t i = 1; i < addresses_.size(); ++i) addresses_[i] = arguments.inputs[firstExtra + i - 1];
    runner_.run(addresses_.data(), arguments.outputs[0]);
  }

 private:
  struct Axis {
    int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, before = 0;
  };

  // Whether a slope below zero and a clamp are all that the epilogue does.
  void findEnds(const Dims& y, bool readsNothing) {
    constexpr size_t kMostInstructions = 4;  // more are none of them
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    isInRegisters_ = false;
    ends_ = {};
    if (op_.epilogue.empty() || !readsNothing || op_.epilogue.instructions.size() > kMostInstructions) return;
    tile_.configure("cpu.row_convolution", y, {}, 1);
    const auto ends = tile_.ends(nullptr);
    isInRegisters_ = ends.has_value();
    if (!ends) return;
    ends_.bends = ends->bends;
    ends_.slope = ends->slope;
    ends_.low = ends->low;
    ends_.high = ends->high;
    ends_.isBounded = ends->low > -kInfinity || ends->high < kInfinity;
  }

  // All that calls have in common.
  RowConvolution callWith(const int64_t* offsets, int64_t taps, int64_t outStep) const {
    RowConvolution call = ends_;
    call.offsets = offsets;
    call.taps = taps;
    call.outStep = outStep;
    return call;
  }

  int64_t taps() const { return inEach_ * axes_[0].window * axes_[1].window * axes_[2].window; }
  int64_t linesFor(int64_t outLines) const {
    const auto& height = axes_[1];
    return (outLines - 1) * height.stride + (height.window - 1) * height.dilation + 1;
  }

  // How large the pieces are, and where the taps of the first element of a piece stand in the buffer. Nothing here
  // depends on the number of threads.
  void layOut() {
    const auto& [depth, height, width] = axes_;
    columns_ = std::min(kColumns, width.out);
    filled_ = columns_ + (width.window - 1) * width.dilation / width.stride;
    lane_ = filled_ + kRowConvolutionSlack;
    line_ = lane_ * width.stride;
    const int64_t planes = inEach_ * depth.window;
    lines_ = std::max<int64_t>(1, height.out);
    const int64_t others = batch_ * op_.groups * depth.out * ((width.out + columns_ - 1) / columns_);
    while (lines_ > 1 && (planes * linesFor(lines_) * line_ > kBufferFloats || others * (height.out / lines_) < kJobs))
      lines_ = (lines_ + 1) / 2;
    bands_ = (height.out + lines_ - 1) / lines_;
    pieces_ = (width.out + columns_ - 1) / columns_;
    jobs_ = batch_ * op_.groups * depth.out * bands_ * pieces_;
    const int64_t held = linesFor(lines_);
    bufferFloats_ = planes * held * line_;
    if (bufferFloats_ > kMostFloats)
      throw Unsupported("cpu.row_convolution: {} floats of lines; at most {} are supported", bufferFloats_,
                        kMostFloats);
    offsets_.clear();
    for (int64_t plane = 0; plane < planes; ++plane) {
      for (int64_t r = 0; r < height.window; ++r) {
        for (int64_t s = 0; s < width.window; ++s) {
          const int64_t at = s * width.dilation;
          offsets_.push_back((plane * held + r * height.dilation) * line_ + at % width.stride * lane_ +
                             at / width.stride);
        }
      }
    }
  }

  // Where each element of the result is made of what stands there in each channel: the image is read where it lies, in
  // pieces of which all channels stay in the first caches; what fills no vector goes through the buffer.
  void layOutPixels() {
    constexpr int64_t kFloats = 8192;
    constexpr int64_t kMostPixels = 1024;
    pixels_ = axes_[0].out * axes_[1].out * axes_[2].out;
    columns_ = std::clamp<int64_t>(kFloats / std::max<int64_t>(1, inEach_) / kRowConvolutionSlack, 1,
                                   kMostPixels / kRowConvolutionSlack) *
               kRowConvolutionSlack;
    pieces_ = (pixels_ + columns_ - 1) / columns_;
    jobs_ = batch_ * op_.groups * pieces_;
    bufferFloats_ = inEach_ * kRowConvolutionSlack;
    offsets_.clear();
    restOffsets_.clear();
    for (int64_t c = 0; c < inEach_; ++c) {
      offsets_.push_back(c * pixels_);
      restOffsets_.push_back(c * kRowConvolutionSlack);
    }
  }

  void runPixels(int64_t job, const runtime::LaunchArguments& arguments, float* buffer) const {
    constexpr int64_t kVector = 16;  // floats, at most
    const int64_t first = job % pieces_ * columns_;
    const int64_t count = std::min(columns_, pixels_ - first);
    const int64_t whole = count / kVector * kVector;
    const int64_t image = job / pieces_;  // and group
    const int64_t group = image % op_.groups;
    const auto* const x = static_cast<const float*>(arguments.inputs[0]) + image * inEach_ * pixels_ + first;
    auto* const out = static_cast<float*>(arguments.outputs[0]) + image * outEach_ * pixels_ + first;
    const auto* const weights = static_cast<const float*>(arguments.inputs[1]) + group * outEach_ * inEach_;
    const auto* const bias = op_.hasBias ? static_cast<const float*>(arguments.inputs[2]) + group * outEach_ : nullptr;
    RowConvolution call = callWith(offsets_.data(), inEach_, pixels_);
    call.lines = x;
    call.count = whole;
    if (whole > 0) runChannels(call, weights, bias, out);
    if (whole == count) return;
    for (int64_t c = 0; c < inEach_; ++c) {
      std::fill_n(std::copy_n(x + c * pixels_ + whole, count - whole, buffer + c * kRowConvolutionSlack),
                  kVector - (count - whole), 0.f);
    }
    call.lines = buffer;
    call.offsets = restOffsets_.data();
    call.count = count - whole;
    if (call.count > vector_) return runChannels(call, weights, bias, out + whole);
    const int64_t many = outEach_ / kManyRowChannels * kManyRowChannels;
    for (int64_t c = 0; c < many; c += kManyRowChannels) {
      call.weights = weights + c * call.taps;
      call.bias = bias == nullptr ? nullptr : bias + c;
      call.out = out + c * call.outStep + whole;
      convolveMany_(call);
    }
    runChannels(call, weights, bias, out + whole, many);
  }

  // The channels of a group from `first` on.
  void runChannels(RowConvolution call, const float* weights, const float* bias, float* out, int64_t first = 0) const {
    for (int64_t c = first; c < outEach_; c += kMostRowChannels) {
      call.weights = weights + c * call.taps;
      call.bias = bias == nullptr ? nullptr : bias + c;
      call.out = out + c * call.outStep;
      convolve_[static_cast<size_t>(std::min(kMostRowChannels, outEach_ - c))](call);
    }
  }

  void run(int64_t job, const runtime::LaunchArguments& arguments, float* buffer) const {
    const auto& [depth, height, width] = axes_;
    const int64_t piece = job % pieces_;
    const int64_t band = job / pieces_ % bands_;
    const int64_t z = job / pieces_ / bands_ % depth.out;
    const int64_t group = job / pieces_ / bands_ / depth.out % op_.groups;
    const int64_t image = job / pieces_ / bands_ / depth.out / op_.groups;
    const int64_t firstLine = band * lines_;
    const int64_t count = std::min(lines_, height.out - firstLine);
    const int64_t firstColumn = piece * columns_;
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    x += (image * op_.groups + group) * inEach_ * depth.in * height.in * width.in;
    const int64_t held = linesFor(lines_);
    for (int64_t c = 0; c < inEach_; ++c) {
      for (int64_t k = 0; k < depth.window; ++k) {
        const int64_t inZ = z * depth.stride - depth.before + k * depth.dilation;
        float* const to = buffer + (c * depth.window + k) * held * line_;
        for (int64_t l = 0; l < linesFor(count); ++l) {
          const int64_t inY = firstLine * height.stride - height.before + l;
          const bool inside = inZ >= 0 && inZ < depth.in && inY >= 0 && inY < height.in;
          const float* const from = x + ((c * depth.in + inZ) * height.in + inY) * width.in;
          copyLine(inside ? from : nullptr, firstColumn, to + l * line_);
        }
      }
    }
    const int64_t plane = depth.out * height.out * width.out;
    auto* const out = static_cast<float*>(arguments.outputs[0]) +
                      ((image * op_.groups + group) * outEach_ * depth.out + z) * height.out * width.out +
                      firstLine * width.out + firstColumn;
    const auto* const weights = static_cast<const float*>(arguments.inputs[1]) + group * outEach_ * taps();
    const auto* const bias = op_.hasBias ? static_cast<const float*>(arguments.inputs[2]) + group * outEach_ : nullptr;
    RowConvolution call = callWith(offsets_.data(), taps(), plane);
    call.count = std::min(columns_, width.out - firstColumn);
    int64_t l = 0;
    if (outEach_ == 1 && height.stride == 1 && height.dilation == 1) {
      LinesConvolution several{.planes = inEach_ * depth.window,
                               .plane = held * line_,
                               .rows = height.window,
                               .columns = width.window,
                               .line = line_,
                               .outLine = width.out};
      for (; l + kLinesAtOnce <= count; l += kLinesAtOnce) {
        several.call = call;
        several.call.lines = buffer + l * line_;
        several.call.weights = weights;
        several.call.bias = bias;
        several.call.out = out + l * width.out;
        convolveLines_(several);
      }
    }
    for (; l < count; ++l) {
      call.lines = buffer + l * height.stride * line_;
      runChannels(call, weights, bias, out + l * width.out);
    }
  }

  // One phase of the stride after another, zeros where the image has nothing; null: there is no such line.
  void copyLine(const float* from, int64_t firstColumn, float* to) const {
    const auto& width = axes_[2];
    for (int64_t phase = 0; phase < width.stride; ++phase, to += lane_) {
      // Element j is column start + j * stride of the image.
      const int64_t start = firstColumn * width.stride + phase - width.before;
      int64_t begin = start >= 0 ? 0 : (-start + width.stride - 1) / width.stride;
      int64_t end = start >= width.in ? 0 : (width.in - start + width.stride - 1) / width.stride;
      if (from == nullptr) end = 0;
      begin = std::min(begin, filled_);
      end = std::clamp(end, begin, filled_);
      std::fill_n(to, begin, 0.f);
      if (end > begin && width.stride == 1) {
        std::copy_n(from + start + begin, end - begin, to + begin);
      } else if (end > begin) {
        pick_(from + start + begin * width.stride, width.stride, to + begin, static_cast<size_t>(end - begin));
      }
      std::fill_n(to + end, filled_ - end, 0.f);
    }
  }

  ops::Convolution op_;
  PointwiseRunner runner_;  // of the epilogue, where it is not done in registers
  TileEpilogue tile_;
  bool isInRegisters_ = false;
  RowConvolution ends_;  // what is done there
  void (*pick_)(const void*, int64_t, void*, size_t);
  std::array<RowConvolutionFunction, kMostRowChannels + 1> convolve_{};  // by the number of channels
  RowConvolutionFunction convolveMany_ = rowConvolutionFunction(kManyRowChannels);
  int64_t vector_ = tileGeometry().columns / 2;
  LinesConvolutionFunction convolveLines_ = linesConvolutionFunction();
  std::array<Axis, 3> axes_;  // the last ones are the spatial axes
  int64_t batch_ = 0, inEach_ = 0, outEach_ = 0;
  bool empty_ = false;
  int64_t columns_ = 1, lines_ = 1;  // of the result, of a job
  int64_t pieces_ = 1, bands_ = 1, jobs_ = 0;
  // Floats of a phase of a line, those of them that count, of a line, of a job
  int64_t lane_ = 0, filled_ = 0, line_ = 0, bufferFloats_ = 0;
  std::vector<int64_t> offsets_;
  bool isPointwise_ = false;
  int64_t pixels_ = 0;
  std::vector<int64_t> restOffsets_;  // in the buffer, of pixels that fill no vector
  std::vector<void*> addresses_;
};

}  // namespace

KernelRow kernelRow_row_convolution() {
  return {"row_convolution", 1, &loadSimple<ops::Convolution, RowConvolutionInstance>};
}

}  // namespace tenon::backends::cpu
