// Plugin libraries that an engine brings along (IBuilderConfig::setPluginsToSerialize).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/program.h"

namespace tenon::api {

// Puts the files into the plan's code for the host. UserError naming the file that cannot be read.
void embedLibraries(plan::Plan& plan, const std::vector<std::string>& paths);

// Names and bytes of those that a plan holds. UserError where it contradicts itself.
std::vector<std::pair<std::string, std::span<const std::byte>>> librariesOf(const plan::Plan& plan);

// Loads a library from memory and registers its creators; the same bytes once in a process. It stays loaded.
void openLibrary(const std::string& name, std::span<const std::byte> bytes);

}  // namespace tenon::api
