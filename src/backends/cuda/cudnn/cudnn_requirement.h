// The release of cuDNN as a requirement of plans.
#pragma once

#include <string>

namespace tenon::backends::cuda {

// "cudnn:9" of the release that is here; "cudnn:none" where there is none. Opens the library.
std::string cudnnRequirement();

}  // namespace tenon::backends::cuda
