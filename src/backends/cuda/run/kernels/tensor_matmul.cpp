// Products of halves by tensor cores: parameters and launch.
#include "backends/cuda/run/tensor_matmul.h"

#include "backends/cuda/run/direct.h"
#include "backends/cuda/run/flat_product.h"
#include "backends/cuda/run/space.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

// Mirrors kernels/tensor_matmul.cuh.
struct Parameters {
  void* data[kMaxDirectOperands] = {};
  const void* a = nullptr;
  const void* b = nullptr;
  void* partial = nullptr;
  void* arrived = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t inner = 0;
  int64_t stride[kMaxDirectOperands][2] = {};
  Divider columnTiles;
  int32_t splits = 1;
  int32_t aligned = 0;
};

class TensorKernel final : public runtime::Kernel {
 public:
  explicit TensorKernel(const runtime::KernelLoad& load)
      : op(descriptionOf<ops::MatMul>(load)), choice(TensorChoice::read(load.record)),
        sharedBytes(std::max(static_cast<size_t>(choice.form.stages()) * choice.form.sharedBytes(op.transposeB), sumBytes(choice.form))),
        module_(load.nativeCode, tensorCode(op, choice.types, choice.form, choice.constantB)), function(module_.function("tenon_direct")) {
    allowSharedBytes(function, sharedBytes);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::MatMul op;
  TensorChoice choice;
  size_t sharedBytes;

 private:
  static size_t sumBytes(const TensorForm& form) {
    return static_cast<size_t>(form.innerWarps) * static_cast<size_t>(form.rows) * static_cast<size_t>(form.columns + 8) * sizeof(float);
  }
  Module module_;

 public:
  CUfunction function;
};

class TensorInstance final : public runtime::KernelInstance {
 public:
  explicit TensorInstance(const TensorKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    auto& p = parameters_;
    p = {};
    extras_ = setFlatProduct(p, kernel_.op, shapes);
    const auto& form = kernel_.choice.form;
    const int64_t columnTiles = (p.columns + form.columns - 1) / form.columns;
    tiles_ = (p.rows + form.rows - 1) / form.rows * columnTiles;
    checkUser(tiles_ < int64_t{1} << 31, "matmul: {} tiles are too many", tiles_);
    p.columnTiles = Divider(columnTiles);
    p.splits = form.splits;
    wholePacks_ = p.inner % 8 == 0 && (kernel_.op.transposeB || p.columns % 8 == 0);
    if (form.splits == 1 || tiles_ == 0) return 0;
    const std::vector<uint32_t> zeros(static_cast<size_t>(tiles_));
    arrived_.write(zeros.data(), zeros.size() * sizeof(uint32_t));
    p.arrived = arrived_.data();
    return static_cast<size_t>(tiles_ * form.splits * form.rows * form.columns) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (tiles_ == 0) return;
    auto& p = parameters_;
    p.a = arguments.inputs[0];
    p.b = arguments.inputs[1];
    p.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) p.data[k + 1] = arguments.inputs[k + 2];
    p.partial = arguments.workspace;
    p.aligned = wholePacks_ && isAligned(p.a, kPackBytes) && isAligned(p.b, kPackBytes) ? 1 : 0;
    launchGrid(kernel_.function, static_cast<unsigned>(tiles_), static_cast<unsigned>(p.splits), 1,
               static_cast<unsigned>(kernel_.choice.form.threads()), &p, arguments.stream, static_cast<unsigned>(kernel_.sharedBytes));
  }

 private:
  const TensorKernel& kernel_;
  Parameters parameters_;
  size_t extras_ = 0;
  int64_t tiles_ = 0;
  bool wholePacks_ = false;
  DeviceTable arrived_;
};

std::unique_ptr<runtime::KernelInstance> TensorKernel::instantiate() const { return std::make_unique<TensorInstance>(*this); }

}  // namespace

KernelRow kernelRow_tensor_matmul() {
  return {"tensor_matmul", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> { return std::make_unique<TensorKernel>(load); },
          [](const plan::KernelRecord& record) {
            const auto choice = TensorChoice::read(record);
            return tensorCode(descriptionOf<ops::MatMul>(record), choice.types, choice.form, choice.constantB);
          }};
}

}  // namespace tenon::backends::cuda
