// Which device this process builds engines for.
#pragma once

#include <string>

namespace tenon::api {

// TENON_DEVICE, empty where it is not set. Throws Unsupported with the reason when that device does not work here.
std::string demandedDevice();

// demandedDevice() when there is one, else "cuda" where that backend works, else "cpu".
std::string chosenDevice();

}  // namespace tenon::api
