// Pages of memory that is allocated and not needed any more.
#pragma once

#include <cstddef>

namespace tenon::platform {

// The whole pages within the range go back to the system; what they held is lost. The memory stays allocated.
void discardPages(void* memory, size_t bytes) noexcept;

}  // namespace tenon::platform
