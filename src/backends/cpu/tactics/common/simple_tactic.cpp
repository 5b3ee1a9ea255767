// Candidates in one format.
#include "backends/cpu/tactics/common/simple_tactic.h"

#include <algorithm>

#include "core/platform/processor.h"
#include "core/storage.h"

namespace tenon::backends::cpu {

std::vector<compile::Candidate> uniformCandidates(std::string_view tactic, const compile::Problem& problem,
                                                  bool channelsLast) {
  std::vector<compile::Candidate> result;
  for (const Layout format : {Layout::kLinear, Layout::kChannelsLast}) {
    const int rank = problem.outputs[0].dims.rank;
    if (format == Layout::kChannelsLast && (!channelsLast || rank < 4 || rank > 5)) continue;
    compile::Candidate candidate{std::string(tactic), "", {}, {}};
    for (const auto& input : problem.inputs) {
      candidate.inputs.push_back(input.constant != nullptr || input.dims.rank < 4 ? Layout::kLinear : format);
    }
    candidate.outputs.assign(problem.outputs.size(), format);
    result.push_back(std::move(candidate));
  }
  return result;
}

std::optional<Layout> blockedFormat() {
  switch (platform::bestIsa()) {
    case platform::Isa::kAvx512: return Layout::kBlocked16;
    case platform::Isa::kAvx2: return Layout::kBlocked8;
    default: return std::nullopt;
  }
}

void addBlockedCandidate(std::string_view tactic, const compile::Problem& problem,
                         std::vector<compile::Candidate>& candidates) {
  const auto blocked = blockedFormat();
  if (!blocked) return;
  const auto formatOf = [&](const compile::TensorDesc& tensor) -> std::optional<Layout> {
    constexpr int kImageRank = 4;
    if (tensor.constant != nullptr || tensor.dims.rank < kImageRank || tensor.dims[1] <= kFewChannels)
      return Layout::kLinear;
    const bool whole =
        tensor.dims.rank == kImageRank && tensor.dims[1] > 0 && tensor.dims[1] % channelBlock(*blocked) == 0;
    return whole && tensor.dtype == DataType::kF32 ? blocked : std::nullopt;
  };
  compile::Candidate candidate{std::string(tactic), "", {}, {}};
  for (const auto& input : problem.inputs) {
    const auto format = formatOf(input);
    if (!format) return;
    candidate.inputs.push_back(*format);
  }
  for (const auto& output : problem.outputs) {
    const auto format = formatOf(output);
    if (format != blocked) return;
    candidate.outputs.push_back(*format);
  }
  candidates.push_back(std::move(candidate));
}

void allowPitch(std::vector<compile::Candidate>& candidates) {
  const auto mask = [](const std::vector<Layout>& formats) {
    uint64_t result = 0;
    for (size_t i = 0; i < std::min<size_t>(formats.size(), 64); ++i)
      result |= formats[i] == Layout::kChannelsLast ? uint64_t{1} << i : 0;
    return result;
  };
  for (auto& candidate : candidates) {
    candidate.pitchedInputs = mask(candidate.inputs);
    candidate.pitchedOutputs = mask(candidate.outputs);
  }
}

compile::Support onlyF32(const compile::Problem& problem) {
  for (const auto* operands : {&problem.inputs, &problem.outputs}) {
    for (const auto& operand : *operands) {
      if (operand.dtype != DataType::kF32)
        return compile::no("operands of {}; only f32 is supported", name(operand.dtype));
    }
  }
  return compile::yes();
}

compile::Support anyWholeBytes(const compile::Problem& problem) {
  for (const auto& input : problem.inputs) {
    if (bits(input.dtype) < 8) return compile::no("elements of {} bits are not supported", bits(input.dtype));
  }
  return compile::yes();
}

compile::Support onlyWholeBytes(const compile::Problem& problem) {
  for (const auto* operands : {&problem.inputs, &problem.outputs}) {
    for (const auto& operand : *operands) {
      const auto type = operand.dtype;
      if (bits(type) < 8 || type == DataType::kF8E4M3 || type == DataType::kE8M0)
        return compile::no("operands of {}; types of whole bytes but 8-bit floats are supported", name(type));
    }
  }
  return compile::yes();
}

}  // namespace tenon::backends::cpu
