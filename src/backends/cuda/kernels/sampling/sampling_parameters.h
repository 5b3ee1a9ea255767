// What kernels that sample at computed places are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kMostMaps = 8;

struct RoiAlignParameters {
  const float* regions = nullptr;
  const int32_t* origins = nullptr;
  const void* maps[kMostMaps] = {};
  int64_t rows[kMostMaps] = {}, columns[kMostMaps] = {};
  void* y = nullptr;
  int64_t channels = 1, height = 1, width = 1, images = 0;
  int64_t samples = 0, least = 0, mostSamples = 1;
  int32_t mapCount = 0;
  float offset = 0;
  int32_t channelsOfThread = 1;  // kRoiChannels at most
  int64_t threads = 0;
};
constexpr int kRoiChannels = 8;

struct DeformableColumnsParameters {
  const void* x = nullptr;
  const void* offsets = nullptr;
  const void* mask = nullptr;  // null: 1 everywhere
  void* y = nullptr;
  int64_t count = 0;  // elements of the result
  int64_t channels = 1, rows = 1, columns = 1;
  int64_t outRows = 1, outColumns = 1, groups = 1;
  int64_t kernelRows = 1, kernelColumns = 1;
  int64_t strides[2] = {}, padding[2] = {}, dilations[2] = {};
};

constexpr int kGridChannels = 4;  // of a thread, where channels are planes

struct GridSampleParameters {
  const void* x = nullptr;
  const void* grid = nullptr;
  void* y = nullptr;
  int64_t threads = 0;
  int64_t channels = 1, places = 1, groups = 1;  // groups: of channels
  int64_t imageStride = 0, channelStride = 0, rowStride = 0, columnStride = 0;
  int64_t yImage = 0, yChannel = 0, yPlace = 0;
  int32_t rows = 0, columns = 0;
};

struct DeformableAttentionParameters {
  const void* value = nullptr;
  const void* shapes = nullptr;
  const void* starts = nullptr;
  const void* places = nullptr;
  const void* weights = nullptr;
  void* y = nullptr;
  int64_t count = 0;  // elements of the result
  int64_t values = 0, heads = 1, width = 1, queries = 1, maps = 1, points = 1;
};

}  // namespace tenon::backends::cuda
