// Loops and conditionals by the kernels of their operators.
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/regions/if_instance.h"
#include "backends/cuda/kernels/regions/loop_instance.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (const auto* choice = op.as<ops::If>()) return std::make_unique<IfKernel>(*choice, request);
  if (const auto* loop = op.as<ops::Loop>()) return std::make_unique<LoopKernel>(*loop, request);
  throw Unsupported("cuda.regions runs loops and conditionals, the plan asks for {}", op.name());
}

}  // namespace

KernelRow kernelRow_regions() { return {"regions", 1, &load}; }

}  // namespace tenon::backends::cuda
