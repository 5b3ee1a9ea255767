// The fixed parts of the programs that --emit-cpp writes, and how values look in them.
#pragma once

#include <string>

#include "player/capture_file.h"

namespace tenon::capture {

extern const char kEmittedPrologue[];   // includes, logger, weights, saving
extern const char kEmittedUsers[];      // objects in place of the application's own
extern const char kEmittedAllocator[];  // the one of them that needs the CUDA runtime
extern const char kEmittedPlugins[];    // plugins from their creators
extern const char kEmittedEpilogue[];   // the beginning of main()

// Each throws CaptureError for what is not of its kind: a damaged capture shall become no program.
std::string cppText(const Json& value);    // a literal, or nullptr
std::string cppName(const Json& value);    // of an enumerator or a class
std::string cppNumber(const Json& value);  // also of the names of infinities
std::string cppNumbers(const Json& list);  // with commas
std::string cppBytes(const Json& hex);     // "00ff" as 0x00, 0xff

}  // namespace tenon::capture
