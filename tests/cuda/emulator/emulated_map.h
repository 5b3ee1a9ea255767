// What the emulated driver writes as a tensor map: a matrix [width][columns], matrices [images][height][width][columns]
// that lie anyhow, or windows of images of these extents.
#pragma once

struct EmulatedMap {
  const unsigned char* base;
  long long columns, width, height, images;
  long long depth;                              // 0: images, else volumes of so many planes
  long long pitch, pitchOfRows, pitchOfImages;  // from place to place and so on, in bytes
  unsigned elementBytes;                        // 2 or 4
  bool isRounded;                               // to TF32 on the way
  unsigned boxRows, boxPieces;                  // pieces of 128 bytes of each row; 0: no axis of pieces
  bool isWindows;
  int first[3], last[3];  // places of windows along H, W and D: the first one, and none lies behind the last
  int step[3];            // from one to the next, along W, H and D
};
