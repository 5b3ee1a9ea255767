// Facts about one core of the processor that runs this process.
#pragma once

#include <cstddef>

namespace tenon::platform {

// Whether vectors of 512 bits go through units of half that width (Zen 4), so that one of 256 bits takes half the time.
bool halvesVectors();

// Bytes of the last cache that the core has for itself; a usual size where the system does not say.
size_t privateCacheBytes();

}  // namespace tenon::platform
