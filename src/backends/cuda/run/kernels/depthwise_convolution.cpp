// Depthwise convolution of channels-last tensors with constant weights, which are laid out by tap when the kernel is made.
#include <algorithm>
#include <cstring>

#include "backends/cuda/run/direct.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;
constexpr int64_t kManyThreads = 132 * 512;  // that keep a large chip busy; with fewer, a thread takes fewer places

// As in depthwise.cuh: 100 * kernel + 10 * stride + places of a thread; 0 takes any window, at two places.
std::vector<int> variantsOf(const ops::Convolution& op) {
  const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  if (all(op.dilations, 1) && all(op.strides, 1)) return {0, 311, 312, 314, 511, 512, 514};
  if (all(op.dilations, 1) && all(op.strides, 2)) return {0, 321, 322, 521, 522};
  return {0};
}
int64_t placesOf(int variant) { return variant == 0 ? 2 : variant % 10; }

Code codeOf(const ops::Convolution& op, const Types& types) {
  return directCode("depthwise.cuh", "convolveDepthwise", "WindowParameters", op.epilogue, types, op.hasBias ? 3 : 2, variantsOf(op));
}

// [K,1,kernel...] to [kernel...,K].
std::vector<std::byte> byTap(const TensorView& w) {
  const int64_t channels = w.dims[0];
  const int64_t taps = w.dims.count(1, w.dims.rank);
  const auto size = static_cast<size_t>(bits(w.dtype) / 8);
  std::vector<std::byte> result(w.bytes());
  const auto* from = w.as<std::byte>();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      std::memcpy(result.data() + static_cast<size_t>(t * channels + c) * size, from + static_cast<size_t>(c * taps + t) * size, size);
    }
  }
  return result;
}

class DepthwiseInstance final : public runtime::KernelInstance {
 public:
  DepthwiseInstance(const ops::Convolution& op, const Module& module, const void* weights) : op_(op), module_(module), weights_(weights) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    parameters_.set(op_, shapes, y, x);
    const int64_t pack = bits(x.dtype) == 16 ? 8 : 4;
    const auto& window = parameters_.window;
    const auto threads = [&](int variant) {
      const int64_t columns = (window[2].small + placesOf(variant) - 1) / placesOf(variant);
      return y.dims.count() == 0 ? 0 : y.dims[0] * window[1].small * columns * (y.dims[1] / pack);
    };
    int chosen = 0;
    for (const int variant : variantsOf(op_)) {
      if (variant / 100 != window[1].kernel || variant / 100 != window[2].kernel) continue;
      if (chosen == 0 || threads(variant) >= kManyThreads) chosen = variant;
    }
    function_ = module_.function(fmt::format("tenon_direct_{}", chosen));
    threads_ = threads(chosen);
    parameters_.count = threads_;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.bind(op_.hasBias, arguments);
    parameters_.w = weights_;
    checkUser(isAligned(parameters_.x, kPackBytes) && isAligned(parameters_.data[0], kPackBytes),
              "depthwise convolution: a tensor does not begin at a multiple of {} bytes", kPackBytes);
    launchThreads(function_, threads_, &parameters_, arguments.stream, std::min(blockSize(threads_), 128u));
  }

 private:
  const ops::Convolution& op_;
  const Module& module_;
  CUfunction function_ = nullptr;
  const void* weights_;
  int64_t threads_ = 0;
  WindowParameters parameters_;
};

class DepthwiseKernel final : public runtime::Kernel {
 public:
  explicit DepthwiseKernel(const runtime::KernelLoad& load)
      : op_(descriptionOf<ops::Convolution>(load)), module_(load.nativeCode, codeOf(op_, Types::read(load.record))) {
    if (load.constants.size() < 2 || load.constants[1].data == nullptr) throw Unsupported("cuda.depthwise_convolution: the weights are no constant");
    const auto weights = byTap(load.constants[1]);
    weights_.write(weights.data(), weights.size());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<DepthwiseInstance>(op_, module_, weights_.data());
  }

 private:
  ops::Convolution op_;
  Module module_;
  DeviceTable weights_;
};

}  // namespace

KernelRow kernelRow_depthwise_convolution() {
  return {"depthwise_convolution", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> { return std::make_unique<DepthwiseKernel>(load); },
          [](const plan::KernelRecord& record) { return codeOf(descriptionOf<ops::Convolution>(record), Types::read(record)); }};
}

}  // namespace tenon::backends::cuda
