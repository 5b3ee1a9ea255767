// Sibling convolutions of one input in one kernel, which reads the input once.
#include "backends/cpu/kernels/common/convolution_tiles.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/error.h"
#include "ops/op/composite.h"

namespace tenon::backends::cpu {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.empty() || composite->outputs.size() != composite->parts.size()) {
    throw Unsupported("cpu.branches computes sibling convolutions, the plan asks for {}", op.text());
  }
  std::vector<ConvolutionPart> parts;
  for (size_t p = 0; p < composite->parts.size(); ++p) {
    const auto& [part, operands] = composite->parts[p];
    const auto* convolution = part.as<ops::Convolution>();
    const size_t least = convolution != nullptr && convolution->hasBias ? 3 : 2;
    if (convolution == nullptr || operands.size() < least || composite->outputs[p] != static_cast<int32_t>(p)) {
      throw Unsupported("cpu.branches cannot compute {}", op.text());
    }
    ConvolutionPart made{*convolution, {}};
    for (const auto operand : operands) {
      if (operand < 0 || static_cast<size_t>(operand) >= request.constants.size())
        throw Unsupported("cpu.branches: operand {} of {}", operand, op.text());
      made.inputs.push_back(static_cast<size_t>(operand));
    }
    parts.push_back(std::move(made));
  }
  return std::make_unique<ConvolutionTiles>(std::move(parts), request);
}

}  // namespace

KernelRow kernelRow_branches() { return {"branches", 1, &load}; }

}  // namespace tenon::backends::cpu
