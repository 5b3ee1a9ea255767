// Streams that do their work at once, or keep it in a graph while they are captured.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>

// Runs the work, or records it where the stream is being captured. Other libraries of the emulated GPU find it by its
// name in the driver.
CUresult enqueue(CUstream stream, std::function<void()> work);
// Whether what comes next becomes part of a conditional node, which holds no functions of the host.
bool isCapturedAsBody(CUstream stream);
extern "C" __attribute__((visibility("default"))) void emulatedEnqueue(CUstream stream, void (*work)(void*),
                                                                       std::shared_ptr<void> argument);

// By the counted clock.
void emulatedSpend(size_t microseconds);

// For conditional nodes, without the toolkit's declarations, which older ones do not have.
#include "nodes.h"
