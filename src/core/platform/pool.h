// Worker threads that share the pieces of loops with the threads that call them.
//
// A loop is cut into pieces that lie in a row. The calling thread takes them from the front, workers take them from the
// back, so that in loop after loop over tensors of one size each core meets the part that it has in its caches. Nobody
// waits for a thread that has taken nothing: when all pieces are taken, the caller waits for those that are being
// computed. Workers are made when the first loop wants them; they spin for a while after a loop and then sleep.
#pragma once

#include <cstdint>

namespace tenon::platform {

// Computes [begin, end) of a loop. `place` is below the loop's number of threads, and no two calls that run at once
// have the same: it names memory that a thread may use. May throw: the loop then leaves out what has not begun, and the
// first exception reaches the caller.
using LoopBody = void (*)(void* argument, int64_t begin, int64_t end, int place);

constexpr int64_t kMostPieces = 65535;

// Cuts [0, count) into `pieces` (as many as there are elements and kMostPieces at most) of sizes that differ by 1 at
// most, and returns when all are computed. On at most `threads` threads, the calling one among them; on that alone
// within another loop's body. Any thread; allocates nothing once the workers are there.
void runLoop(int64_t count, int64_t pieces, int threads, LoopBody body, void* argument);

// Whether the calling thread is computing a piece of a loop.
bool isInLoop() noexcept;

// How long workers wait for the next loop before they sleep depends on whether an execution goes on that may bring one,
// and on whether there are more threads than cores.
void noteExecutions(int running, bool mayWait) noexcept;

// Workers that are there, for tests.
int workerCount() noexcept;

// For measurements (measured_call.h): while one goes on and for half a millisecond after, workers neither rest for
// other programs nor sleep sooner because of them, so that what is measured is the loop and not the moment.
void noteMeasuring(bool isOn) noexcept;
// Of the loops that this thread has run since it last asked, the most threads that one was shared by; 1 where none was.
int takeMostThreads() noexcept;
// Whether workers look for work for a while before they sleep, unless other programs want the cores.
bool mayWorkersWait() noexcept;
// Of all workers, in nanoseconds.
int64_t processorTimeOfWorkers() noexcept;

}  // namespace tenon::platform
