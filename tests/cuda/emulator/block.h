// Runs the threads of blocks one after another, each until it waits for the others.
#pragma once

#include <cstddef>

struct EmulatedSize {
  unsigned x, y, z;
};
// Mirrors Emulator of intrinsics.cuh.
struct EmulatedState {
  EmulatedSize thread, block, blockSize, gridSize;
  void (*barrier)();
  void (*exchange)(const void* mine, void* other, size_t bytes, int lane);
  const char* (*collect)(const void* mine, size_t bytes);
  unsigned blockOfCluster, blocksOfCluster;
  void (*pause)();
  void (*arriveAtCluster)();
  void (*waitForCluster)();
};
using EmulatedKernel = void (*)(const void* parameters);

// `cluster`: so many blocks along x run together. Aborts with a message when threads wait for each other for ever.
void runGrid(EmulatedKernel kernel, EmulatedState& state, EmulatedSize grid, EmulatedSize block, const void* parameters,
             unsigned cluster = 1);
