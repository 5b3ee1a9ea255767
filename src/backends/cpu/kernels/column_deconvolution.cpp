// Deconvolution of row-major images of 1 to 3 spatial axes, any window, stride, dilation and groups: for each output
// channel the products of all pixels with each element of the window, by tiles, which are then added where they belong.
#include <algorithm>
#include <cstring>
#include <span>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/row_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/error.h"
#include "ops/op/deconvolution.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kScratchFloats = 16 * 1024;  // products of some pixels, in the first two caches
constexpr int64_t kMostElements = 512;         // of a window

struct ColumnDeconvolutionKernel final : runtime::Kernel, runtime::Packer {
  ColumnDeconvolutionKernel(const ops::Deconvolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    if (!isConstantF32(w) || w.dims.rank < 3 || w.dims.rank > 5 || op.groups < 1 || w.dims[0] % op.groups != 0 ||
        w.dims.count(2, w.dims.rank) > kMostElements)
      throw Unsupported("cpu.column_deconvolution needs constant f32 weights of 1 to 3 spatial axes, up to {} a window",
                        kMostElements);
    weights = w.dims;
    depth = w.dims[0] / op.groups;
    elements = w.dims.count(2, w.dims.rank);
    isPlain = depth == elements && w.dims[1] == 1 && eachChannelIsItsElement(w.as<const float>());
  }
  // Whether input channel i of each group is what stands at element i of the window: blocks that become an image again.
  bool eachChannelIsItsElement(const float* from) const {
    for (int64_t i = 0; i < weights.count(); ++i) {
      if (from[i] != (i / elements % depth == i % elements ? 1.f : 0.f)) return false;
    }
    return true;
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  // [group][output channel][element of the window][input channel]
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (isPlain) return {};
    return {{{1},
             fmt::format("deconvolution by channels, {} in {} groups", weights.text(), op.groups),
             static_cast<uint64_t>(weights.count()) * sizeof(float),
             true}};
  }
  // See(index in the packed form, index in the weights)
  template <typename See>
  void eachWeight(const See& see) const {
    const int64_t rows = weights[1] * elements;
    for (int64_t g = 0; g < op.groups; ++g) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < depth; ++c) see((g * rows + r) * depth + c, (g * depth + c) * rows + r);
      }
    }
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    const auto* const from = static_cast<const uint32_t*>(sources[0]);
    eachWeight([&](int64_t packed, int64_t index) { static_cast<uint32_t*>(to)[packed] = from[index]; });
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    const auto* const from = static_cast<const uint32_t*>(packed);
    eachWeight([&](int64_t at, int64_t index) { static_cast<uint32_t*>(to)[index] = from[at]; });
  }

  ops::Deconvolution op;
  Dims weights;
  int64_t depth = 0;     // input channels of a group
  int64_t elements = 0;  // of a window
  bool isPlain = false;  // nothing is multiplied
};

class ColumnDeconvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit ColumnDeconvolutionInstance(const ColumnDeconvolutionKernel& kernel)
      : kernel_(kernel), epilogue_(kernel.op.epilogue), functions_(tileFunctions()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& op = kernel_.op;
    const auto& x = shapes.inputs[0].dims;
    const auto& y = shapes.outputs[0];
    const int spatial = x.rank - 2;
    axes_ = {};
    for (int i = 0; i < spatial; ++i) {
      const auto at = static_cast<size_t>(i);
      auto& axis = axes_[static_cast<size_t>(3 - spatial + i)];
      axis.in = x[i + 2];
      axis.out = y.dims[i + 2];
      axis.window = kernel_.weights[i + 2];
      if (!op.strides.empty()) axis.stride = op.strides[at];
      if (!op.dilations.empty()) axis.dilation = op.dilations[at];
      if (op.prePadding.empty()) continue;
      const auto& before = op.prePadding[at];
      axis.before = before.isConstant() ? before.constant() : before.evaluate(*shapes.symbols);
    }
    // Signals come with an axis of one element behind them, which would leave runs of one pixel.
    const auto isOne = [](const Axis& axis) {
      return axis.in == 1 && axis.out == 1 && axis.window == 1 && axis.before == 0;
    };
    for (int i = 0; i < 2 && isOne(axes_[2]); ++i) axes_ = {Axis(), axes_[0], axes_[1]};
    isDisjoint_ = axes_[2].stride > 1 && std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) {
                    return axis.window == axis.stride && axis.dilation == 1 && axis.before == 0 &&
                           axis.out == axis.in * axis.stride;
                  });
    images_ = x[0] * op.groups;
    pixels_ = x.count(2, x.rank);
    outPixels_ = y.dims.count(2, y.dims.rank);
    hasEpilogue_ = !op.epilogue.empty();
    if (hasEpilogue_) {
      std::vector<runtime::TensorShape> operands{{DataType::kF32, y.dims, Layout::kLinear}};
      operands.insert(operands.end(), shapes.inputs.begin() + (op.hasBias ? 3 : 2), shapes.inputs.end());
      operands_.assign(operands.size(), nullptr);
      epilogue_.configure(operands, y);
    }
    imageFloats_ = kernel_.isPlain ? 0 : static_cast<int64_t>(panelBytes(kernel_.depth, pixels_) / sizeof(float));
    return static_cast<size_t>(images_ * imageFloats_) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const int64_t channels = kernel_.weights[1];  // of a group
    if (images_ * channels * outPixels_ == 0) return;
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    const auto* const weights = static_cast<const float*>(arguments.inputs[1]);
    const auto* const bias = kernel_.op.hasBias ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    auto* const panels = static_cast<float*>(arguments.workspace);
    auto* const y = static_cast<float*>(arguments.outputs[0]);
    if (!kernel_.isPlain) packImages(x, panels);
    const int64_t products = images_ * channels * kernel_.elements * pixels_;
    const int64_t each = kernel_.isPlain ? 1 : kernel_.depth + 4;  // work
    const int64_t together = kernel_.isPlain ? 1 : channelsTogether();
    const int64_t parts = (channels + together - 1) / together;
    runJobs(images_ * parts, products * each, [&](int64_t job) {
      const int64_t image = job / parts;
      const int64_t first = job % parts * together;
      const int64_t count = std::min(together, channels - first);
      const int64_t channel = image % kernel_.op.groups * channels + first;
      float* const planes = y + (image * channels + first) * outPixels_;
      const float start = bias != nullptr ? bias[channel] : 0.f;
      const float* const from = x + image * kernel_.depth * pixels_;
      if (kernel_.isPlain && axes_[2].stride == 1) return gather(from, start, planes);
      for (int64_t c = 0; c < count && !isDisjoint_; ++c)
        std::fill_n(planes + c * outPixels_, outPixels_, bias != nullptr ? bias[channel + c] : 0.f);
      if (kernel_.isPlain) {
        add(from, pixels_, 0, pixels_, planes);
      } else {
        channelsOf(panels + image * imageFloats_, weights + channel * kernel_.elements * kernel_.depth, count, planes);
      }
      for (int64_t c = 0; c < count && isDisjoint_ && bias != nullptr; ++c) {
        float* const plane = planes + c * outPixels_;
        for (int64_t i = 0; i < outPixels_; ++i) plane[i] += bias[channel + c];
      }
    });
    if (!hasEpilogue_) return;
    operands_[0] = y;
    std::copy_n(arguments.inputs + (kernel_.op.hasBias ? 3 : 2), operands_.size() - 1, operands_.begin() + 1);
    epilogue_.run(operands_.data(), y);
  }

 private:
  struct Axis {
    int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, before = 0;
    // Where element `tap` of the window around `pixel` comes to stand; outside of [0, out) it is cut off.
    int64_t place(int64_t pixel, int64_t tap) const { return pixel * stride + tap * dilation - before; }
    // The pixel whose element `tap` comes to stand at `at`, or -1.
    int64_t pixelAt(int64_t at, int64_t tap) const {
      const int64_t scaled = at + before - tap * dilation;
      return scaled < 0 || scaled % stride != 0 || scaled / stride >= in ? -1 : scaled / stride;
    }
  };

  void packImages(const float* x, float* panels) const {
    const int64_t width = tileGeometry().columns;
    const int64_t count = panelCount(pixels_);
    runJobs(images_ * count, images_ * imageFloats_, [&](int64_t job) {
      const int64_t first = job % count * width;
      packPanelsInto({x + job / count * kernel_.depth * pixels_ + first, kernel_.depth,
                      std::min(width, pixels_ - first), pixels_, 1},
                     panels + job / count * imageFloats_ + job % count * kernel_.depth * width, 0);
    });
  }

  // Where windows are small, those of several output channels fill a tile.
  int64_t channelsTogether() const {
    return std::clamp<int64_t>(tileGeometry().rows / kernel_.elements, 1, kernel_.weights[1]);
  }

  void channelsOf(const float* panels, const float* weights, int64_t channels, float* planes) const {
    alignas(64) float products[kScratchFloats];
    const int64_t width = tileGeometry().columns;
    const int64_t rows = channels * kernel_.elements;
    const int64_t block = std::max<int64_t>(1, kScratchFloats / rows / width) * width;
    for (int64_t first = 0; first < pixels_; first += block) {
      const int64_t count = std::min(block, pixels_ - first);
      multiply(panels + first * kernel_.depth, weights, rows, count, products, block);
      for (int64_t c = 0; c < channels; ++c)
        add(products + c * kernel_.elements * block, block, first, count, planes + c * outPixels_);
    }
  }

  // products[element][pixel]
  void multiply(const float* panels, const float* weights, int64_t rows, int64_t pixels, float* products,
                int64_t step) const {
    const auto [tileRows, width] = tileGeometry();
    for (int64_t row = 0; row < rows; row += tileRows) {
      const int count = static_cast<int>(std::min<int64_t>(tileRows, rows - row));
      const float* sources[kMaxTileRows];
      for (int r = 0; r < count; ++r) sources[r] = weights + (row + r) * kernel_.depth;
      for (int64_t p = 0; p < pixels; p += width) {
        TileCall call;
        call.sources = sources;
        call.depth = kernel_.depth;
        call.panel = panels + p * kernel_.depth;
        call.width = std::min<int64_t>(width, pixels - p);
        call.out = products + row * step + p;
        call.outStride = step;
        functions_[static_cast<size_t>(count)](call);
      }
    }
  }

  // Where nothing is multiplied and the lines of the window have no stride: a line of the result is a sum of lines.
  void gather(const float* x, float start, float* plane) const {
    const auto& [depth, height, width] = axes_;
    const float* lines[kMostElements];
    int64_t offsets[kMostElements];  // of what stands at the beginning of a line of the result
    for (int64_t row = 0; row < depth.out * height.out; ++row) {
      size_t number = 0;
      for (int64_t d = 0; d < depth.window; ++d) {
        const int64_t z = depth.pixelAt(row / height.out, d);
        for (int64_t h = 0; z >= 0 && h < height.window; ++h) {
          const int64_t y = height.pixelAt(row % height.out, h);
          for (int64_t w = 0; y >= 0 && w < width.window; ++w, ++number) {
            lines[number] = x + ((d * height.window + h) * width.window + w) * pixels_ + (z * height.in + y) * width.in;
            offsets[number] = width.before - w * width.dilation;
          }
        }
      }
      gatherLine({lines, number}, {offsets, number}, start, plane + row * width.out);
    }
  }

  // line[i] = start + all of lines[k][i + offsets[k]] that are there.
  void gatherLine(std::span<const float*> lines, std::span<const int64_t> offsets, float start, float* line) const {
    const auto& width = axes_[2];
    const int64_t least = width.before - (width.window - 1) * width.dilation;
    const int64_t begin = std::clamp<int64_t>(-least, 0, width.out);  // from here to `end` all are there
    const int64_t end = std::clamp<int64_t>(width.in - width.before, begin, width.out);
    const auto some = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        float sum = start;
        for (size_t k = 0; k < lines.size(); ++k) {
          const int64_t at = i + offsets[k];
          if (at >= 0 && at < width.in) sum += lines[k][at];
        }
        line[i] = sum;
      }
    };
    some(0, begin);
    some(end, width.out);
    if (begin == end) return;
    for (size_t k = 0; k < lines.size(); ++k) lines[k] += begin + offsets[k];
    rowFunctions().addLines(lines.data(), lines.size(), start, line + begin, static_cast<size_t>(end - begin));
  }

  void add(const float* products, int64_t step, int64_t first, int64_t count, float* plane) const {
    const auto& [depth, height, width] = axes_;
    for (int64_t pixel = first; pixel < first + count;) {
      const int64_t column = pixel % width.in;
      const int64_t run = std::min(width.in - column, first + count - pixel);
      const int64_t row = pixel / width.in % height.in;
      const int64_t slice = pixel / width.in / height.in;
      const float* from = products + pixel - first;
      for (int64_t d = 0; d < depth.window; ++d) {
        const int64_t z = depth.place(slice, d);
        for (int64_t h = 0; h < height.window; ++h) {
          const int64_t y = height.place(row, h);
          const bool isInside = z >= 0 && z < depth.out && y >= 0 && y < height.out;
          if (isInside) addLine(from, step, column, run, plane + (z * height.out + y) * width.out);
          from += width.window * step;
        }
      }
      pixel += run;
    }
  }

  // All elements of a line of the window: as many as the stride has side by side become neighbours in the result.
  void addLine(const float* from, int64_t step, int64_t column, int64_t run, float* line) const {
    const auto& width = axes_[2];
    const int64_t together = width.stride > 1 && width.dilation == 1 ? width.stride : 0;
    int64_t tap = 0;
    for (; together > 0 && tap + together <= width.window; tap += together)
      addTogether(from + tap * step, step, column, run, tap, line);
    for (; tap < width.window; ++tap) addRun(from + tap * step, column, run, tap, line);
  }

  void addTogether(const float* from, int64_t step, int64_t column, int64_t run, int64_t tap, float* line) const {
    if (isDisjoint_) {  // nothing else comes there
      const auto stride = static_cast<size_t>(axes_[2].stride);
      return transpose_(from, static_cast<size_t>(step), line + axes_[2].place(column, tap), stride, stride,
                        static_cast<size_t>(run));
    }
    constexpr int64_t kFloats = 4096;
    alignas(64) float joined[kFloats];
    static_assert(kFloats >= kMostElements);
    const auto& width = axes_[2];
    const int64_t stride = width.stride;
    const int64_t most = kFloats / stride;
    for (int64_t first = 0; first < run; first += most) {
      const int64_t count = std::min(most, run - first);
      transpose_(from + first, static_cast<size_t>(step), joined, static_cast<size_t>(stride),
                 static_cast<size_t>(stride), static_cast<size_t>(count));
      const int64_t place = width.place(column + first, tap);
      const int64_t begin = std::max<int64_t>(0, -place);
      const int64_t end = std::min(count * stride, width.out - place);
      float* const __restrict__ to = line + place;
      for (int64_t i = begin; i < end; ++i) to[i] += joined[i];
    }
  }

  // Pixels [column, column + run) of a row.
  void addRun(const float* __restrict__ from, int64_t column, int64_t run, int64_t tap, float* line) const {
    const auto& width = axes_[2];
    const int64_t place = width.place(column, tap);
    const int64_t stride = width.stride;
    const int64_t begin = place >= 0 ? 0 : (-place + stride - 1) / stride;
    const int64_t end = place >= width.out ? 0 : std::min(run, (width.out - place + stride - 1) / stride);
    float* const __restrict__ to = line + place;
    if (stride == 1) {
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    } else {
      for (int64_t i = begin; i < end; ++i) to[i * stride] += from[i];
    }
  }

  const ColumnDeconvolutionKernel& kernel_;
  PointwiseRunner epilogue_;
  const TileFunctions& functions_;
  decltype(TransposeFunctions::transpose) transpose_ = transposeFunctions(sizeof(float)).transpose;
  std::array<Axis, 3> axes_;     // the last ones are the spatial axes
  std::vector<void*> operands_;  // of the epilogue
  bool hasEpilogue_ = false;
  bool isDisjoint_ = false;  // windows meet nowhere and fill the result
  int64_t images_ = 0;       // and groups
  int64_t pixels_ = 0, outPixels_ = 0, imageFloats_ = 0;
};

std::unique_ptr<runtime::KernelInstance> ColumnDeconvolutionKernel::instantiate() const {
  return std::make_unique<ColumnDeconvolutionInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Deconvolution>();
  if (description == nullptr) throw Unsupported("cpu.column_deconvolution cannot compute {}", op.name());
  return std::make_unique<ColumnDeconvolutionKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_column_deconvolution() { return {"column_deconvolution", 1, &load}; }

}  // namespace tenon::backends::cpu
