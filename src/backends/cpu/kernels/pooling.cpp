// Pooling over channels-last images, pixel by pixel.
#include "ops/op/pooling.h"

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/pool_simd.h"
#include "core/error.h"
#include "core/storage.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kMostTaps = 1024;

class PoolingInstance final : public runtime::KernelInstance {
 public:
  explicit PoolingInstance(const ops::Pooling& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto& y = shapes.outputs[0].dims;
    if (x.rank != 4 || op_.window[0] * op_.window[1] > kMostTaps)
      throw Unsupported("cpu.pooling: the window has {} axes", x.rank - 2);
    if (x.count() == 0 && y.count() != 0)
      throw Unsupported("cpu.pooling: an input of shape {} is not supported", x.text());
    const int64_t block = channelBlock(shapes.inputs[0].layout);
    if (x[1] % block != 0) throw Unsupported("cpu.pooling: {} channels in blocks of {}", x[1], block);
    channels_ = block > 1 ? block : x[1];  // blocks of channels are images of their own, channels-last
    batch_ = block > 1 ? x[0] * (x[1] / block) : x[0];
    step_ = block > 1 ? block : runtime::pixelStep(shapes.inputs[0]);
    outStep_ = block > 1 ? block : runtime::pixelStep(shapes.outputs[0]);
    for (size_t i = 0; i < 2; ++i) {
      extent_[i] = x[static_cast<int>(i) + 2];
      out_[i] = y[static_cast<int>(i) + 2];
      stride_[i] = op_.strides.empty() ? 1 : op_.strides[i];
      before_[i] = 0;
      if (op_.prePadding.empty()) continue;
      const auto& padding = op_.prePadding[i];
      before_[i] = padding.isConstant() ? padding.constant() : padding.evaluate(*shapes.symbols);
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    auto* const y = static_cast<float*>(arguments.outputs[0]);
    const int64_t work = batch_ * out_[0] * out_[1] * channels_ * op_.window[0] * op_.window[1];
    runJobs(batch_ * out_[0], work, [&](int64_t row) { line(row, x, y + row * out_[1] * outStep_); });
  }

 private:
  void line(int64_t row, const float* x, float* to) const {
    const auto& functions = poolFunctions();
    const float* sources[kMostTaps];
    const int64_t top = row % out_[0] * stride_[0] - before_[0];
    const float* const image = x + row / out_[0] * extent_[0] * extent_[1] * step_;
    const int64_t firstRow = std::max<int64_t>(0, top);
    const int64_t lastRow = std::min(extent_[0], top + op_.window[0]);
    for (int64_t i = 0; i < out_[1]; ++i, to += outStep_) {
      const int64_t left = i * stride_[1] - before_[1];
      const int64_t firstColumn = std::max<int64_t>(0, left);
      const int64_t lastColumn = std::min(extent_[1], left + op_.window[1]);
      int64_t count = 0;
      for (int64_t r = firstRow; r < lastRow; ++r) {
        for (int64_t c = firstColumn; c < lastColumn; ++c) sources[count++] = image + (r * extent_[1] + c) * step_;
      }
      if (op_.type == ops::PoolingType::kMax) {
        functions.maximum(sources, count, channels_, to);
      } else {
        const int64_t cells = op_.exclusive ? count : op_.window[0] * op_.window[1];
        functions.sum(sources, count, channels_, 1.f / static_cast<float>(std::max<int64_t>(1, cells)), to);
      }
    }
  }

  ops::Pooling op_;
  int64_t batch_ = 0, channels_ = 0;
  int64_t step_ = 0, outStep_ = 0;  // floats from pixel to pixel
  std::array<int64_t, 2> extent_{}, out_{}, stride_{}, before_{};
};

}  // namespace

KernelRow kernelRow_pooling() { return {"pooling", 1, &loadSimple<ops::Pooling, PoolingInstance>}; }

}  // namespace tenon::backends::cpu
