// Where the process computes.
#pragma once

#include "tenon/hostcuda.h"

namespace tenon::hostcuda {

// Starts the driver at the first call, unless TENON_DEVICE=cpu.
Mode currentMode();

// Whether a driver library can be loaded and may be used; does not start it, so the process may still fork.
bool driverPresent();

}  // namespace tenon::hostcuda
