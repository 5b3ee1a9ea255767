// Convolution over channels-last images by tiles.
#include <numeric>

#include "backends/cpu/kernels/common/convolution_tiles.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Convolution>();
  if (description == nullptr) throw Unsupported("cpu.convolution cannot compute {}", op.name());
  std::vector<size_t> inputs(request.constants.size());
  std::iota(inputs.begin(), inputs.end(), size_t{0});
  return std::make_unique<ConvolutionTiles>(std::vector<ConvolutionPart>{{*description, std::move(inputs)}}, request);
}

}  // namespace

KernelRow kernelRow_convolution() { return {"convolution", 1, &load}; }

}  // namespace tenon::backends::cpu
