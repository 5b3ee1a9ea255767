// What the tactics of the CUDA backend share.
#pragma once

#include <string_view>
#include <vector>

#include "build/tactics/tactic.h"

namespace tenon::backends::cuda {

// Every operand in kLinear.
build::Candidate linearCandidate(std::string_view tactic, const build::Problem& problem);

// Results channels-last, and the operands of 4 or 5 axes that are no constants.
build::Candidate channelsLastCandidate(std::string_view tactic, const build::Problem& problem);

std::vector<DataType> inputTypes(const build::Problem& problem);

}  // namespace tenon::backends::cuda
