// Bytes of small ONNX models for the fuzz target of the parser to begin with.
#pragma once

#include <string>
#include <vector>

namespace tenon::fuzz {

std::vector<std::string> seedModels();

}  // namespace tenon::fuzz
