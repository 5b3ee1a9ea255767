// What the machine that loads an engine must have.
#pragma once

#include <string>
#include <vector>

#include "plan/program.h"

namespace tenon::compile {

// Of all kernels of a plan, each once, in order: for plan::Target::requirements.
std::vector<std::string> requirementsOf(const plan::Plan& plan);

}  // namespace tenon::compile
