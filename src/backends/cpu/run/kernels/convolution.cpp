// Convolution over channels-last images: tiles of pixels times panels of output channels, the window's taps summed in
// registers. No matrix of patches is made; taps beyond the image read a row of zeros.
#include "ops/op/convolution.h"

#include <cstring>

#include "backends/cpu/run/kernel_row.h"
#include "backends/cpu/run/tile_epilogue.h"
#include "backends/cpu/run/window.h"
#include "backends/cpu/run/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kTablePointers = 4096;       // sources of one job
constexpr int64_t kBlockFloats = 48 * 1024;    // input of one job that should stay in the second cache
constexpr int64_t kInnerFloats = 4 * 1024;     // input of one group that should stay in the first cache from panel to panel
constexpr int64_t kFewChannels = 8;            // below, a whole row of the window is one tap of a padded copy

struct ConvolutionKernel final : runtime::Kernel {
  ConvolutionKernel(const ops::Convolution& op, const runtime::KernelLoad& load);
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::Convolution op;
  Panels panels;              // group by group: [panel][tap, channel][column]
  std::vector<float> bias;    // group by group, filled up to whole panels; empty without
  Dims weights;
};

ConvolutionKernel::ConvolutionKernel(const ops::Convolution& op, const runtime::KernelLoad& load) : op(op) {
  const auto& w = load.constants[1];
  if (w.data == nullptr) throw Unsupported("cpu.convolution needs weights that are constants");
  weights = w.dims;
  const int64_t columns = w.dims[0] / op.groups;
  const int64_t channels = w.dims[1];
  const int64_t taps = w.dims.count(2, w.dims.rank);
  const auto* const data = static_cast<const float*>(w.data);
  if (op.hasBias && load.constants[2].data == nullptr) throw Unsupported("cpu.convolution needs a bias that is a constant");
  if (load.sizesOnly) return;
  const int64_t width = tileGeometry().columns;
  const int64_t padded = panelCount(columns) * width;
  const int64_t panelFloats = taps * channels * width;
  panels.resize(static_cast<size_t>(op.groups * panelCount(columns) * panelFloats));
  for (int64_t g = 0; g < op.groups; ++g) {
    for (int64_t t = 0; t < taps; ++t) {
      const PanelSource tap{data + g * columns * channels * taps + t, channels, columns, taps, channels * taps};
      packPanelsInto(tap, panels.data() + g * panelCount(columns) * panelFloats + t * channels * width, panelFloats);
    }
    if (!op.hasBias) continue;
    const auto* const values = static_cast<const float*>(load.constants[2].data) + g * columns;
    bias.insert(bias.end(), values, values + columns);
    bias.resize(static_cast<size_t>((g + 1) * padded), 0.f);
  }
}

class ConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit ConvolutionInstance(const ConvolutionKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;

 private:
  void divide();
  void pad(const float* from, float* to) const;
  void pointAt(const float* x, int64_t firstPixel, int64_t pixels, const float** table) const;
  void pointTileAt(const float* x, int64_t pixel, int64_t count, const float** table) const;
  void job(int64_t index, const float* x, float* out, void* const* extras) const;
  struct Part {
    const float* const* table;
    int64_t first, pixels;
  };
  void panel(const Part& part, int64_t p, bool isFirst, float* out, void* const* extras) const;

  const ConvolutionKernel& kernel_;
  TileEpilogue epilogue_;
  size_t firstExtra_ = 2;
  Window window_;         // its step is that of the copy, where there is one
  int64_t fromStep_ = 0;  // floats from pixel to pixel of a channels-last input
  bool copies_ = false;   // the input is copied with its padding first, and a row of the window is one tap
  bool planar_ = false;   // the input is row-major
  bool isFlat_ = false;   // pixel i of the result is made of pixel i of the input alone
  int64_t taps_ = 0, depth_ = 0;
  int64_t groupChannels_ = 0, groupColumns_ = 0, panels_ = 0;
  int64_t tiles_ = 0, blockTiles_ = 1, innerTiles_ = 1, blocks_ = 0, chunkPanels_ = 1, chunks_ = 1;
  std::vector<float> zeros_;
};

std::unique_ptr<runtime::KernelInstance> ConvolutionKernel::instantiate() const { return std::make_unique<ConvolutionInstance>(*this); }

size_t ConvolutionInstance::configure(const runtime::Shapes& shapes) {
  const auto& op = kernel_.op;
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  firstExtra_ = op.hasBias ? 3 : 2;
  epilogue_.configure("cpu.convolution", y.dims, shapes.inputs.subspan(firstExtra_), 1);
  epilogue_.setSteps(y, shapes.inputs.subspan(firstExtra_));
  window_ = makeWindow(op, kernel_.weights, x, y, shapes.symbols);
  planar_ = x.format == Format::kLinear;
  groupChannels_ = window_.channels / op.groups;
  groupColumns_ = window_.outChannels / op.groups;
  panels_ = panelCount(groupColumns_);
  const bool unpadded = window_.before[0] == 0 && window_.before[1] == 0 && window_.endsInside();
  const bool rowsAreTaps = op.groups == 1 && window_.dilation[1] == 1;
  copies_ = planar_ || (rowsAreTaps && window_.channels < kFewChannels && window_.size[1] > 1 && !unpadded);
  const bool dense = window_.step == window_.channels;
  const bool joined = rowsAreTaps && (copies_ || (unpadded && dense));
  taps_ = joined ? window_.size[0] : window_.size[0] * window_.size[1];
  depth_ = joined ? window_.size[1] * groupChannels_ : groupChannels_;
  if (copies_) window_.step = window_.channels;
  fromStep_ = runtime::pixelStep(x);
  isFlat_ = unpadded && window_.size[0] * window_.size[1] == 1 && window_.stride[0] == 1 && window_.stride[1] == 1 &&
            window_.out == window_.extent;
  zeros_.assign(static_cast<size_t>(window_.channels), 0.f);
  divide();
  if (!copies_) return 0;
  const size_t bytes = static_cast<size_t>(window_.batch * window_.paddedExtent(0) * window_.paddedExtent(1) * window_.channels) * sizeof(float);
  return bytes;
}

// The same for every number of threads, so that results are too.
void ConvolutionInstance::divide() {
  const int64_t rows = tileGeometry().rows;
  tiles_ = (window_.outPixels() + rows - 1) / rows;
  constexpr int64_t kJobs = 16;  // at least about so many, for balance
  const int64_t inTable = std::max<int64_t>(1, kTablePointers / (taps_ * rows));
  const int64_t inCache = std::max<int64_t>(1, kBlockFloats / (rows * std::max<int64_t>(window_.channels, 1)));
  const int64_t allPanels = std::max<int64_t>(1, panels_ * kernel_.op.groups);
  const int64_t balanced = std::max<int64_t>(1, tiles_ * allPanels / kJobs);
  blockTiles_ = std::max<int64_t>(1, std::min({inTable, inCache, tiles_, balanced}));
  // A panel that leaves the first cache for each part should at least serve a few tiles.
  innerTiles_ = std::max<int64_t>(4, kInnerFloats / (rows * window_.size[0] * std::max<int64_t>(groupChannels_, 1)));
  blocks_ = (tiles_ + blockTiles_ - 1) / blockTiles_;
  chunks_ = std::clamp<int64_t>((kJobs + blocks_ - 1) / std::max<int64_t>(blocks_, 1), 1, allPanels);
  chunkPanels_ = (allPanels + chunks_ - 1) / chunks_;
  chunks_ = (allPanels + chunkPanels_ - 1) / chunkPanels_;
}

void ConvolutionInstance::pad(const float* from, float* to) const {
  const int64_t height = window_.paddedExtent(0), width = window_.paddedExtent(1), channels = window_.channels;
  const int64_t plane = window_.extent[0] * window_.extent[1];
  runJobs(window_.batch * height, window_.batch * height * width * channels, [&](int64_t job) {
    float* row = to + job * width * channels;
    const int64_t y = job % height - window_.before[0];
    const int64_t image = job / height;
    if (y < 0 || y >= window_.extent[0]) {
      std::fill_n(row, width * channels, 0.f);
      return;
    }
    const int64_t before = std::min(window_.before[1], width);
    std::fill_n(row, before * channels, 0.f);
    row += before * channels;
    const int64_t inside = std::min(window_.extent[1], width - before);
    if (planar_) {
      const float* const line = from + image * plane * channels + y * window_.extent[1];
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < inside; ++i) row[i * channels + c] = line[c * plane + i];
      }
    } else {
      const float* line = from + (image * plane + y * window_.extent[1]) * fromStep_;
      if (fromStep_ == channels) {
        std::memcpy(row, line, static_cast<size_t>(inside * channels) * sizeof(float));
      } else {
        for (int64_t i = 0; i < inside; ++i) std::copy_n(line + i * fromStep_, channels, row + i * channels);
      }
    }
    std::fill_n(row + inside * channels, (width - before - inside) * channels, 0.f);
  });
}

// Sources of consecutive pixels, tile by tile and tap by tap; the last tile may be short.
void ConvolutionInstance::pointAt(const float* x, int64_t firstPixel, int64_t pixels, const float** table) const {
  const int64_t rows = tileGeometry().rows;
  for (int64_t done = 0; done < pixels; done += rows) {
    const int64_t count = std::min(rows, pixels - done);
    if (isFlat_) {
      for (int64_t i = 0; i < count; ++i) *table++ = x + (firstPixel + done + i) * window_.step;
      continue;
    }
    pointTileAt(x, firstPixel + done, count, table);
    table += count * taps_;
  }
}

void ConvolutionInstance::pointTileAt(const float* x, int64_t pixel, int64_t count, const float** table) const {
  const Window w = window_;
  const int64_t height = copies_ ? w.paddedExtent(0) : w.extent[0];
  const int64_t width = copies_ ? w.paddedExtent(1) : w.extent[1];
  const int64_t across = taps_ / w.size[0];  // taps of one row of the window
  const int64_t step = w.stride[1] * w.step;
  const float* const zeros = zeros_.data();
  for (int64_t done = 0; done < count;) {
    // A run of pixels within one row of the output.
    const int64_t ox = (pixel + done) % w.out[1];
    const int64_t oy = (pixel + done) / w.out[1] % w.out[0];
    const int64_t image = (pixel + done) / w.out[1] / w.out[0];
    const int64_t run = std::min(count - done, w.out[1] - ox);
    const int64_t left = ox * w.stride[1] - (copies_ ? 0 : w.before[1]);
    const int64_t top = oy * w.stride[0] - (copies_ ? 0 : w.before[0]);
    for (int64_t r = 0; r < w.size[0]; ++r) {
      const int64_t y = top + r * w.dilation[0];
      const bool rowInside = y >= 0 && y < height;
      const float* const line = x + (image * height + y) * width * w.step;
      for (int64_t s = 0; s < across; ++s) {
        const float** const to = table + (r * across + s) * count + done;
        const int64_t column = left + s * w.dilation[1];
        const float* const from = line + column * w.step;
        if (rowInside && column >= 0 && column + (run - 1) * w.stride[1] < width) {
          for (int64_t i = 0; i < run; ++i) to[i] = from + i * step;
          continue;
        }
        for (int64_t i = 0; i < run; ++i) {
          const int64_t at = column + i * w.stride[1];
          to[i] = rowInside && at >= 0 && at < width ? from + i * step : zeros;
        }
      }
    }
    done += run;
  }
}

void ConvolutionInstance::job(int64_t index, const float* x, float* out, void* const* extras) const {
  const float* table[kTablePointers];
  const int64_t rows = tileGeometry().rows;
  const int64_t firstTile = index / chunks_ * blockTiles_;
  const int64_t firstPixel = firstTile * rows;
  const int64_t pixels = std::min(blockTiles_ * rows, window_.outPixels() - firstPixel);
  pointAt(x, firstPixel, pixels, table);
  const int64_t firstPanel = index % chunks_ * chunkPanels_;
  const int64_t lastPanel = std::min(firstPanel + chunkPanels_, panels_ * kernel_.op.groups);
  for (int64_t done = 0; done < pixels; done += innerTiles_ * rows) {
    const Part part{table + done * taps_, firstPixel + done, std::min(innerTiles_ * rows, pixels - done)};
    for (int64_t p = firstPanel; p < lastPanel; ++p) panel(part, p, p == firstPanel || p % panels_ == 0, out, extras);
  }
}

void ConvolutionInstance::panel(const Part& part, int64_t p, bool isFirst, float* out, void* const* extras) const {
  const auto [rows, columns] = tileGeometry();
  const auto& functions = tileFunctions();
  const int64_t group = p / panels_;
  const int64_t inGroup = p % panels_ * columns;
  const int64_t column = group * groupColumns_ + inGroup;
  TileCall call;
  call.offset = group * groupChannels_;
  call.taps = taps_;
  call.depth = depth_;
  call.panel = kernel_.panels.data() + p * taps_ * depth_ * columns;
  call.bias = kernel_.bias.empty() ? nullptr : kernel_.bias.data() + p * columns;
  call.width = std::min<int64_t>(columns, groupColumns_ - inGroup);
  for (int64_t done = 0; done < part.pixels; done += rows) {
    const int64_t count = std::min<int64_t>(rows, part.pixels - done);
    const int64_t pixel = part.first + done;
    call.sources = part.table + done * taps_;
    if (done + rows < part.pixels) {
      const int64_t next = std::min<int64_t>(rows, part.pixels - done - rows);
      if (isFirst && isFlat_) fetchRows(call.sources[rows] + call.offset, next, window_.step, depth_);
      fetchRows(out + (pixel + rows) * window_.outStep + column, next, window_.outStep, call.width);
    }
    epilogue_.run(functions[static_cast<size_t>(count)], static_cast<int>(count), call, out, extras, pixel, column, window_.outChannels);
  }
}

void ConvolutionInstance::launch(const runtime::LaunchArguments& arguments) {
  if (window_.outPixels() * window_.outChannels == 0) return;
  const auto* x = static_cast<const float*>(arguments.inputs[0]);
  if (copies_) {
    pad(x, static_cast<float*>(arguments.workspace));
    x = static_cast<const float*>(arguments.workspace);
  }
  auto* const out = static_cast<float*>(arguments.outputs[0]);
  void* const* const extras = arguments.inputs + firstExtra_;
  runJobs(blocks_ * chunks_, window_.outPixels() * window_.outChannels * taps_ * depth_, [&](int64_t i) { job(i, x, out, extras); });
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Convolution>();
  if (description == nullptr) throw Unsupported("cpu.convolution cannot compute {}", op.name());
  return std::make_unique<ConvolutionKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_convolution() { return {"convolution", 1, &load}; }

}  // namespace tenon::backends::cpu
