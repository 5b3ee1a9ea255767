// What the engine inspector shows: one line or JSON per layer of a program, as much as the plan's verbosity allows.
#pragma once

#include <string>

#include "plan/program.h"

namespace tenon::plan {

// `layer` is a step of the program. With names only, JSON is the quoted name; with verbosity "none" both are empty.
std::string layerText(const Plan& plan, size_t program, size_t layer);
std::string layerJson(const Plan& plan, size_t program, size_t layer);

// {"Layers": [...], "Bindings": [...]} and one line per layer.
std::string engineText(const Plan& plan, size_t program);
std::string engineJson(const Plan& plan, size_t program);

}  // namespace tenon::plan
