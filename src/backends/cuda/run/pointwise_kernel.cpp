// Launches generated pointwise code over a collapsed index space.
#include <algorithm>

#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_kernel.h"
#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cuda {

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

}  // namespace tenon::backends::cuda
