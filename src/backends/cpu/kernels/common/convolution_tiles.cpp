// Launch of convolutions by tiles. Implicit GEMM: no im2col matrix is stored; window elements in the
// padding read a row of zeros.
#include "backends/cpu/kernels/common/convolution_tiles.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/window.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kTablePointers = 4096;           // sources of one job
constexpr int64_t kBlockFloats = 48 * 1024;        // input of one job that should stay in the second cache
constexpr int64_t kLargeBlockFloats = 112 * 1024;  // the same where weights are more, all of which each job reads
constexpr int64_t kInnerFloats =
    4 * 1024;  // input of one group that should stay in the first cache from panel to panel
constexpr int64_t kInnerPanelFloats = 8 * 1024;  // of a panel that fits into the first cache beside tiles
constexpr int64_t kManyResults = 64 * 1024;
constexpr int64_t kManyWeights = 64 * 1024;  // that other layers drive out of the second cache
constexpr int64_t kShortDepth = 96;          // up to so deep, asking for rows takes longer than what it gains
constexpr int64_t kFewChannels = 8;          // below, a whole row of the window is one tap of a padded copy

class ConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit ConvolutionInstance(const ConvolutionTiles& kernel) : kernel_(kernel), extras_(kernel.parts().size()) {
    for (const auto& part : kernel.parts()) epilogues_.emplace_back(part.op.epilogue);
  }
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;

 private:
  // A result: where it is and what its epilogue reads.
  struct Target {
    float* out = nullptr;
    int64_t channels = 0, step = 0;
    void* const* extras = nullptr;
  };
  void configureEpilogue(size_t part, const runtime::Shapes& shapes);
  int64_t tilesOf(int64_t pixels) const { return (pixels + tileRows_ - 1) / tileRows_; }
  void divide();
  void pad(const float* from, float* to) const;
  void pointAt(const float* x, int64_t firstPixel, int64_t pixels, const float** table) const;
  void pointTileAt(const float* x, int64_t pixel, int64_t count, const float** table) const;
  void job(int64_t index, const float* x) const;
  struct Part {
    const float* const* table;
    int64_t first, pixels;
  };
  void panel(const Part& part, int64_t p, bool isFirst, bool hasNext) const;
  void strips(const float* x, int64_t first, int64_t pixels, int64_t p) const;
  void finishShared(float* buffer, int rows, const std::vector<ConvolutionTiles::Segment>& segments,
                    int64_t pixel) const;

  const ConvolutionTiles& kernel_;
  std::vector<TileEpilogue> epilogues_;
  std::vector<std::vector<void*>> extras_;
  std::vector<Target> targets_;
  const float* weights_ = nullptr;  // of a launch, packed
  Window window_;                   // its step is that of the copy, where there is one
  int64_t fromStep_ = 0;            // floats from pixel to pixel of a channels-last input
  bool copies_ = false;             // the input is copied with its padding first, and a row of the window is one tap
  bool planar_ = false;             // the input is row-major
  bool isFlat_ = false;             // pixel i of the result is made of pixel i of the input alone
  bool isEven_ = false;             // rows of tiles lie evenly along a line, so that strips take them
  int64_t taps_ = 0, depth_ = 0;
  int64_t groupChannels_ = 0, groupPanels_ = 0, panels_ = 0, columns_ = 0;
  int64_t tileRows_ = 1;  // pixels of a tile; the last one may have fewer
  int64_t tiles_ = 0, blockTiles_ = 1, innerTiles_ = 1, blocks_ = 0, chunkPanels_ = 1, chunks_ = 1;
  bool panelsFirst_ = false;  // one panel after another meets all pixels
  bool fetchesOut_ = false;   // results leave the second cache
  bool fetches_ = false;      // weights leave the second cache between launches
  std::vector<float> zeros_;
};

void ConvolutionInstance::configureEpilogue(size_t part, const runtime::Shapes& shapes) {
  const auto& [op, inputs] = kernel_.parts()[part];
  Dims expected = shapes.outputs[0].dims;
  expected[1] = kernel_.weights(part)[0];
  if (shapes.outputs[part].dims != expected) {
    throw Unsupported("cpu.convolution: the output has shape {}, expected {}", shapes.outputs[part].dims.text(),
                      expected.text());
  }
  std::vector<runtime::TensorShape> extras;
  for (size_t i = op.hasBias ? 3 : 2; i < inputs.size(); ++i) extras.push_back(shapes.inputs[inputs[i]]);
  extras_[part].assign(extras.size(), nullptr);
  const auto& y = shapes.outputs[part];
  epilogues_[part].configure("cpu.convolution", y.dims, extras, 1);
  epilogues_[part].setSteps(y, extras);
  targets_.push_back({nullptr, y.dims[1], runtime::pixelStep(y), extras_[part].data()});
}

size_t ConvolutionInstance::configure(const runtime::Shapes& shapes) {
  const auto& op = kernel_.op();
  const auto& x = shapes.inputs[kernel_.parts()[0].inputs[0]];
  targets_.clear();
  for (size_t part = 0; part < epilogues_.size(); ++part) configureEpilogue(part, shapes);
  window_ = makeWindow(op, kernel_.weights(), x, shapes.outputs[0], shapes.symbols);
  columns_ = 0;
  for (const auto& target : targets_) columns_ += target.channels;
  planar_ = x.layout == Layout::kLinear;
  groupChannels_ = window_.channels / op.groups;
  panels_ = static_cast<int64_t>(kernel_.panels().size());
  groupPanels_ = panels_ / op.groups;
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
  fetches_ = panels_ * kernel_.panelFloats() > kManyWeights;
  isEven_ = (isFlat_ || joined) && taps_ * depth_ <= kShortDepth && taps_ <= kMaxEvenTaps && !fetches_;
  for (const auto& panel : kernel_.panels()) isEven_ = isEven_ && panel.segments.size() == 1;
  divide();
  const int64_t copied = window_.batch * window_.paddedExtent(0) * window_.paddedExtent(1) * window_.channels;
  return copies_ ? static_cast<size_t>(copied) * sizeof(float) : 0;
}

// Tiles are the same for every number of threads, so that results are too. A tile of a pixel or two takes nearly as
// long as a whole one, since it reads the panel as well: 49 pixels are seven of seven.
void ConvolutionInstance::divide() {
  tileRows_ = tileGeometry().rows;
  const int64_t pixels = window_.outPixels();
  if (!isEven_ && pixels > 0) tileRows_ = (pixels + tilesOf(pixels) - 1) / tilesOf(pixels);
  const int64_t rows = tileRows_;
  tiles_ = tilesOf(pixels);
  const int64_t jobs = platform::coreCount() > 1 ? 16 : 1;  // at least about so many, for balance
  const int64_t inTable = std::max<int64_t>(1, kTablePointers / (taps_ * rows));
  const int64_t weights = panels_ * kernel_.panelFloats();
  panelsFirst_ = fetches_ && weights > window_.outPixels() * window_.channels;
  const int64_t block = weights > window_.outPixels() * window_.channels ? kLargeBlockFloats : kBlockFloats;
  const int64_t inCache = std::max<int64_t>(1, block / (rows * std::max<int64_t>(window_.channels, 1)));
  fetchesOut_ = window_.outPixels() * columns_ > kManyResults;
  const int64_t allPanels = std::max<int64_t>(1, panels_);
  const int64_t balanced = std::max<int64_t>(1, tiles_ * allPanels / jobs);
  blockTiles_ = std::max<int64_t>(1, std::min({inTable, inCache, tiles_, balanced}));
  // A panel that leaves the first cache for each part should at least serve a few tiles, and one that does not fit
  // into it anyway all of them: its way from the second cache is as fast as the tiles want it.
  innerTiles_ = std::max<int64_t>(4, kInnerFloats / (rows * window_.size[0] * std::max<int64_t>(groupChannels_, 1)));
  if (kernel_.panelFloats() > kInnerPanelFloats) innerTiles_ = blockTiles_;
  blocks_ = (tiles_ + blockTiles_ - 1) / blockTiles_;
  chunks_ = std::clamp<int64_t>((jobs + blocks_ - 1) / std::max<int64_t>(blocks_, 1), 1, allPanels);
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
  for (int64_t done = 0; done < pixels; done += tileRows_) {
    const int64_t count = std::min(tileRows_, pixels - done);
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

// One panel. Tiles are those of a table: what crosses the end of a line is a tile of its own.
void ConvolutionInstance::strips(const float* x, int64_t first, int64_t pixels, int64_t p) const {
  const int64_t rows = tileGeometry().rows;
  const auto& panel = kernel_.panels()[static_cast<size_t>(p)];
  const auto& segment = panel.segments.front();
  const auto& target = targets_[segment.part];
  const auto& epilogue = epilogues_[segment.part];
  TileCall call;
  call.offset = panel.group * groupChannels_;
  call.taps = taps_;
  call.depth = depth_;
  call.panel = weights_ + p * kernel_.panelFloats();
  call.bias = kernel_.biasOf(p);
  call.width = segment.at + segment.count;
  call.hasHalves = panel.hasHalves;
  const Window& w = window_;
  const int64_t height = copies_ ? w.paddedExtent(0) : w.extent[0], width = copies_ ? w.paddedExtent(1) : w.extent[1];
  const int64_t line = isFlat_ ? w.outPixels() : w.out[1];
  EvenRows even{nullptr, w.stride[1] * w.step, w.dilation[0] * width * w.step, 0};
  for (int64_t done = 0; done < pixels; done += even.count) {
    const int64_t pixel = first + done, column = pixel % line, left = line - column;
    even.count = std::min(pixels - done, left);
    if (even.count < pixels - done)
      even.count = even.count < rows ? std::min(rows, pixels - done) : even.count / rows * rows;
    if (even.count > left) {
      const float* table[kMaxEvenTaps * kMaxTileRows];
      pointTileAt(x, pixel, even.count, table);
      call.sources = table;
      epilogue.run(tileFunctions()[static_cast<size_t>(even.count)], static_cast<int>(even.count), call, target.out,
                   target.extras, pixel, segment.column, target.channels);
      continue;
    }
    const int64_t row = isFlat_ ? 0 : pixel / line / w.out[0] * height + pixel / line % w.out[0] * w.stride[0];
    even.from = x + (row * width + column * w.stride[1]) * w.step + call.offset;
    epilogue.run(even, call, target.out, target.extras, pixel, segment.column, target.channels);
  }
}

void ConvolutionInstance::job(int64_t index, const float* x) const {
  const float* table[kTablePointers];
  const int64_t rows = tileRows_;
  const int64_t block = panelsFirst_ ? index % blocks_ : index / chunks_;
  const int64_t chunk = panelsFirst_ ? index / blocks_ : index % chunks_;
  const int64_t firstTile = block * blockTiles_;
  const int64_t firstPixel = firstTile * rows;
  const int64_t pixels = std::min(blockTiles_ * rows, window_.outPixels() - firstPixel);
  if (!isEven_) pointAt(x, firstPixel, pixels, table);
  const int64_t firstPanel = chunk * chunkPanels_;
  const int64_t lastPanel = std::min(firstPanel + chunkPanels_, panels_);
  for (int64_t done = 0; done < pixels; done += innerTiles_ * rows) {
    const Part part{table + done * taps_, firstPixel + done, std::min(innerTiles_ * rows, pixels - done)};
    for (int64_t p = firstPanel; p < lastPanel; ++p) {
      if (isEven_) {
        strips(x, part.first, part.pixels, p);
        continue;
      }
      panel(part, p, p == firstPanel || p % groupPanels_ == 0, done == 0 && p + 1 < lastPanel);
    }
  }
}

void ConvolutionInstance::panel(const Part& part, int64_t p, bool isFirst, bool hasNext) const {
  const int64_t rows = tileRows_, columns = tileGeometry().columns;
  const auto& functions = tileFunctions();
  const auto& [group, segments, hasHalves] = kernel_.panels()[static_cast<size_t>(p)];
  const auto& segment = segments.front();
  const auto& target = targets_[segment.part];
  const bool isShared = segments.size() > 1;
  TileCall call;
  call.offset = group * groupChannels_;
  call.taps = taps_;
  call.depth = depth_;
  call.panel = weights_ + p * kernel_.panelFloats();
  call.bias = kernel_.biasOf(p);
  call.width = segments.back().at + segments.back().count;
  call.hasHalves = hasHalves;
  for (int64_t done = 0; done < part.pixels; done += rows) {
    const auto count = static_cast<int>(std::min<int64_t>(rows, part.pixels - done));
    const int64_t pixel = part.first + done;
    const auto function = functions[static_cast<size_t>(count)];
    call.sources = part.table + done * taps_;
    if (fetches_) call.ahead = aheadOf(call.panel, kernel_.panelFloats(), hasNext, done / rows, tilesOf(part.pixels));
    if (taps_ * depth_ > kShortDepth && done + rows < part.pixels) {
      const int64_t next = std::min<int64_t>(rows, part.pixels - done - rows);
      if (isFirst && isFlat_) fetchRows(call.sources[rows] + call.offset, next, window_.step, depth_);
      if (fetchesOut_ && !isShared)
        fetchRows(target.out + (pixel + rows) * target.step + segment.column, next, target.step, call.width);
      if (!isShared)
        epilogues_[segment.part].fetch(target.extras, pixel + rows, next, segment.column, call.width, target.channels);
    }
    if (!isShared) {
      epilogues_[segment.part].run(function, count, call, target.out, target.extras, pixel, segment.column,
                                   target.channels);
      continue;
    }
    alignas(64) float buffer[(kMaxTileRows + 1) * kMaxTileColumns];  // a row more, which vectors may read
    call.out = buffer;
    call.outStride = columns;
    function(call);
    std::fill_n(buffer + count * columns, columns, 0.f);
    finishShared(buffer, count, segments, pixel);
  }
}

void ConvolutionInstance::finishShared(float* buffer, int rows, const std::vector<ConvolutionTiles::Segment>& segments,
                                       int64_t pixel) const {
  for (const auto& segment : segments) {
    const auto& target = targets_[segment.part];
    epilogues_[segment.part].finish(buffer + segment.at, rows, tileGeometry().columns, segment.count, target.out,
                                    target.extras, pixel, segment.column, target.channels);
  }
}

void ConvolutionInstance::launch(const runtime::LaunchArguments& arguments) {
  if (window_.outPixels() * columns_ == 0) return;
  for (size_t part = 0; part < targets_.size(); ++part) {
    const auto& inputs = kernel_.parts()[part].inputs;
    for (size_t i = 0; i < extras_[part].size(); ++i)
      extras_[part][i] = arguments.inputs[inputs[inputs.size() - extras_[part].size() + i]];
    targets_[part].out = static_cast<float*>(arguments.outputs[part]);
  }
  const auto* x = static_cast<const float*>(arguments.inputs[kernel_.parts()[0].inputs[0]]);
  weights_ = static_cast<const float*>(arguments.inputs[kernel_.parts()[0].inputs[1]]);
  if (copies_) {
    pad(x, static_cast<float*>(arguments.workspace));
    x = static_cast<const float*>(arguments.workspace);
  }
  runJobs(blocks_ * chunks_, window_.outPixels() * columns_ * taps_ * depth_, [&](int64_t i) { job(i, x); });
}

}  // namespace

std::unique_ptr<runtime::KernelInstance> ConvolutionTiles::instantiate() const {
  return std::make_unique<ConvolutionInstance>(*this);
}

}  // namespace tenon::backends::cpu
