// How long a call takes, and whether other programs had a part of that time.
#pragma once

namespace tenon::platform {

struct CallTime {
  double seconds = 0;
  // Others had cores that the call wanted: it would have taken less, or as much, without them.
  bool isDisturbed = false;
};

// By the clock. A call that one thread computes, that did not wait and was taken off its core takes its processor time.
// A shared loop is disturbed where its threads were on cores for less than nine tenths of the time. Any thread; of two
// that measure at once, the first to end ends for both what noteMeasuring() (pool.h) does.
CallTime measureCall(void (*work)(void* argument), void* argument);

}  // namespace tenon::platform
