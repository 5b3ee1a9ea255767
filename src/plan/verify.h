// Whether a plan is sound in itself, and whether this machine can run it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/program.h"

namespace tenon::plan {

// Checks every reference, range, extent, operator text, lifetime and offset, so that a plan that passes cannot make the
// runtime reach outside its tables or the arena. Throws UserError with the place and what is wrong.
void verify(const Plan& plan);

// Steps and tensors of one program; called by verify().
void verifyProgram(const Plan& plan, size_t programIndex);

// What the loading machine offers.
struct Machine {
  std::string device;  // "cpu", "cuda", ...
  std::string deviceName;
  std::vector<std::string> properties;  // in the form of requirements
  std::function<bool(const std::string&)> meets;
};

// Throws UserError when the plan is for another kind of device, Unsupported when this machine lacks what it needs.
void checkCompatible(const Plan& plan, const Machine& machine);

}  // namespace tenon::plan
