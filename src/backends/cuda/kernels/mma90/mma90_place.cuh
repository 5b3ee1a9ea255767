// A block's part of a product by warpgroups: its tile, its steps of the inner extent, and its shared memory.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "warp_group.cuh"

// Product: Mma90.
template <typename Product>
struct Mma90Place {
  int block;         // of the cluster
  int first, count;  // steps of the inner extent
  int stages;        // that they make
  int tileOfColumns, firstRow, firstColumn, endColumn;
  int firstChannel;  // of windows
  ByteBarrier *full, *empty, *numbered, *parted, *joined;
  unsigned char* ring;
  float *numbers, *received;

  __device__ __forceinline__ Mma90Place(const Mma90Parameters& p, unsigned char* memory) {
    block = Product::kBlocks == 1 ? 0 : blockOfCluster();
    first = p.steps * block / Product::kBlocks;
    count = p.steps * (block + 1) / Product::kBlocks - first;
    stages = count / Product::kSteps;  // what a part has are whole stages
    tileOfColumns = blockIdx.y;
    firstRow = blockIdx.z * Product::kRows;
    firstColumn = tileOfColumns * Product::kColumns;
    endColumn = p.columns;
    firstChannel = 0;
    if (Product::kWindows) {
      const int part = (unsigned)tileOfColumns / p.window.tiles;
      firstColumn -= part * ((int)p.window.tiles.divisor * Product::kColumns - p.window.columns);
      endColumn = min(p.columns, (part + 1) * p.window.columns);
      firstChannel = part * p.window.channels;
    }
    full = (ByteBarrier*)memory;
    empty = full + kMma90MostStages;
    numbered = empty + kMma90MostStages;
    parted = numbered + 1;
    joined = parted + kMma90MostStages;
    ring = memory + kMma90HeadBytes;
    numbers = (float*)(ring + p.ringBytes);
    received = numbers + Product::kNumbers;
  }
};
