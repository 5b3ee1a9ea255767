// The library behind the shim: found once, its entry points by name.
#pragma once

#include <cstdint>

namespace nvinfer1 {
class IBuilderConfig;
}

namespace tenon::capture {

// The address of an entry point of the library, null when it has none. The first call opens the library; when that is
// not possible, the reason goes to stderr.
void* entryPoint(const char* name) noexcept;

// Its getInferLibVersion(), 0 when it cannot be opened.
int32_t libraryVersion() noexcept;

// Gives a new configuration the timing cache of TRT_SHIM_SET_TACTIC_CACHE, by recorded calls.
void applyTacticCache(nvinfer1::IBuilderConfig* config) noexcept;

}  // namespace tenon::capture
