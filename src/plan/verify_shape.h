// The check of one shape, which inputs, outputs and tensors share.
#pragma once

#include "plan/program.h"

namespace tenon::plan {

// Rank, constant extents and symbols; throws UserError naming `name`.
void verifyShape(const Plan& plan, const Shape& shape, const std::string& name);

}  // namespace tenon::plan
