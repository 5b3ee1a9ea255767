// --emit-cpp: the calls of a capture as a C++ program.
#pragma once

#include <string>

#include "player/capture_file.h"

namespace tenon::capture {

// The text of a program that makes the same calls: it needs the public headers, the library and the BIN file, whose
// name is its first argument; engines go to the files <second argument>0, 1, ... Throws CaptureError.
std::string emitCpp(CaptureFile& capture);

}  // namespace tenon::capture
