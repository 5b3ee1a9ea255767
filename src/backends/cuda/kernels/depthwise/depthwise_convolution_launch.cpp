// Depthwise convolution of channels-last tensors with constant weights, which are packed by tap.
#include <algorithm>
#include <limits>

#include "backends/cuda/kernels/depthwise/depthwise_forms.h"
#include "backends/cuda/kernels/depthwise/depthwise_weights.h"
#include "core/text.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;
constexpr int kAnyWindow = 0;   // the variant of depthwise.cuh for those; others are forms that work down the rows
constexpr int64_t kPlaces = 2;  // of its threads

// Params are "window:tile types": rows of a square window, or 0; a tile's text (depthwise_forms.h), "any" for the form
// for any window, or "" where the likely fastest tile is taken at each shape.
struct Record {
  int64_t window = 0;
  std::string tile;
  Types types;
  explicit Record(const plan::KernelRecord& record) {
    const auto split = std::min(record.params.find('['), record.params.size());
    auto rest = record;
    rest.params = record.params.substr(split);
    types = Types::read(rest);
    const std::string text = record.params.substr(0, split);
    TextReader in(text, "a depthwise convolution");
    window = in.integer();
    in.expect(":");
    tile = text.substr(in.position());
  }
};

// The stride of both axes where there are forms for windows of known extent; else 0.
int knownStride(const ops::Convolution& op) {
  const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  if (!all(op.dilations, 1)) return 0;
  return all(op.strides, 1) ? 1 : all(op.strides, 2) ? 2 : 0;
}

Code codeOf(const ops::Convolution& op, const Record& record) {
  std::vector<int> variants{kAnyWindow};
  const int64_t elementBytes = bits(record.types.inputs.at(0)) / 8;
  if (record.window > 0 && record.window <= 11) {
    for (const auto& form : depthwiseForms(static_cast<int>(record.window), knownStride(op), elementBytes))
      variants.push_back(form.variant());
  }
  return directCode("depthwise.cuh", "convolveDepthwise", "WindowParameters", op.epilogue, record.types,
                    op.hasBias ? 3 : 2, variants, "KERNEL_WITHOUT_WAIT(, ");
}

class DepthwiseInstance final : public runtime::KernelInstance {
 public:
  DepthwiseInstance(const ops::Convolution& op, const std::string& tile, const Module& module, bool isFinite)
      : op_(op), tile_(tile), module_(module), isFinite_(isFinite) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    parameters_.set(op_, shapes, y, x);
    blocks_ = 0;
    if (y.dims.count() == 0) return 0;
    if (!configureRows(y.dims, {bits(x.dtype) / 8, bits(y.dtype) / 8}))
      configureAnyWindow(y.dims, bits(x.dtype) == 16 ? 8 : 4);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    parameters_.bind(op_.hasBias, arguments);
    parameters_.w = arguments.inputs[1];
    checkUser(isAligned(parameters_.x, kPackBytes) && isAligned(parameters_.data[0], kPackBytes),
              "depthwise convolution: a tensor is not aligned to {} bytes", kPackBytes);
    launchGrid(function_, blocks_, 1, 1, block_, &parameters_, arguments.stream, shared_);
  }

 private:
  // Whether the form that works down the rows serves.
  bool configureRows(const Dims& y, const ElementBytes& bytes) {
    if (tile_ == "any" || !isFinite_ || !worksDownRows(parameters_)) return false;
    const auto choices = tile_.empty() ? depthwiseChoices(parameters_, y[0], bytes, 1)
                                       : std::vector{parseDepthwise(tile_, parameters_, bytes)};
    if (choices.empty()) return false;
    const auto& choice = choices[0];
    if (y[0] * choice.tile.heights > std::numeric_limits<int32_t>::max() - 16) return false;  // what strips count
    const auto& tile = parameters_.tile = choice.tile;
    function_ = module_.function(fmt::format("tenon_direct_{}", choice.form.variant()));
    block_ = static_cast<unsigned>(choice.form.threads(tile));
    shared_ = static_cast<unsigned>(choice.form.sharedBytes(tile, bytes));
    allowSharedBytes(function_, shared_);
    parameters_.count = y[0] * tile.heights;
    setBlocks(choice.form.blocks(tile, y[0]));
    return true;
  }

  void configureAnyWindow(const Dims& y, int64_t pack) {
    if (isLine(parameters_)) swapAxes();
    const int64_t strips = (int64_t{parameters_.window[2].small} + kPlaces - 1) / kPlaces;
    parameters_.count = y[0] * parameters_.window[1].small * strips * (y[1] / pack);
    function_ = module_.function(fmt::format("tenon_direct_{}", kAnyWindow));
    block_ = std::min(blockSize(parameters_.count), 128u);
    shared_ = 0;
    setBlocks((parameters_.count + block_ - 1) / block_);
  }

  // One column: neighbouring places lie along the other axis.
  static bool isLine(const WindowParameters& p) {
    return p.window[2].kernel == 1 && p.window[2].small == 1 && p.window[2].large == 1;
  }
  void swapAxes() {
    std::swap(parameters_.window[1], parameters_.window[2]);
    std::swap(parameters_.xStride[3], parameters_.xStride[4]);
    for (auto& stride : parameters_.stride) std::swap(stride[3], stride[4]);
  }

  void setBlocks(int64_t blocks) {
    checkUser(blocks < int64_t{1} << 31, "depthwise convolution: a grid of {} blocks; at most 2^31 - 1 are possible",
              blocks);
    blocks_ = static_cast<unsigned>(blocks);
  }

  const ops::Convolution& op_;
  const std::string& tile_;
  const Module& module_;
  const bool isFinite_;  // the weights
  CUfunction function_ = nullptr;
  unsigned blocks_ = 0, block_ = 0, shared_ = 0;
  WindowLaunch parameters_;
};

class DepthwiseKernel final : public runtime::Kernel, public WeightsByTap {
 public:
  explicit DepthwiseKernel(const runtime::KernelLoad& load)
      : WeightsByTap(load, "depthwise_convolution"),
        op_(descriptionOf<ops::Convolution>(load)),
        record_(load.record),
        module_(load.nativeCode, codeOf(op_, record_)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<DepthwiseInstance>(op_, record_.tile, module_, isFinite());
  }

 private:
  ops::Convolution op_;
  Record record_;
  Module module_;
};

}  // namespace

KernelRow kernelRow_depthwise_convolution() {
  return {
      "depthwise_convolution", 5,
      [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
        return std::make_unique<DepthwiseKernel>(load);
      },
      [](const plan::KernelRecord& record) { return codeOf(descriptionOf<ops::Convolution>(record), Record(record)); }};
}

}  // namespace tenon::backends::cuda
