// Launches generated pointwise code over a collapsed index space.
#include <algorithm>

#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/cuda_kernels.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_kernel.h"
#include "core/error.h"
#include "core/strided.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {
namespace {

class PointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit PointwiseInstance(std::shared_ptr<const GeneratedPointwise> code) : launcher_(std::move(code)) {}
  size_t configure(const runtime::Shapes& shapes) override {
    launcher_.configure(shapes.inputs, shapes.outputs[0]);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.launch(arguments.inputs, arguments.outputs[0], arguments.stream);
  }

 private:
  PointwiseLauncher launcher_;
};

// Types are part of the record ("f32,f32->f32"), because the source depends on them.
class PointwiseKernel final : public runtime::Kernel {
 public:
  explicit PointwiseKernel(std::shared_ptr<const GeneratedPointwise> code) : code_(std::move(code)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override { return std::make_unique<PointwiseInstance>(code_); }

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
};

}  // namespace

GeneratedPointwise::GeneratedPointwise(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output,
                                       std::span<const std::byte> code) {
  makeCurrent();
  std::vector<std::byte> own;
  if (code.empty()) {
    own = compile(pointwiseSource(expr, inputs, output), computeCapability());
    code = own;
  }
  check(driver().moduleLoadData(&module_, code.data()), "cuModuleLoadData of a generated kernel");
  check(driver().moduleGetFunction(&function_, module_, "tenon_pointwise"), "cuModuleGetFunction");
}

GeneratedPointwise::~GeneratedPointwise() { driver().moduleUnload(module_); }

void PointwiseLauncher::configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output) {
  std::vector<Strides> operands{stridesOf(output.dims, output.format)};
  for (const auto& input : inputs) operands.push_back(stridesWithin(input.dims, input.format, output.dims));
  const auto space = collapse(output.dims, operands);
  parameters_ = {};
  parameters_.count = output.dims.count();
  parameters_.axes = static_cast<int>(space.extents.size());
  inputs_ = inputs.size();
  for (size_t axis = 0; axis < space.extents.size(); ++axis) {
    parameters_.extent[axis] = space.extents[axis];
    parameters_.outStride[axis] = space.strides[0][axis];
    for (size_t k = 0; k < inputs.size(); ++k) parameters_.inStride[k][axis] = space.strides[k + 1][axis];
  }
}

void PointwiseLauncher::launch(void* const* inputs, void* output, runtime::StreamHandle stream) {
  if (parameters_.count == 0) return;
  parameters_.out = output;
  for (size_t k = 0; k < inputs_; ++k) parameters_.in[k] = inputs[k];
  constexpr long long kThreads = 256;
  constexpr long long kMaxBlocks = 132 * 16;
  const auto blocks = static_cast<unsigned>(std::min((parameters_.count + kThreads - 1) / kThreads, kMaxBlocks));
  void* arguments[] = {&parameters_};
  check(driver().launchKernel(code_->function(), blocks, 1, 1, kThreads, 1, 1, 0, static_cast<CUstream>(stream), arguments, nullptr),
        "launch of a generated kernel");
}

std::unique_ptr<runtime::Kernel> loadPointwise(const runtime::KernelLoad& load) {
  const auto op = ops::Operator::parse(load.record.op);
  const auto* pointwise = op.as<ops::Pointwise>();
  if (pointwise == nullptr) throw Unsupported("cuda.pointwise cannot compute {}", op.name());
  TextReader in(load.record.params, "parameters of cuda.pointwise");
  const auto types = FieldText<std::vector<DataType>>::read(in);
  if (types.size() < 2) in.fail("expected the types of inputs and output");
  return std::make_unique<PointwiseKernel>(std::make_shared<const GeneratedPointwise>(
      pointwise->expr, std::span(types).first(types.size() - 1), types.back(), load.nativeCode));
}

}  // namespace tenon::backends::cuda
