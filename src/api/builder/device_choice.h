// Which device this process builds engines for.
#pragma once

#include <string>

namespace tenon::api {

// TENON_DEVICE when it is set, else "cuda" where that backend works, else "cpu". Throws Unsupported with the reason when
// the device that the variable names does not work here.
std::string chosenDevice();

}  // namespace tenon::api
