// Variables of the environment: what those may be that hold numbers and switches, and what was set to something else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// The value of a variable of the table in environment.cpp; nothing where it is not set, or to none of what it may be.
std::optional<long> numberSetting(std::string_view name) noexcept;
bool switchedOn(std::string_view name, bool otherwise) noexcept;

// One sentence for each variable whose value is ignored, with what it may be.
std::vector<std::string> ignoredSettings();

}  // namespace tenon
