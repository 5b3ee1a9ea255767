// Convolution by 3x3 windows of stride 1 over channels-last images, by Winograd's F(4x4, 3x3) or F(2x2, 3x3): transform
// patches, 36 or 16 matmuls, transform back with bias and epilogue.
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/window.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/winograd_simd.h"
#include "core/error.h"
#include "ops/op/convolution.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockFloats = 512 * 1024;  // transformed input and products of one block: a share of the last cache
// Each block reads all weights: where they may come from memory, blocks are of so many patches, whose products take
// longer.
constexpr int64_t kLargeWeights = 1024 * 1024;  // floats
constexpr int64_t kLeastPatches = 64;

constexpr int64_t kManyWeights = 64 * 1024;     // that other layers drive out of the second cache
constexpr int64_t kManyPixels = 512 * 1024;     // floats of an image that does so
constexpr int64_t kSharedWork = 400'000;        // multiply-adds that are worth a second thread
constexpr int64_t kSharedWeights = 640 * 1024;  // at most; more are read once by all threads together

// Between the products of a block: a transform touches one line of each, which would meet in one set of the first cache
// where they lie a multiple of 4 KiB apart.
constexpr int64_t kApart = 16;

struct WinogradKernel final : runtime::Kernel, runtime::Packer {
  WinogradKernel(const ops::Convolution& op, WinogradForm form, const runtime::KernelLoad& load);
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  // [product][panel][channel][column]; the weights cannot be had again from it to the bit.
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1},
             fmt::format("winograd{0}x{0} panels of {1}, halves of {2}, {3}", form.out, tileGeometry().columns,
                         halfColumns(), weights.text()),
             static_cast<uint64_t>(form.products()) * panelBytes(weights[1], weights[0]),
             false}};
  }
  void pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const override;

  ops::Convolution op;
  WinogradForm form;
  Dims weights;
  std::vector<float> bias;  // filled up to whole panels; empty without
};

WinogradKernel::WinogradKernel(const ops::Convolution& op, WinogradForm form, const runtime::KernelLoad& load)
    : op(op), form(form) {
  const auto& w = load.constants[1];
  if (!isConstantF32(w) || w.dims.rank != 4 || w.dims[2] != 3 || w.dims[3] != 3 || op.groups != 1) {
    throw Unsupported("cpu.winograd needs constant 3x3 weights and one group");
  }
  if (op.hasBias && !isConstantF32(load.constants[2]))
    throw Unsupported("cpu.winograd needs a bias that is a constant");
  weights = w.dims;
  if (!op.hasBias) return;
  const auto* const values = static_cast<const float*>(load.constants[2].data);
  bias.assign(values, values + w.dims[0]);
  bias.resize(static_cast<size_t>(panelCount(w.dims[0]) * tileGeometry().columns), 0.f);
}

void WinogradKernel::pack(const runtime::PackedForm& packed, std::span<const void* const> sources, void* to) const {
  const int64_t columns = weights[0];
  const int64_t channels = weights[1];
  const int64_t width = tileGeometry().columns;
  const int64_t size = panelCount(columns) * channels * width;
  const auto* const data = static_cast<const float*>(sources[0]);
  if (columns % width != 0) std::memset(to, 0, packed.bytes);
  const int64_t work = 8 * form.products();  // of a window
  runJobs(columns, columns * channels * work, [&](int64_t k) {
    for (int64_t c = 0; c < channels; ++c) {
      double window[9];
      double products[kMostWinogradProducts];
      for (int i = 0; i < 9; ++i) window[i] = static_cast<double>(data[(k * channels + c) * 9 + i]);
      winogradWeights(form, window, products);
      float* const at = static_cast<float*>(to) + (k / width * channels + c) * width + k % width;
      for (int p = 0; p < form.products(); ++p) at[p * size] = static_cast<float>(products[p]);
      if (k % width < width / 2 || !hasHalves(columns - k / width * width)) continue;
      for (int p = 0; p < form.products(); ++p) at[p * size + halfColumns()] = static_cast<float>(products[p]);
    }
  });
}

// Columns of a panel that are computed where `left` are left: of one vector or two.
int64_t wholeVectors(int64_t left) {
  const int64_t width = tileGeometry().columns;
  return left <= width / 2 ? width / 2 : width;
}

class WinogradInstance final : public runtime::KernelInstance {
 public:
  explicit WinogradInstance(const WinogradKernel& kernel)
      : kernel_(kernel),
        in_(kernel.form.in()),
        out_(kernel.form.out),
        products_(kernel.form.products()),
        transforms_(winogradTransforms(kernel.form)),
        epilogue_(kernel.op.epilogue) {}
  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;

 private:
  // Patches by panels of columns.
  struct Block {
    int64_t first;  // patch
    int64_t count;
    int64_t firstPanel, panels;
    float* inputs;                       // [product][patch][channel]
    float* products;                     // [product][patch][column]
    int64_t columns;                     // of the products
    int64_t inputStride, productStride;  // floats from product to product
  };
  Block blockOf(int64_t first, int64_t count, int64_t firstPanel, int64_t panels, float* memory) const;
  void compute(const Block& block, const float* x, const float* weights, float* out, void* const* extras) const;
  void share(int64_t threads);
  void transformInput(const Block& block, int64_t patch, const float* x) const;
  void multiply(const Block& block, int64_t product, const float* weights) const;
  void transformOutput(const Block& block, int64_t patch, float* out, void* const* extras) const;

  const WinogradKernel& kernel_;
  const int64_t in_, out_, products_;  // of a patch: rows, rows of results, products
  const WinogradTransforms& transforms_;
  TileEpilogue epilogue_;
  size_t firstExtra_ = 2;
  Window window_;
  int64_t down_ = 0, across_ = 0;  // patches of an image
  int64_t patches_ = 0, blockPatches_ = 0, blocks_ = 0;
  int64_t columns_ = 0;  // padded
  int64_t blockFloats_ = 0;
  bool fetches_ = false;   // weights leave the second cache between launches
  int64_t ahead_ = 0;      // floats to the pixels that the patch after next reads; 0 where they are in the second cache
  bool together_ = false;  // all threads share one block after another
  // How several threads share the work where each keeps what it transforms: patches in so many parts, panels too.
  int64_t shares_ = 1, panelShares_ = 1;
  int64_t shareFloats_ = 0;
  std::vector<float> zeros_;
};

std::unique_ptr<runtime::KernelInstance> WinogradKernel::instantiate() const {
  return std::make_unique<WinogradInstance>(*this);
}

size_t WinogradInstance::configure(const runtime::Shapes& shapes) {
  const auto& op = kernel_.op;
  const auto& y = shapes.outputs[0];
  firstExtra_ = op.hasBias ? 3 : 2;
  epilogue_.configure("cpu.winograd", y.dims, shapes.inputs.subspan(firstExtra_), 1);
  epilogue_.setSteps(y, shapes.inputs.subspan(firstExtra_));
  window_ = makeWindow(op, kernel_.weights, shapes.inputs[0], y, shapes.symbols);
  down_ = (window_.out[0] + out_ - 1) / out_;
  across_ = (window_.out[1] + out_ - 1) / out_;
  patches_ = window_.batch * down_ * across_;
  if (patches_ == 0 || window_.outChannels == 0) return 0;
  const auto [rows, width] = tileGeometry();
  columns_ = panelCount(window_.outChannels) * width;
  const int64_t floatsPerPatch = products_ * (window_.channels + columns_);
  const bool isLarge = products_ * window_.channels * columns_ > kLargeWeights;
  const int64_t fitting =
      std::max<int64_t>(isLarge ? kLeastPatches : rows, kBlockFloats / floatsPerPatch / rows * rows);
  blockPatches_ = std::min(patches_, fitting);
  blocks_ = (patches_ + blockPatches_ - 1) / blockPatches_;
  blockFloats_ = blockPatches_ * floatsPerPatch + 2 * products_ * kApart;
  fetches_ = products_ * window_.channels * columns_ > kManyWeights;
  const bool comesFromAfar = window_.extent[0] * window_.extent[1] * window_.step > kManyPixels;
  ahead_ = comesFromAfar ? 2 * out_ * window_.step : 0;
  zeros_.assign(static_cast<size_t>(window_.channels), 0.f);
  const int64_t threads = platform::coreCount();
  together_ = isLarge || blocks_ < 3 * threads;
  shares_ = panelShares_ = 1;
  if (together_ && threads > 1 && products_ * window_.channels * columns_ <= kSharedWeights) share(threads);
  const int64_t floats = together_ ? std::max(blockFloats_, shareFloats_ * threads) : blockFloats_ * threads;
  return static_cast<size_t>(floats) * sizeof(float);
}

// Threads that meet between transforms and products read what others wrote: where their cores have no cache in common
// that takes longer than the products. Parts of patches read all weights each, parts of panels transform all patches.
void WinogradInstance::share(int64_t threads) {
  const auto [rows, width] = tileGeometry();
  const int64_t tiles = (patches_ + rows - 1) / rows;
  const int64_t panels = columns_ / width;
  // Cycles of 36 products, measured: a patch's channel in and out, a weight of one patch, and its way from a cache.
  constexpr double kTransform = 5, kProduct = 36. / 32, kWeight = 9, kJob = 500;
  double best = std::numeric_limits<double>::infinity();
  for (int64_t down = 1; down <= std::min(tiles, 4 * threads); ++down) {
    for (int64_t across = 1; across <= std::min(panels, 4 * threads); ++across) {
      const int64_t patches = std::min(patches_, (tiles + down - 1) / down * rows);
      const int64_t columns = (panels + across - 1) / across * width;
      const int64_t floats = products_ * (patches * (window_.channels + columns) + 2 * kApart);
      if (floats > kBlockFloats && down < std::min(tiles, 4 * threads)) continue;
      const auto both = static_cast<double>(patches * (window_.channels + columns));
      const auto products = static_cast<double>(window_.channels * columns);
      const double job =
          kJob + kTransform * both + products * std::max(kProduct * static_cast<double>(patches), kWeight);
      const double turns = static_cast<double>((down * across + threads - 1) / threads) + 0.25;
      if (turns * job >= best) continue;
      best = turns * job;
      shares_ = down;
      panelShares_ = across;
      shareFloats_ = floats;
    }
  }
}

WinogradInstance::Block WinogradInstance::blockOf(int64_t first, int64_t count, int64_t firstPanel, int64_t panels,
                                                  float* memory) const {
  Block block{first, count, firstPanel, panels, memory, nullptr, panels * tileGeometry().columns, 0, 0};
  block.inputStride = count * window_.channels + kApart;
  block.productStride = count * block.columns + kApart;
  block.products = memory + products_ * block.inputStride;
  return block;
}

void WinogradInstance::compute(const Block& block, const float* x, const float* weights, float* out,
                               void* const* extras) const {
  for (int64_t patch = 0; patch < block.count; ++patch) transformInput(block, patch, x);
  for (int64_t p = 0; p < products_; ++p) multiply(block, p, weights);
  for (int64_t patch = 0; patch < block.count; ++patch) transformOutput(block, patch, out, extras);
}

void WinogradInstance::transformInput(const Block& block, int64_t patch, const float* x) const {
  const int64_t at = block.first + patch;
  const int64_t left = at % across_ * out_ - window_.before[1];
  const int64_t top = at / across_ % down_ * out_ - window_.before[0];
  const float* const image = x + at / across_ / down_ * window_.extent[0] * window_.extent[1] * window_.step;
  const float* pixels[kMostWinogradProducts];
  const bool isInner = left >= 0 && left + in_ <= window_.extent[1] && top >= 0 && top + in_ <= window_.extent[0];
  for (int64_t i = 0; isInner && i < in_; ++i) {
    const float* const row = image + ((top + i) * window_.extent[1] + left) * window_.step;
    for (int64_t j = 0; j < in_; ++j) pixels[i * in_ + j] = row + j * window_.step;
  }
  for (int64_t i = 0; !isInner && i < in_; ++i) {
    for (int64_t j = 0; j < in_; ++j) {
      const int64_t row = top + i;
      const int64_t column = left + j;
      const bool inside = row >= 0 && row < window_.extent[0] && column >= 0 && column < window_.extent[1];
      pixels[i * in_ + j] = inside ? image + (row * window_.extent[1] + column) * window_.step : zeros_.data();
    }
  }
  transforms_.input(pixels, window_.channels, block.inputs + patch * window_.channels, block.inputStride, ahead_);
}

void WinogradInstance::multiply(const Block& block, int64_t product, const float* weights) const {
  const auto [rows, width] = tileGeometry();
  const float* const inputs = block.inputs + product * block.inputStride;
  float* const products = block.products + product * block.productStride;
  const int64_t all = columns_ / width;
  const auto& functions = tileFunctions();
  const auto strip = stripFunction();
  for (int64_t p = 0; p < block.panels; ++p) {
    TileCall call;
    call.depth = window_.channels;
    call.panel = weights + (product * all + block.firstPanel + p) * window_.channels * width;
    const int64_t left = window_.outChannels - (block.firstPanel + p) * width;
    call.width = left < width ? wholeVectors(left) : width;
    call.hasHalves = left < width && hasHalves(left);
    call.outStride = block.columns;
    // The panel that comes next may be the first one of the next product.
    const bool isLast = p + 1 == block.panels;
    const bool hasNext = !isLast || product + 1 < products_;
    const int64_t jump = isLast ? (all - block.panels) * window_.channels * width : 0;
    int64_t patch = 0;
    for (; patch < block.count; patch += rows) {
      if (fetches_) {
        call.ahead =
            aheadOf(call.panel, window_.channels * width, hasNext, patch / rows, (block.count + rows - 1) / rows);
      }
      if (call.ahead.at == nullptr && block.count - patch > rows) break;
      if (call.ahead.at != nullptr) call.ahead.at += jump;
      const int count = static_cast<int>(std::min<int64_t>(rows, block.count - patch));
      const float* sources[kMaxTileRows];
      for (int r = 0; r < count; ++r) sources[r] = inputs + (patch + r) * window_.channels;
      call.sources = sources;
      call.out = products + patch * block.columns + p * width;
      functions[static_cast<size_t>(count)](call);
    }
    if (patch >= block.count) continue;
    call.ahead = {};
    call.out = products + patch * block.columns + p * width;
    strip(call, {inputs + patch * window_.channels, window_.channels, 0, block.count - patch});
  }
}

void WinogradInstance::transformOutput(const Block& block, int64_t patch, float* out, void* const* extras) const {
  const int64_t width = tileGeometry().columns;
  const int64_t first = block.firstPanel * width;
  const int64_t channels = std::min(window_.outChannels - first, block.columns);
  const float* const bias = kernel_.bias.empty() ? nullptr : kernel_.bias.data() + first;
  const int64_t at = block.first + patch;
  const int64_t left = at % across_ * out_;
  const int64_t top = at / across_ % down_ * out_;
  const int64_t image = at / across_ / down_;
  const int64_t down = std::min(out_, window_.out[0] - top);
  const int64_t across = std::min(out_, window_.out[1] - left);
  if (const auto ends = epilogue_.ends(extras)) {
    const int64_t step = window_.outStep;
    WinogradPatch call{block.products + patch * block.columns, block.productStride, channels, bias};
    call.low = ends->low;
    call.high = ends->high;
    call.bends = ends->bends;
    call.slopes = ends->slopes == nullptr ? nullptr : ends->slopes + first;
    call.slope = ends->slope;
    call.out = out + ((image * window_.out[0] + top) * window_.out[1] + left) * step + first;
    call.rowStep = window_.out[1] * step;
    call.pixelStep = step;
    call.down = down;
    call.across = across;
    return transforms_.outputToImage(call);
  }
  alignas(64) float results[kMostWinogradResults * kMaxTileColumns];
  for (int64_t column = 0; column < channels; column += width) {
    transforms_.output(block.products + patch * block.columns + column, block.productStride,
                       wholeVectors(channels - column), bias == nullptr ? nullptr : bias + column, results, width);
    for (int64_t i = 0; i < down; ++i) {
      const int64_t row = (image * window_.out[0] + top + i) * window_.out[1] + left;
      epilogue_.finish(results + i * out_ * width, static_cast<int>(across), width, std::min(width, channels - column),
                       out, extras, row, first + column, window_.outChannels);
    }
  }
}

void WinogradInstance::launch(const runtime::LaunchArguments& arguments) {
  if (patches_ == 0 || window_.outChannels == 0) return;
  const auto* const x = static_cast<const float*>(arguments.inputs[0]);
  const auto* const weights = static_cast<const float*>(arguments.inputs[1]);
  auto* const out = static_cast<float*>(arguments.outputs[0]);
  auto* const memory = static_cast<float*>(arguments.workspace);
  void* const* const extras = arguments.inputs + firstExtra_;
  const int64_t panels = columns_ / tileGeometry().columns;
  const auto blockAt = [&](int64_t index, float* place) {
    return blockOf(index * blockPatches_, std::min(blockPatches_, patches_ - index * blockPatches_), 0, panels, place);
  };
  const int64_t work = patches_ * products_ * window_.channels * columns_;
  if (together_ && shares_ * panelShares_ > 1 && work >= kSharedWork && platform::teamSize() > 1) {
    const int64_t rows = tileGeometry().rows;
    const int64_t tiles = (patches_ + rows - 1) / rows;
    runJobs(shares_ * panelShares_, work, [&](int64_t job, int thread) {
      const int64_t down = job / panelShares_, across = job % panelShares_;
      const int64_t first = tiles * down / shares_ * rows;
      const int64_t last = std::min(patches_, tiles * (down + 1) / shares_ * rows);
      const int64_t panel = panels * across / panelShares_;
      compute(blockOf(first, last - first, panel, panels * (across + 1) / panelShares_ - panel,
                      memory + thread * shareFloats_),
              x, weights, out, extras);
    });
    return;
  }
  const int64_t transform = products_ * 4;
  if (together_) {
    for (int64_t index = 0; index < blocks_; ++index) {
      const Block block = blockAt(index, memory);
      runJobs(block.count, block.count * window_.channels * transform,
              [&](int64_t patch) { transformInput(block, patch, x); });
      runJobs(products_, products_ * block.count * window_.channels * columns_,
              [&](int64_t p) { multiply(block, p, weights); });
      runJobs(block.count, block.count * columns_ * transform,
              [&](int64_t patch) { transformOutput(block, patch, out, extras); });
    }
    return;
  }
  // Each thread has a block's memory of its own.
  runJobs(blocks_, work, [&](int64_t index, int thread) {
    compute(blockAt(index, memory + thread * blockFloats_), x, weights, out, extras);
  });
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Convolution>();
  if (description == nullptr) throw Unsupported("cpu.winograd cannot compute {}", op.name());
  const auto& form = request.record.params;
  if (!form.empty() && form != kSmallWinograd) throw Unsupported("cpu.winograd knows no form '{}'", form);
  return std::make_unique<WinogradKernel>(*description, WinogradForm{form.empty() ? 4 : 2}, request);
}

}  // namespace

KernelRow kernelRow_winograd() { return {"winograd", 1, &load}; }

}  // namespace tenon::backends::cpu
