// What the emulated driver writes as a tensor map: a matrix [width][columns], or windows of images
// [images][height][width][columns], of elements of two bytes.
#pragma once

struct EmulatedMap {
  const unsigned char* base;
  long long columns, width, height, images, pitch;  // the pitch from place to place in bytes
  unsigned boxRows;
  bool isWindows;
  int first[2], last[2];  // places of windows along H and W: the first one, and none lies behind the last
  int step[2];            // from one to the next, along W and H
};
