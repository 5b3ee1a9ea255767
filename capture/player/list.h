// --list: what a capture holds, without making a call.
#pragma once

#include <string>

#include "player/capture_file.h"

namespace tenon::capture {

// A table of networks, layers, builds and sizes. Throws CaptureError.
std::string listing(CaptureFile& capture);

}  // namespace tenon::capture
