// Pointwise (1x1) convolutions through cuBLASLt's matmul.
#include "backends/cuda/cublas/blas_matmul.h"
#include "backends/cuda/cublas/point_convolution.h"
#include "backends/cuda/kernels/common/kernel_row.h"

namespace tenon::backends::cuda {
namespace {

class PointInstance final : public runtime::KernelInstance {
 public:
  PointInstance(const ops::Convolution& op, std::unique_ptr<runtime::KernelInstance> product)
      : op_(op), product_(std::move(product)) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const PointConvolution point(op_, shapes);
    if (!point.refusal.empty()) throw Unsupported("cuda.cublaslt_convolution: {}", point.refusal);
    return product_->configure(point.shapes(shapes.symbols));
  }
  void launch(const runtime::LaunchArguments& arguments) override { product_->launch(arguments); }

 private:
  const ops::Convolution& op_;
  std::unique_ptr<runtime::KernelInstance> product_;
};

class PointKernel final : public runtime::Kernel {
 public:
  explicit PointKernel(const runtime::KernelLoad& load) : op_(descriptionOf<ops::Convolution>(load)) {
    const plan::KernelRecord record{
        "cuda", "cublaslt_matmul", kBlasMatMulVersion, ops::Operator(productOf(op_)).text(), load.record.params, -1};
    for (const auto& row : kernelTable()) {
      if (row.name == record.name && row.version == record.version)
        product_ = row.load({record, load.constants, {}, load.log});
    }
    checkInternal(product_ != nullptr, "backend cuda has no kernel '{}' of version {}", record.name, record.version);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<PointInstance>(op_, product_->instantiate());
  }

 private:
  ops::Convolution op_;
  std::unique_ptr<runtime::Kernel> product_;
};

}  // namespace

KernelRow kernelRow_cublaslt_convolution() {
  return {"cublaslt_convolution", 1, [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<PointKernel>(load);
          }};
}

}  // namespace tenon::backends::cuda
