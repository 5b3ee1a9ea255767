// Under which names the public classes offer the recorded functions: the implementing classes' own are versioned.
#pragma once

#include <span>
#include <string_view>

namespace tenon::capture {

// In the order of methods(). Generated.
std::span<const std::string_view> publicNames();

}  // namespace tenon::capture
