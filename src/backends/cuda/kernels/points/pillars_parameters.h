// What the kernels that group points are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kPillarThreads = 64;   // that write a pillar
constexpr int kNumberThreads = 256;  // that number the pillars of a cloud

struct PillarsParameters {
  const float* points = nullptr;
  const int32_t* counts = nullptr;  // of points, by cloud
  float* features = nullptr;
  int32_t* cells = nullptr;
  int32_t* written = nullptr;                 // by cloud
  int64_t clouds = 0, most = 0, numbers = 0;  // of points of a cloud; of a point
  int64_t pillars = 1, perPillar = 1, width = 0;
  int64_t columns = 1;  // of the grid
  double range[6] = {};
  double size[3] = {};
  int64_t capacity = 0;       // keys of a cloud
  uint64_t* keys = nullptr;   // by cloud: cell, then point
  uint32_t* heads = nullptr;  // by cloud and point: where the keys of its cell begin, if it is the first; else all bits
  uint32_t* starts = nullptr;  // by cloud and pillar: where its keys begin
};

}  // namespace tenon::backends::cuda
