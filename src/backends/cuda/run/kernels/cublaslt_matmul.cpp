// Matrix products through cuBLASLt; the epilogue, if any, by a generated kernel over the result in place.
#include <array>

#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/kernel_row.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_kernel.h"
#include "core/error.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

cublasLtHandle_t handle() {
  static const auto kHandle = [] {
    makeCurrent();
    cublasLtHandle_t h = nullptr;
    check(blasLt().create(&h), "cublasLtCreate");
    return h;
  }();
  return kHandle;
}

// Owners of cuBLASLt's descriptors.
struct Descriptors {
  cublasLtMatmulDesc_t operation = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts{};  // first operand, second, result
  ~Descriptors() {
    if (operation != nullptr) blasLt().matmulDescDestroy(operation);
    for (auto* layout : layouts) {
      if (layout != nullptr) blasLt().matrixLayoutDestroy(layout);
    }
  }
};

// The last two axes of a row-major operand, seen as a column-major matrix: rows and columns change places.
void makeLayout(cublasLtMatrixLayout_t& layout, const Dims& dims, int batch) {
  const auto rows = static_cast<uint64_t>(dims[dims.rank - 2]);
  const auto columns = static_cast<uint64_t>(dims[dims.rank - 1]);
  check(blasLt().matrixLayoutCreate(&layout, CUDA_R_32F, columns, rows, static_cast<int64_t>(columns)), "cublasLtMatrixLayoutCreate");
  const int64_t stride = dims.count(0, dims.rank - 2) == 1 ? 0 : static_cast<int64_t>(rows * columns);
  const auto& b = blasLt();
  check(b.matrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "batch count");
  check(b.matrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "batch stride");
}

class MatMulInstance final : public runtime::KernelInstance {
 public:
  MatMulInstance(const ops::MatMul& op, std::shared_ptr<const GeneratedPointwise> epilogue)
      : op_(op), hasEpilogue_(epilogue != nullptr), epilogue_(std::move(epilogue)) {}

  size_t configure(const runtime::Shapes& shapes) override {
    makeCurrent();
    const auto& a = shapes.inputs[0].dims;
    const auto& b = shapes.inputs[1].dims;
    const auto& y = shapes.outputs[0].dims;
    empty_ = y.count() == 0;
    if (hasEpilogue_) {
      std::vector<runtime::TensorShape> operands{shapes.outputs[0]};
      operands.insert(operands.end(), shapes.inputs.begin() + 2, shapes.inputs.end());
      extras_ = operands.size() - 1;
      epilogue_.configure(operands, shapes.outputs[0]);
    }
    if (empty_) return 0;
    const auto& lt = blasLt();
    descriptors_ = std::make_unique<Descriptors>();
    check(lt.matmulDescCreate(&descriptors_->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    // Row-major y = a b is column-major y' = b' a': the operands change places.
    const cublasOperation_t first = op_.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = op_.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(lt.matmulDescSetAttribute(descriptors_->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first), "transpose");
    check(lt.matmulDescSetAttribute(descriptors_->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second), "transpose");
    const auto batch = static_cast<int>(y.count(0, y.rank - 2));
    makeLayout(descriptors_->layouts[0], b, batch);
    makeLayout(descriptors_->layouts[1], a, batch);
    makeLayout(descriptors_->layouts[2], y, batch);
    cublasLtMatmulPreference_t preference = nullptr;
    check(lt.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const size_t limit = kWorkspaceBytes;
    lt.preferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit);
    int found = 0;
    const auto status = lt.getHeuristic(handle(), descriptors_->operation, descriptors_->layouts[0], descriptors_->layouts[1],
                                        descriptors_->layouts[2], descriptors_->layouts[2], preference, 1, &algorithm_, &found);
    lt.preferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      throw Unsupported("cuBLASLt has no algorithm for matmul of {} and {}", a.text(), b.text());
    }
    return algorithm_.workspaceSize;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    const float one = 1;
    const float zero = 0;
    const auto& l = descriptors_->layouts;
    check(blasLt().matmul(handle(), descriptors_->operation, &one, arguments.inputs[1], l[0], arguments.inputs[0], l[1], &zero,
                          arguments.outputs[0], l[2], arguments.outputs[0], l[2], &algorithm_.algo, arguments.workspace,
                          algorithm_.workspaceSize, static_cast<cudaStream_t>(arguments.stream)),
          "cublasLtMatmul");
    if (!hasEpilogue_) return;
    std::array<void*, kMaxOperands> operands{arguments.outputs[0]};
    std::copy_n(arguments.inputs + 2, extras_, operands.begin() + 1);
    epilogue_.launch(operands.data(), arguments.outputs[0], arguments.stream);
  }

 private:
  ops::MatMul op_;
  bool hasEpilogue_;
  PointwiseLauncher epilogue_;
  size_t extras_ = 0;
  bool empty_ = false;
  std::unique_ptr<Descriptors> descriptors_;
  cublasLtMatmulHeuristicResult_t algorithm_{};
};

class MatMulKernel final : public runtime::Kernel {
 public:
  MatMulKernel(const ops::MatMul& op, std::span<const std::byte> code) : op_(op) {
    if (op.epilogue.empty()) return;
    const std::vector<DataType> types(static_cast<size_t>(op.epilogue.inputCount()), DataType::kF32);
    epilogue_ = std::make_shared<const GeneratedPointwise>(op.epilogue, types, DataType::kF32, code);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return std::make_unique<MatMulInstance>(op_, epilogue_); }

 private:
  ops::MatMul op_;
  std::shared_ptr<const GeneratedPointwise> epilogue_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  if (!blasLt().missing.empty()) throw Unsupported("cuda.cublaslt_matmul: {}", blasLt().missing);
  return std::make_unique<MatMulKernel>(descriptionOf<ops::MatMul>(request), request.nativeCode);
}

}  // namespace

KernelRow kernelRow_cublaslt_matmul() { return {"cublaslt_matmul", 1, &load}; }

}  // namespace tenon::backends::cuda
