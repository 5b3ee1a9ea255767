// Matmul through cuBLASLt; an epilogue that it lacks runs in place as a generated kernel. Columns
// that are no whole packs cost it more than a copy of the result: then whole packs are computed apart from the rest.
#include <mutex>
#include <utility>

#include "backends/cuda/cublas/blas_matmul.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/movement/strided_copy.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

class MatMulKernel final : public runtime::Kernel {
 public:
  explicit MatMulKernel(const runtime::KernelLoad& load)
      : op(descriptionOf<ops::MatMul>(load)), code_(load.nativeCode.begin(), load.nativeCode.end()) {
    if (!blasLt().missing.empty()) throw Unsupported("cuda.cublaslt_matmul: {}", blasLt().missing);
    const std::string_view params = load.record.params;
    const auto split = params.find(';');
    if (split == std::string_view::npos)
      throw UserError("parameters of a cuBLASLt matmul: '{}' has no extents after ';'", params);
    choice = BlasChoice::parse(params.substr(0, split));
    tunedFor = params.substr(split + 1);
    if (choice.parted) copies = std::make_unique<const Module>(code_, copyCode());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  std::shared_ptr<const GeneratedPointwise> generatedEpilogue(DataType type) const {
    const std::lock_guard lock(mutex_);
    if (generated_ == nullptr) {
      const std::vector<DataType> types(static_cast<size_t>(op.epilogue.inputCount()), type);
      const std::span<const std::byte> code = choice.parted ? std::span<const std::byte>() : code_;
      generated_ = std::make_shared<const GeneratedPointwise>(op.epilogue, types, type, code);
    }
    return generated_;
  }

  ops::MatMul op;
  BlasChoice choice;
  std::unique_ptr<const Module> copies;  // of a parted one
  std::string tunedFor;                  // BlasShape::text(): for other extents the heuristic's first algorithm is used

 private:
  std::vector<std::byte> code_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const GeneratedPointwise> generated_;
};

class MatMulInstance final : public runtime::KernelInstance {
 public:
  explicit MatMulInstance(const MatMulKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    empty_ = y.dims.count() == 0;
    if (empty_) return 0;
    makeCurrent();
    const auto refusal = blasRefusal(kernel_.op, shapes);
    if (!refusal.empty()) throw Unsupported("cuda.cublaslt_matmul: {}", refusal);
    const auto shape = blasShape(kernel_.op, shapes);
    const auto extras = shapes.inputs.subspan(2);
    const auto matched = kernel_.choice.whole ? matchEpilogue(kernel_.op.epilogue, extras, y.dims) : std::nullopt;
    whole_ = kernel_.choice.parted && matched && matched->mayBeParted() ? wholeColumns(shape) : 0;
    if (!matched || !prepare(shape, *matched)) {
      whole_ = 0;
      apart_ = !kernel_.op.epilogue.empty();
      epilogue_ = {};
      if (!prepare(shape, {})) throw Unsupported("cuBLASLt has no algorithm for a matmul of {}", shape.text());
      if (apart_) configureEpilogue(shapes);
    } else {
      apart_ = false;
      epilogue_ = *matched;
    }
    return whole_ == 0 ? product_->workspaceBytes() : configureParts(shape);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const auto extra = [&](int index) { return index < 0 ? nullptr : arguments.inputs[index + 1]; };
    void* const y = arguments.outputs[0];
    void* const rows = whole_ != 0 ? static_cast<std::byte*>(arguments.workspace) + rowsAt_ : y;
    product_->run(arguments.inputs[0], arguments.inputs[1], extra(epilogue_.bias), extra(epilogue_.residual), rows,
                  arguments.workspace, arguments.stream);
    if (whole_ != 0) {
      widens_ ? widening_.launch(rows, y, arguments.stream) : copy_.launch(rows, y, arguments.stream);
      rest_->run(arguments.inputs[0], static_cast<const std::byte*>(arguments.inputs[1]) + restOfWeights_, nullptr,
                 nullptr, static_cast<std::byte*>(y) + restOfResult_, arguments.workspace, arguments.stream);
    }
    if (!apart_) return;
    operands_[0] = arguments.outputs[0];
    for (size_t i = 1; i < operands_.size(); ++i) operands_[i] = arguments.inputs[i + 1];
    launcher_->launch(operands_.data(), arguments.outputs[0], arguments.stream);
  }

 private:
  bool prepare(BlasShape shape, const BlasEpilogue& epilogue) {
    const bool tuned = shape.text() == kernel_.tunedFor;
    if (whole_ != 0) shape = wholeProduct(shape);
    product_ = std::make_unique<BlasProduct>(shape, epilogue, kernel_.choice.tf32);
    if (tuned && product_->use(kernel_.choice.algorithm)) return true;
    return product_->useFirst();
  }
  // The whole columns stand behind what cuBLASLt works in. Returns the bytes of both.
  size_t configureParts(BlasShape shape) {
    constexpr size_t kAlignment = 256;
    const auto operandBytes = static_cast<size_t>(bits(shape.type) / 8);
    const auto resultBytes = static_cast<size_t>(bits(shape.result) / 8);
    const int64_t columns = std::exchange(shape.n, shape.n - whole_);
    rest_ = std::make_unique<BlasProduct>(shape, epilogue_, kernel_.choice.tf32, columns);
    if (!rest_->useFirst()) throw Unsupported("cuBLASLt has no algorithm for a matmul of {}", shape.text());
    restOfWeights_ = static_cast<size_t>(whole_ * shape.k) * operandBytes;
    restOfResult_ = static_cast<size_t>(whole_) * resultBytes;
    widens_ = shape.result != shape.type;
    if (widens_) {
      widening_.configure(*kernel_.copies, shape.type, shape.m, whole_, columns);
    } else {
      copy_.configure(*kernel_.copies, Dims{shape.m, whole_}, Strides{whole_, 1}, 0, Strides{columns, 1}, 0,
                      static_cast<int>(resultBytes));
    }
    rowsAt_ =
        (std::max(product_->workspaceBytes(), rest_->workspaceBytes()) + kAlignment - 1) / kAlignment * kAlignment;
    return rowsAt_ + static_cast<size_t>(shape.m * whole_) * operandBytes;
  }
  void configureEpilogue(const runtime::Shapes& shapes) {
    const auto& y = shapes.outputs[0];
    launcher_ = std::make_unique<PointwiseLauncher>(kernel_.generatedEpilogue(y.dtype));
    std::vector<runtime::TensorShape> operands{y};
    operands.insert(operands.end(), shapes.inputs.begin() + 2, shapes.inputs.end());
    operands_.assign(operands.size(), nullptr);
    launcher_->configure(operands, y);
  }

  const MatMulKernel& kernel_;
  bool empty_ = false;
  bool apart_ = false;
  int64_t whole_ = 0;                            // columns that are computed apart from the rest; 0: all at once
  size_t rowsAt_ = 0;                            // of those, within the workspace
  size_t restOfWeights_ = 0, restOfResult_ = 0;  // where the others begin, in bytes
  bool widens_ = false;
  StridedCopy copy_;
  WideningCopy widening_;  // of halves to a result of f32
  BlasEpilogue epilogue_;
  std::unique_ptr<BlasProduct> product_, rest_;
  std::unique_ptr<PointwiseLauncher> launcher_;
  std::vector<void*> operands_;
};

std::unique_ptr<runtime::KernelInstance> MatMulKernel::instantiate() const {
  return std::make_unique<MatMulInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return std::make_unique<MatMulKernel>(request);
}

}  // namespace

KernelRow kernelRow_cublaslt_matmul() { return {"cublaslt_matmul", kBlasMatMulVersion, &load}; }

}  // namespace tenon::backends::cuda
