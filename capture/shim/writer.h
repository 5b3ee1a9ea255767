// The stand-in for a stream that the engine is written to, which keeps the engine's hash and size.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <string>

namespace tenon::capture {

// {"bytes": ..., "xxh3": ...} of all that the thread's last build wrote to a stream; empty when it wrote nothing.
// Starts anew with each call.
std::string takeStreamedEngine();

}  // namespace tenon::capture
