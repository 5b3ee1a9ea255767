// Windows of images and volumes as rows of x: where the first one of a tile lies, and the others' elements of a tap.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "prelude.cuh"

// kAxes: 2, or 3 of volumes [N][D][H][W][inner], of whose planes p.depth tells.
template <int kAxes>
struct Mma90Windows {
  int image, z, y, x;

  __device__ __forceinline__ Mma90Windows(const Mma90Parameters& p, const Mma90Window& window, unsigned first) {
    const unsigned plane = first / window.image;
    const unsigned within = first - plane * window.image.divisor;
    const unsigned row = within / window.row;
    image = (int)plane;
    y = (int)row * window.stride[0] - window.before[0];
    x = (int)(within - row * window.row.divisor) * window.stride[1] - window.before[1];
    z = 0;
    if (kAxes == 2) return;
    image = (int)(plane / p.depth.image);
    z = (int)(plane - (unsigned)image * p.depth.image.divisor) * p.depth.stride - p.depth.before;
  }
  // kToBoth: to both blocks of a cluster of two.
  template <bool kToBoth>
  __device__ __forceinline__ void copy(const Mma90Parameters& p, const TileMap& map, const Mma90Window& window,
                                       unsigned char* to, int channel, int tap, ByteBarrier* barrier) const {
    int plane = 0;
    if (kAxes == 3) {
      plane = tap / p.depth.taps;
      tap -= plane * p.depth.taps;
    }
    const int row = tap / window.width;
    const int xTap = (tap - row * window.width) * window.dilation[1];
    const int yTap = row * window.dilation[0];
    if (kAxes == 3) {
      const int zTap = plane * p.depth.dilation;
      if (kToBoth) copyVolumesToBoth(to, map, channel, x, y, z, image, xTap, yTap, zTap, barrier);
      else copyVolumes(to, map, channel, x, y, z, image, xTap, yTap, zTap, barrier);
    } else if (kToBoth) {
      copyWindowsToBoth(to, map, channel, x, y, image, xTap, yTap, barrier);
    } else {
      copyWindows(to, map, channel, x, y, image, xTap, yTap, barrier);
    }
  }
};
