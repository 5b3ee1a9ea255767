// Deconvolutions, and convolutions to few channels, as products: w has a column for each channel of each pixel of a
// cell, which one window of x makes. Cells lie side by side, the result may begin and end within one.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "prelude.cuh"

// Where the element of a place and a column stands in y, or -1 where it is cut off.
template <int kAxes>
__device__ __forceinline__ i64 subpixelOffset(const Mma90Subpixels& s, unsigned place, unsigned column) {
  const unsigned pixel = column / s.channels;
  const unsigned line = pixel / s.across;
  const unsigned row = place / s.row;
  const unsigned plane = row / s.plane;
  const int x = (int)((place - row * s.row.divisor) * s.cell[1] + pixel - line * s.across.divisor) - s.before[1];
  unsigned lineOfPlane = line;
  unsigned image = plane;
  int z = 0;
  if (kAxes == 3) {
    const unsigned planeOfCell = line / s.down;
    lineOfPlane -= planeOfCell * s.down.divisor;
    image = plane / s.image;
    z = (int)((plane - image * s.image.divisor) * s.cell[2] + planeOfCell) - s.before[2];
    if (z < 0 || z >= s.extent[2]) return -1;
  }
  const int y = (int)((row - plane * s.plane.divisor) * s.cell[0] + lineOfPlane) - s.before[0];
  if (x < 0 || x >= s.extent[1] || y < 0 || y >= s.extent[0]) return -1;
  const unsigned channel = column - pixel * s.channels.divisor;
  const i64 whole = s.isPlanar ? (i64)image * s.channels.divisor + channel : image;
  const i64 at = ((whole * s.extent[2] + z) * s.extent[0] + y) * s.extent[1] + x;
  return s.isPlanar ? at : at * s.channels.divisor + channel;
}
