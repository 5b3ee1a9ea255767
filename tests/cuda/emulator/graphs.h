// Streams that do their work at once, or keep it in a graph while they are captured.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>

// Runs the work, or records it where the stream is being captured. Other libraries of the emulated GPU find it by its
// name in the driver.
CUresult enqueue(CUstream stream, std::function<void()> work);
extern "C" __attribute__((visibility("default"))) void emulatedEnqueue(CUstream stream, void (*work)(void*),
                                                                       std::shared_ptr<void> argument);
