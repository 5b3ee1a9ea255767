// Candidates and types of problems.
#include "backends/cuda/tactics/tactic_util.h"

namespace tenon::backends::cuda {

compile::Candidate channelsLastCandidate(std::string_view tactic, const compile::Problem& problem) {
  compile::Candidate candidate{std::string(tactic), "", {}, {}};
  const auto format = [](int rank) { return rank >= 4 && rank <= 5 ? Layout::kChannelsLast : Layout::kLinear; };
  for (const auto& input : problem.inputs)
    candidate.inputs.push_back(input.constant != nullptr ? Layout::kLinear : format(input.dims.rank));
  for (const auto& output : problem.outputs) candidate.outputs.push_back(format(output.dims.rank));
  return candidate;
}

std::vector<DataType> inputTypes(const compile::Problem& problem) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

bool mayUseTensorCores(const compile::Problem& problem) {
  return bits(problem.inputs[0].dtype) == 16 || (problem.inputs[0].dtype == DataType::kF32 && problem.tf32);
}

bool isTakenBy(std::string_view tactic, const compile::Problem& problem) {
  for (const auto* one : compile::tacticsOf("cuda")) {
    if (one->name() == tactic) return static_cast<bool>(one->supports(problem));
  }
  return false;
}

}  // namespace tenon::backends::cuda
