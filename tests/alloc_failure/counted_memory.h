// The program's operator new and aligned_alloc: they count what is asked for, and say no where the test wants it.
#pragma once

#include <cstdint>

namespace tenon::test {

// From here on, the `number`th request of this thread (1 is the next one) fails, and all after it too if `onwards`.
// Zero: none fails, requests are only counted.
void beginCounting(int64_t number, bool onwards) noexcept;
// Requests since beginCounting().
int64_t endCounting() noexcept;
// Whether one failed since then.
bool hasFailed() noexcept;
// Objects of operator new that live now, of all threads.
int64_t liveObjects() noexcept;

}  // namespace tenon::test
