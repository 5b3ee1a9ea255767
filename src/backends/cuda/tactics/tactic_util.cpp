// Candidates and types of problems.
#include "backends/cuda/tactics/tactic_util.h"

namespace tenon::backends::cuda {

compile::Candidate linearCandidate(std::string_view tactic, const compile::Problem& problem) {
  return {std::string(tactic), "", std::vector<Format>(problem.inputs.size(), Format::kLinear),
          std::vector<Format>(problem.outputs.size(), Format::kLinear)};
}

compile::Candidate channelsLastCandidate(std::string_view tactic, const compile::Problem& problem) {
  compile::Candidate candidate{std::string(tactic), "", {}, {}};
  const auto format = [](int rank) { return rank >= 4 && rank <= 5 ? Format::kChannelsLast : Format::kLinear; };
  for (const auto& input : problem.inputs)
    candidate.inputs.push_back(input.constant != nullptr ? Format::kLinear : format(input.dims.rank));
  for (const auto& output : problem.outputs) candidate.outputs.push_back(format(output.dims.rank));
  return candidate;
}

std::vector<DataType> inputTypes(const compile::Problem& problem) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

}  // namespace tenon::backends::cuda
