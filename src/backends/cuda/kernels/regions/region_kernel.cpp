// Loading, checks, and reading back.
#include "backends/cuda/kernels/regions/region_kernel.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/regions/moves.h"
#include "ops/check.h"
#include "ops/op/size.h"
#include "ops/within.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> loadKernel(const runtime::KernelLoad& load) {
  for (const auto& row : kernelTable()) {
    if (row.name == load.record.name && row.version == load.record.version) return row.load(load);
  }
  throw Unsupported("cuda.regions: there is no kernel '{}' of version {} for {}", load.record.name, load.record.version,
                    load.record.op);
}

// Before any of its kernels: what would look at memory of the device from the host.
runtime::RegionLoad checkedLoad(const runtime::KernelLoad& load) {
  TextReader in(load.record.params, "kernels of regions");
  const auto kernels = readFields<ops::RegionKernels>(in);
  for (const auto* list : {&kernels.first, &kernels.second}) {
    for (const auto& kernel : *list) {
      if (kernel.name == ops::RegionKernel::kReference)
        throw Unsupported("cuda.regions: an operator has no kernel of the GPU");
    }
  }
  if (ops::holds<ops::Size>(ops::Operator::parse(load.record.op)))
    throw Unsupported("cuda.regions: sizes that the data decide within a loop or conditional");
  return {"cuda", &loadKernel, kRegionAlignment, load.constants, load};
}

std::span<const std::byte> ownCodeOf(const runtime::KernelLoad& load) {
  TextReader in(load.record.params, "kernels of regions");
  return ops::codeOf(readFields<ops::RegionKernels>(in).own, load.nativeCode);
}

}  // namespace

RegionKernel::RegionKernel(std::span<const ops::Region> regions, size_t first, size_t changing,
                           const runtime::KernelLoad& load)
    : RegionsKernel(regions, first, changing, checkedLoad(load)), module_(ownCodeOf(load), moveCode()) {}

int64_t ReadBack::integer(DataType type, const void* element, void* stream) {
  auto* const on = static_cast<CUstream>(stream);
  const auto at = [](const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); };
  check(driver().memcpyAsync(at(memory_.data()), at(element), bytesOf(type, 1), on), "cuMemcpyAsync");
  check(driver().streamSynchronize(on), "cuStreamSynchronize");
  return loadInt(type, memory_.data(), 0);
}

std::optional<int64_t> constantInteger(const TensorView& constant) {
  if (constant.data == nullptr || constant.count() != 1) return std::nullopt;
  return loadInt(constant.dtype, constant.data, 0);
}

void checkOperands(const ops::Operator& op, const runtime::Shapes& shapes) {
  const auto views = [](std::span<const runtime::TensorShape> operands) {
    std::vector<TensorView> result;
    for (const auto& operand : operands) {
      if (operand.layout != Layout::kLinear)
        throw Unsupported("cuda.regions: an operand is {}, expected linear", name(operand.layout));
      result.push_back({nullptr, operand.dtype, operand.dims});
    }
    return result;
  };
  const auto in = views(shapes.inputs);
  const auto out = views(shapes.outputs);
  ops::checkShapes(op.bind(*shapes.symbols), op.name(), {in, out, nullptr});
}

namespace {

const runtime::Control* controlOf(const runtime::RegionRun& run, size_t step) {
  return dynamic_cast<const runtime::Control*>(run.instance(step));
}

}  // namespace

bool isDecidedByDevice(const runtime::RegionRun& run) {
  for (size_t i = 0; i < run.stepCount(); ++i) {
    const auto* const control = controlOf(run, i);
    if (control != nullptr && control->isDecidedByDevice()) return true;
  }
  return false;
}

bool callsHost(const runtime::RegionRun& run) {
  for (size_t i = 0; i < run.stepCount(); ++i) {
    const auto* const control = controlOf(run, i);
    if (control != nullptr ? control->callsHost() : dynamic_cast<const runtime::CallsHost*>(run.instance(i)) != nullptr)
      return true;
  }
  return false;
}

void rethrow(const runtime::RegionRun& run) {
  for (size_t i = 0; i < run.stepCount(); ++i) {
    if (const auto* const control = controlOf(run, i)) control->rethrow();
  }
}

size_t launches(const runtime::RegionRun& run) {
  size_t count = 0;
  for (size_t i = 0; i < run.stepCount(); ++i) {
    const auto* const control = controlOf(run, i);
    count += control != nullptr ? control->launches() : (run.instance(i) != nullptr ? 1 : 0);
  }
  return count;
}

}  // namespace tenon::backends::cuda
