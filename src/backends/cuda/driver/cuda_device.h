// One GPU as a device of the runtime, through the driver API and the device's primary context.
#pragma once

#include <string>

#include "runtime/device.h"

namespace tenon::backends::cuda {

// Empty when a GPU answers, else why none does. TENON_DEVICE=cpu hides it.
const std::string& unavailableReason();

// Device 0's primary context, made current on the calling thread. Throws Unsupported with the reason.
runtime::Device& cudaDevice();
void makeCurrent();

// Compute capability, for example 90; of an older chip where TENON_CUDA_CAPABILITY names one, whose code (PTX) the
// driver then translates.
int computeCapability();
bool translatesCode();

// Copies from the host and waits for that alone: not for the legacy stream, which waits for others.
void writeAtOnce(void* to, const void* from, size_t bytes);

// Whether the calling thread is recording launches into a graph of ours, as replays and measurements do.
bool isRecording() noexcept;

}  // namespace tenon::backends::cuda
