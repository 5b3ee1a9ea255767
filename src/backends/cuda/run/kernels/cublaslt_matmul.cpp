// Matrix products through cuBLASLt; an epilogue that it lacks by a generated kernel over the result in place. Rows of a
// result that begin at odd addresses cost it more than a copy of all of them: then it writes padded rows.
#include <mutex>

#include "backends/cuda/run/blas_matmul.h"
#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/kernel_row.h"
#include "backends/cuda/run/pointwise_kernel.h"
#include "backends/cuda/run/strided_copy.h"
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
    if (split == std::string_view::npos) throw UserError("parameters of a cuBLASLt product: '{}' lacks the extents behind ';'", params);
    choice = BlasChoice::parse(params.substr(0, split));
    tunedFor = params.substr(split + 1);
    if (choice.padded) copies = std::make_unique<const Module>(code_, copyCode());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  std::shared_ptr<const GeneratedPointwise> generatedEpilogue(DataType type) const {
    const std::lock_guard lock(mutex_);
    if (generated_ == nullptr) {
      const std::vector<DataType> types(static_cast<size_t>(op.epilogue.inputCount()), type);
      const std::span<const std::byte> code = choice.padded ? std::span<const std::byte>() : code_;
      generated_ = std::make_shared<const GeneratedPointwise>(op.epilogue, types, type, code);
    }
    return generated_;
  }

  ops::MatMul op;
  BlasChoice choice;
  std::unique_ptr<const Module> copies;  // of a padded one
  std::string tunedFor;  // BlasShape::text(): for other extents the heuristic's first algorithm is used

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
    pitch_ = kernel_.choice.padded && matched && matched->residual < 0 ? paddedPitch(shape) : 0;
    if (!matched || !prepare(shape, *matched)) {
      pitch_ = 0;
      apart_ = !kernel_.op.epilogue.empty();
      epilogue_ = {};
      if (!prepare(shape, {})) throw Unsupported("cuBLASLt has no algorithm for a product of {}", shape.text());
      if (apart_) configureEpilogue(shapes);
    } else {
      apart_ = false;
      epilogue_ = *matched;
    }
    if (pitch_ == 0) return product_->workspaceBytes();
    return configureRows(shape);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const auto extra = [&](int index) { return index < 0 ? nullptr : arguments.inputs[index + 1]; };
    void* const rows = pitch_ != 0 ? static_cast<std::byte*>(arguments.workspace) + rowsAt_ : arguments.outputs[0];
    product_->run(arguments.inputs[0], arguments.inputs[1], extra(epilogue_.bias), extra(epilogue_.residual), rows,
                  arguments.workspace, arguments.stream);
    if (pitch_ != 0) copy_.launch(rows, arguments.outputs[0], arguments.stream);
    if (!apart_) return;
    operands_[0] = arguments.outputs[0];
    for (size_t i = 1; i < operands_.size(); ++i) operands_[i] = arguments.inputs[i + 1];
    launcher_->launch(operands_.data(), arguments.outputs[0], arguments.stream);
  }

 private:
  bool prepare(const BlasShape& shape, const BlasEpilogue& epilogue) {
    product_ = std::make_unique<BlasProduct>(shape, epilogue, kernel_.choice.tf32, pitch_);
    if (shape.text() == kernel_.tunedFor && product_->use(kernel_.choice.algorithm)) return true;
    return product_->useFirst();
  }
  // The padded rows stand behind what cuBLASLt works in. Returns the bytes of both.
  size_t configureRows(const BlasShape& shape) {
    constexpr size_t kAlignment = 256;
    rowsAt_ = (product_->workspaceBytes() + kAlignment - 1) / kAlignment * kAlignment;
    const int element = bits(shape.result) / 8;
    const int64_t rows = shape.batch * shape.m;
    copy_.configure(*kernel_.copies, Dims{rows, shape.n}, Strides{pitch_, 1}, 0, Strides{shape.n, 1}, 0, element);
    return rowsAt_ + static_cast<size_t>(rows * pitch_ * element);
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
  int64_t pitch_ = 0;   // of padded rows; 0: the result is written where it belongs
  size_t rowsAt_ = 0;   // within the workspace
  StridedCopy copy_;
  BlasEpilogue epilogue_;
  std::unique_ptr<BlasProduct> product_;
  std::unique_ptr<PointwiseLauncher> launcher_;
  std::vector<void*> operands_;
};

std::unique_ptr<runtime::KernelInstance> MatMulKernel::instantiate() const { return std::make_unique<MatMulInstance>(*this); }

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) { return std::make_unique<MatMulKernel>(request); }

}  // namespace

KernelRow kernelRow_cublaslt_matmul() { return {"cublaslt_matmul", 2, &load}; }

}  // namespace tenon::backends::cuda
