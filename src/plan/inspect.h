// What the engine inspector shows: one line or JSON per layer of a program, as much as the plan's verbosity allows.
#pragma once

#include <string>

#include "plan/program.h"

namespace tenon::plan {

// `layer` is a step of the program. `symbols` is what a context has bound: extents are numbers under them, and -1 where
// they depend on others or without a context. With names only, JSON is the quoted name; with verbosity "none" there is
// nothing: no text, and {} as JSON.
std::string layerText(const Plan& plan, size_t program, size_t layer, const SymbolValues* symbols = nullptr);
std::string layerJson(const Plan& plan, size_t program, size_t layer, const SymbolValues* symbols = nullptr);

// {"Layers": [...], "Bindings": [...]}, and the same as lines.
std::string engineText(const Plan& plan, size_t program, const SymbolValues* symbols = nullptr);
std::string engineJson(const Plan& plan, size_t program, const SymbolValues* symbols = nullptr);

// "Row major linear FP32" and the like, for a tensor with `rank` extents.
std::string formatDescription(DataType type, Layout layout, size_t rank);

}  // namespace tenon::plan
