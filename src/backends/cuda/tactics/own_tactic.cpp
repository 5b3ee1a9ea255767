// Records and machine code of own kernels.
#include "backends/cuda/tactics/own_tactic.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "core/fields.h"

namespace tenon::backends::cuda {
namespace {

std::string sourceOf(const plan::KernelRecord& record) {
  for (const auto& row : kernelTable()) {
    if (row.name == record.name && row.version == record.version && row.code != nullptr)
      return row.code(record).source();
  }
  throw InternalError("backend cuda has a tactic but no kernel '{}'", record.name);
}

}  // namespace

compile::Support OwnTactic::supports(const compile::Problem& problem) const {
  if (const auto support = accepts(problem); !support) return support;
  for (const auto* operands : {&problem.inputs, &problem.outputs}) {
    for (const auto& operand : *operands) {
      if (cudaName(operand.dtype) == nullptr) return compile::no("operands of {}", tenon::name(operand.dtype));
    }
  }
  if (!nvrtc().missing.empty()) return compile::no("{}", nvrtc().missing);
  return compile::yes();
}

std::vector<compile::Candidate> OwnTactic::candidates(const compile::Problem& problem) const {
  std::vector<compile::Candidate> result{compile::rowMajor(name_, problem)};
  const int rank = problem.outputs[0].dims.rank;
  if (formats_ == Formats::kAlsoChannelsLast && rank >= 4 && rank <= 5)
    result.push_back(channelsLastCandidate(name_, problem));
  return result;
}

plan::KernelRecord OwnTactic::build(const compile::Problem& problem, const compile::Candidate&) const {
  Types types{inputTypes(problem), {}};
  for (const auto& output : problem.outputs) types.outputs.push_back(output.dtype);
  return {"cuda", std::string(name_.substr(name_.find('.') + 1)), version(), problem.op.text(), types.text(), -1};
}

std::vector<std::byte> OwnTactic::nativeCode(const compile::Problem&, const compile::Candidate&,
                                             const plan::KernelRecord& record) const {
  return ownCode(record);
}

uint64_t OwnTactic::codeHash(const plan::KernelRecord& record) const { return hashBytes(sourceOf(record)); }

std::vector<std::byte> ownCode(const plan::KernelRecord& record) {
  return compile(sourceOf(record), computeCapability());
}

}  // namespace tenon::backends::cuda
