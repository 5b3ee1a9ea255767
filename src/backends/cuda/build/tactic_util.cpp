// Candidates and types of problems.
#include "backends/cuda/build/tactic_util.h"

namespace tenon::backends::cuda {

build::Candidate linearCandidate(std::string_view tactic, const build::Problem& problem) {
  return {std::string(tactic), "", std::vector<Format>(problem.inputs.size(), Format::kLinear),
          std::vector<Format>(problem.outputs.size(), Format::kLinear)};
}

std::vector<DataType> inputTypes(const build::Problem& problem) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

}  // namespace tenon::backends::cuda
