// What products by warpgroups are given.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/tile_map_parameters.h"
#include "backends/cuda/kernels/direct/direct_parameters.h"

namespace tenon::backends::cuda {

constexpr int kMma90Bytes = 128;   // of the inner extent in a step
constexpr int kMma90Columns = 64;  // of a tile of weights
constexpr int kMma90TileBytes = kMma90Columns * kMma90Bytes;
constexpr int kMma90ColumnNumbers = 3 * kMma90Columns;  // of a tile's columns, where rows of x are normalized
constexpr int kMma90MostExtent = 1 << 20;               // columns, inner extent and taps are fewer
constexpr int kMma90MostTiles = 65535;                  // along rows
constexpr int kMma90MostStages = 24;
constexpr int kMma90HeadBytes = 1024;        // of shared memory, with the barriers
constexpr int kMma90MostShared = 227 << 10;  // bytes of a block
// Where blocks take tile after tile:
constexpr int kMma90PersistentThreads = 384;  // two warpgroups that multiply, and one whose warps copy
constexpr int kMma90EndingBytes = 32 << 10;   // of shared memory behind the stages, where tiles are finished
constexpr int kMma90MostPlaces = 8;           // there, of a warpgroup
constexpr int kMma90PieceRows = 32, kMma90SmallPieceRows = 16;  // that are finished at once; a tile has whole pieces

// Windows of an image [N][H][W][inner] as rows of x: the steps of one tap after those of the other.
struct Mma90Window {
  int32_t chunks = 1;                                        // steps of a tap
  int32_t width = 1;                                         // taps side by side
  int32_t stride[2] = {}, before[2] = {}, dilation[2] = {};  // along H and W; before: zeros in front
  Divider row, image;                                        // rows of x in a row and in an image of the result
  // Groups: tiles of columns that read the same channels, their columns, their channels.
  Divider tiles;
  int32_t columns = 0, channels = 0;
};

// Of windows of volumes [N][D][H][W][inner] also this; their planes are the images of Mma90Window.
struct Mma90Depth {
  int32_t taps = 1;  // of a plane
  int32_t stride = 1, before = 0, dilation = 1;
  Divider image;  // planes of a volume of the result
};

// Of rows of x that are normalized.
struct Mma90Norm {
  const void* x = nullptr;          // the rows
  const float* moments = nullptr;   // of each 64 elements of them
  void* kept = nullptr;             // the normalized ones, where they are wanted
  const float* columns = nullptr;   // of each tile: the unit of each column of w, the sums of w, the shifts
  const float* elements = nullptr;  // of rows of x: scales, then shifts
  int32_t inner = 0;
  int32_t runs = 0;                     // of 64 elements of a row, the last of fewer
  float lastMembers = 0, lastPart = 0;  // of the last, and 1 over it
  float part = 0;                       // 1 over the elements of a row
  float epsilon = 0;
};

// Where each window of x makes a cell of pixels, whose channels are columns; see mma90_subpixels.cuh.
struct Mma90Subpixels {
  Divider channels;                                      // of a pixel
  Divider across, down;                                  // pixels of a cell side by side, and one below the other
  Divider row, plane, image;                             // places in a row, rows of these and of volumes planes
  int32_t isPlanar = 0;                                  // y is planes, else channels-last
  int32_t cell[3] = {}, before[3] = {}, extent[3] = {};  // along H, W and D; before: pixels in front of the result's
};

// In which order blocks take tiles.
struct Mma90Order {
  int32_t across = 0, down = 0;  // tiles, or those of a cluster, along columns and rows
  int32_t band = 0;              // tiles of rows that are taken together
  int32_t tiles = 0;
};

// A tile, and its steps from the first row of taps that meets the image to behind the last one.
struct Mma90Turn {
  int32_t tile = -1;  // of none: the block is done
  int32_t first = 0, end = 0;
};

// What rows of a second product are, whose results are added.
enum class Mma90More : uint8_t { kNone, kMatrix, kWindows };

struct Mma90Parameters {
  TileMap x;                            // boxes of a stage and a block's rows of [rows][inner], or steps of windows
  void* data[kMaxDirectOperands] = {};  // y, x1.. of the epilogue: each like y, of y's columns, or one number
  const void* w = nullptr;              // as packMma90() lays them out
  int32_t rows = 0, columns = 0;
  int32_t steps = 0;      // of the whole inner extent
  int32_t stages = 0;     // in shared memory
  int32_t ringBytes = 0;  // of those, or of a block's sums where these are more
  Mma90Window window;
  Mma90Norm norm;
  float* moments = nullptr;  // of y: sum and spread of each 64 columns of a row
  Mma90Order order;          // from here on behind what the kernels of older plans take
  TileMap y, sum;            // boxes of a piece of y, and of what is read as y is written
  // Where taps are left out: the tiles of each block, which stand as far apart as there are blocks; order.tiles is then
  // their number.
  const Mma90Turn* turns = nullptr;
  // Of sums of two products: the steps of the first, which stand first, and the other one's rows of x.
  int32_t firstSteps = 0;
  TileMap more;
  Mma90Window moreWindow;
  Mma90Depth depth;
  // Where whole rows of y are normalized: by column, of the type of x; `more` is then boxes of what was normalized.
  const void *scale = nullptr, *shift = nullptr;
  void* plain = nullptr;  // rows of x, normalized by a launch in front, neither scaled nor shifted
  Mma90Subpixels subpixels;
};

}  // namespace tenon::backends::cuda
