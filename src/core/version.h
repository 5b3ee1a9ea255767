// Tenon's own version, as plans carry it; the top CMakeLists.txt checks that it is the project's.
#pragma once

#include <cstdint>

namespace tenon {

constexpr int32_t kVersion = 100;  // major * 10000 + minor * 100 + patch

}  // namespace tenon
