// Depthwise convolution over channels-last images: neighbouring pixels of a row times a panel of channels.
#include <algorithm>

#include "backends/cpu/kernels/common/depthwise_sums.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

struct DepthwiseKernel final : runtime::Kernel, runtime::Packer {
  DepthwiseKernel(const ops::Convolution& op, const runtime::KernelLoad& load)
      : op(op), weights("cpu.depthwise", op, load.constants[1], op.hasBias ? &load.constants[2] : nullptr) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  std::vector<runtime::PackedForm> packedForms(Layout) const override { return {weights.form(1)}; }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    weights.pack(static_cast<const float*>(sources[0]), static_cast<float*>(to));
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    weights.restore(static_cast<const float*>(packed), static_cast<float*>(to));
  }

  ops::Convolution op;
  DepthwiseWeights weights;
};

class DepthwiseInstance final : public runtime::KernelInstance {
 public:
  explicit DepthwiseInstance(const DepthwiseKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    firstExtra_ = kernel_.op.hasBias ? 3 : 2;
    epilogue_.configure("cpu.depthwise", y.dims, shapes.inputs.subspan(firstExtra_), 1);
    epilogue_.setSteps(y, shapes.inputs.subspan(firstExtra_));
    sums_.configure(makeWindow(kernel_.op, kernel_.weights.dims(), shapes.inputs[0], y, shapes.symbols));
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const Window& window = sums_.window();
    const int64_t work = window.outPixels() * window.channels * kernel_.weights.taps();
    if (work == 0) return;
    const DepthwiseSums::Call call{static_cast<const float*>(arguments.inputs[0]),
                                   static_cast<const float*>(arguments.inputs[1]),
                                   kernel_.weights.bias(),
                                   &epilogue_,
                                   static_cast<float*>(arguments.outputs[0]),
                                   arguments.inputs + firstExtra_};
    const int64_t width = window.out[1], rows = window.batch * window.out[0];
    // Parts of a row where there are few.
    constexpr int64_t kJobs = 32, kLeastPixels = 32;
    const int64_t parts = std::clamp<int64_t>(width / kLeastPixels, 1, std::max<int64_t>(1, kJobs / rows));
    // Loads bound it, so a multiply-add counts for more than in a dense product.
    runJobs(rows * parts, 2 * work, [&](int64_t job) {
      const int64_t first = width * (job % parts) / parts, last = width * (job % parts + 1) / parts;
      const int64_t pixel = job / parts * width + first;
      sums_.run(call, pixel, last - first, pixel);
    });
  }

 private:
  const DepthwiseKernel& kernel_;
  TileEpilogue epilogue_;
  size_t firstExtra_ = 2;
  DepthwiseSums sums_;
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
