// Candidates in one format.
#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {

std::vector<build::Candidate> uniformCandidates(std::string_view tactic, const build::Problem& problem, bool channelsLast) {
  std::vector<build::Candidate> result;
  for (const Format format : {Format::kLinear, Format::kChannelsLast}) {
    const int rank = problem.outputs[0].dims.rank;
    if (format == Format::kChannelsLast && (!channelsLast || rank < 4 || rank > 5)) continue;
    build::Candidate candidate{std::string(tactic), "", {}, {}};
    for (const auto& input : problem.inputs) {
      candidate.inputs.push_back(input.constant != nullptr || input.dims.rank < 4 ? Format::kLinear : format);
    }
    candidate.outputs.assign(problem.outputs.size(), format);
    result.push_back(std::move(candidate));
  }
  return result;
}

build::Support onlyF32(const build::Problem& problem) {
  for (const auto* operands : {&problem.inputs, &problem.outputs}) {
    for (const auto& operand : *operands) {
      if (operand.dtype != DataType::kF32) return build::no("operands of {}; it computes in f32", name(operand.dtype));
    }
  }
  return build::yes();
}

}  // namespace tenon::backends::cpu
