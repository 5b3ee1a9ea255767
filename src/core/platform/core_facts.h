// Facts about one core of the processor that runs this process.
#pragma once

namespace tenon::platform {

// Whether vectors of 512 bits go through units of half that width (Zen 4), so that one of 256 bits takes half the time.
bool halvesVectors();

}  // namespace tenon::platform
