// Fallback on the host for operators without a device kernel: operands are copied to host memory, the operator's
// reference computes there in stream order, results go back. Slow and right; a user's graph may capture it.
#include <atomic>
#include <mutex>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/pinned_memory.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "ops/random_draws.h"
#include "runtime/control.h"

namespace tenon::backends::cuda {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

class HostInstance final : public runtime::KernelInstance, public runtime::CallsHost {
 public:
  explicit HostInstance(const ops::Operator& op) : op_(op), bound_(op) {}
  ~HostInstance() override {  // work on some stream may still use the buffers
    if (launched_) driver().contextSynchronize();
  }

  size_t configure(const runtime::Shapes& shapes) override {
    makeCurrent();
    if (launched_) check(driver().contextSynchronize(), "cuCtxSynchronize");
    if (shapes.symbols != nullptr) symbols_ = *shapes.symbols;
    bound_ = op_.bind(symbols_);
    size_t bytes = place(shapes.inputs, inputs_, 0);
    bytes = place(shapes.outputs, outputs_, bytes);
    checkTypes();
    memory_.reserve(bytes);
    for (auto* list : {&inputs_, &outputs_}) {
      for (auto& view : *list) view.data = memory_.data() + reinterpret_cast<size_t>(view.data);
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    rethrow();
    launched_ = true;
    const auto stream = static_cast<CUstream>(arguments.stream);
    const auto copy = [&](const void* to, const void* from, size_t bytes) {
      if (bytes != 0) check(driver().memcpyAsync(address(to), address(from), bytes, stream), "cuMemcpyAsync");
    };
    for (size_t i = 0; i < inputs_.size(); ++i) copy(inputs_[i].data, arguments.inputs[i], inputs_[i].bytes());
    check(driver().launchHostFunction(stream, &HostInstance::run, this), "cuLaunchHostFunc");
    for (size_t i = 0; i < outputs_.size(); ++i) copy(arguments.outputs[i], outputs_[i].data, outputs_[i].bytes());
  }

 private:
  // Offsets stand in the views until the memory is there.
  static size_t place(std::span<const runtime::TensorShape> shapes, std::vector<TensorView>& views, size_t at) {
    constexpr size_t kAlignment = 64;
    views.clear();
    for (const auto& shape : shapes) {
      if (shape.layout != Layout::kLinear)
        throw Unsupported("cuda.host_evaluate: format {}, expected linear", name(shape.layout));
      views.push_back({reinterpret_cast<void*>(at), shape.dtype, shape.dims});
      at += (views.back().bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    return at;
  }

  // The reference never meets operands that it was not written for.
  void checkTypes() const {
    std::vector<ops::TensorType> types;
    for (const auto& input : inputs_) types.push_back({input.dtype, toShape(input.dims), std::nullopt});
    const auto expected = bound_.infer(bound_.name(), types);
    checkUser(expected.size() == outputs_.size(), "operator '{}' has {} outputs, got {}", bound_.name(),
              expected.size(), outputs_.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      checkUser(expected[i].dtype == outputs_[i].dtype && expected[i].shape == toShape(outputs_[i].dims),
                "operator '{}': output {} is {} {}, expected {} {}", bound_.name(), i, name(outputs_[i].dtype),
                outputs_[i].dims.text(), name(expected[i].dtype), tenon::text(expected[i].shape));
    }
  }

  // On a thread of the driver, which may not be thrown at: the next launch says what went wrong.
  static void CUDA_CB run(void* instance) {
    auto& self = *static_cast<HostInstance*>(instance);
    try {
      const ops::Draws::Use draws(self.draws_);
      self.bound_.evaluate({self.inputs_, self.outputs_, &self.symbols_});
    } catch (...) {
      const std::lock_guard lock(self.mutex_);
      self.error_ = std::current_exception();
    }
  }

  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error.swap(error_);
    }
    if (error != nullptr) std::rethrow_exception(error);
  }

  const ops::Operator& op_;  // of the kernel, which outlives its instances
  ops::Operator bound_;
  SymbolValues symbols_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  PinnedMemory memory_;
  ops::Draws draws_;
  bool launched_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

class HostKernel final : public runtime::Kernel {
 public:
  explicit HostKernel(std::string_view op) : op_(ops::Operator::parse(op)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return std::make_unique<HostInstance>(op_); }

 private:
  ops::Operator op_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return std::make_unique<HostKernel>(request.record.op);
}

}  // namespace

KernelRow kernelRow_host_evaluate() { return {"host_evaluate", 1, &load}; }

}  // namespace tenon::backends::cuda
