// A sum over a warp by one instruction. A test replaces this file by one for the host.
#pragma once

// Of all 32 lanes, which all get it.
__device__ __forceinline__ unsigned sumOfWarp(unsigned value) { return __reduce_add_sync(0xffffffffu, value); }
