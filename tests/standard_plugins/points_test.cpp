// Clouds of points, and sampling at moved places.
#include <algorithm>
#include <map>

#include "support.h"

namespace tenon::test {
namespace {

TEST(PointPlugins, VoxelGenerator) {
  Random random(51);
  for (const int64_t numbers : {4, 5}) {
    const int64_t clouds = 2, most = 40, pillars = 6, points = 3, features = numbers == 4 ? 10 : 11;
    const Array cloud = random.array({clouds, most, numbers}, -2.5, 2.5);
    const Array counts{{clouds}, {40, 17}, nv::DataType::kINT32};
    std::vector<double> voxels(static_cast<size_t>(clouds * pillars * points * features)),
        cells(static_cast<size_t>(clouds * pillars * 4)), found;
    for (int64_t n = 0; n < clouds; ++n) {
      std::vector<std::pair<std::pair<int, int>, std::vector<int64_t>>> groups;
      for (int64_t p = 0; p < static_cast<int64_t>(counts.values[static_cast<size_t>(n)]); ++p) {
        const double x = cloud.at({n, p, 0}), y = cloud.at({n, p, 1}), z = cloud.at({n, p, 2});
        if (x < -2 || x >= 2 || y < -2 || y >= 2 || z < -1 || z >= 2) continue;
        const std::pair cell{static_cast<int>(std::floor(y + 2)), static_cast<int>(std::floor((x + 2) / 2))};
        auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == cell; });
        if (group == groups.end()) group = groups.insert(groups.end(), {cell, {}});
        if (group->second.size() < 3) group->second.push_back(p);
      }
      const auto count = std::min<size_t>(groups.size(), 6);
      found.push_back(static_cast<double>(count));
      for (size_t g = 0; g < count; ++g) {
        const auto& [cell, own] = groups[g];
        const size_t at = static_cast<size_t>(n * pillars) + g;
        cells[at * 4 + 2] = cell.first;
        cells[at * 4 + 3] = cell.second;
        for (size_t k = 0; k < own.size(); ++k) {
          double* out = voxels.data() + (at * 3 + k) * static_cast<size_t>(features);
          for (int64_t i = 0; i < numbers; ++i) *out++ = cloud.at({n, own[k], i});
          for (int64_t i = 0; i < 3; ++i) {
            double mean = 0;
            for (const int64_t p : own) mean += cloud.at({n, p, i}) / static_cast<double>(own.size());
            *out++ = cloud.at({n, own[k], i}) - mean;
          }
          *out++ = cloud.at({n, own[k], 0}) - (-2 + (cell.second + 0.5) * 2);
          *out++ = cloud.at({n, own[k], 1}) - (-2 + (cell.first + 0.5));
          *out++ = cloud.at({n, own[k], 2}) - (-1 + 1.5);
        }
      }
    }
    FieldList fields;
    fields.ints("max_num_points_per_voxel", {3})
        .ints("max_voxels", {6})
        .reals("point_cloud_range", {-2, -2, -1, 2, 2, 2});
    fields.ints("voxel_feature_num", {static_cast<int32_t>(features)}).reals("voxel_size", {2, 1, 3});
    const auto got = runAllWays("VoxelGeneratorPlugin", "1", fields, {cloud, counts}, Extents::kDynamic);
    ASSERT_EQ(got.size(), 3U);
    expectNear(got[0], {clouds, pillars, points, features}, voxels, 1e-5, "voxels");
    expectNear(got[1], {clouds, pillars, 4}, cells, 0, "cells");
    expectNear(got[2], {clouds}, found, 0, "count");
  }
}

TEST(PointPlugins, PillarScatter) {
  Random random(52);
  const Array features = random.array({2, 5, 3});
  Array cells{{2, 5, 4}, std::vector<double>(40), nv::DataType::kINT32};
  const int places[10] = {3, 0, 7, 11, 5, 1, 2, 4, 6, 8};
  for (size_t i = 0; i < 10; ++i) {
    cells.values[i * 4 + 2] = places[i] / 4;
    cells.values[i * 4 + 3] = places[i] % 4;
  }
  cells.values[1 * 4 + 3] = 4;  // not there
  const Array counts{{2}, {5, 3}, nv::DataType::kINT32};
  std::vector<double> expected(2 * 3 * 12);
  for (size_t i = 0; i < 10; ++i) {
    if (i == 1 || i >= 8) continue;
    for (size_t c = 0; c < 3; ++c)
      expected[(i / 5 * 3 + c) * 12 + static_cast<size_t>(places[i])] = features.values[i * 3 + c];
  }
  const auto got = runAllWays("PillarScatterPlugin", "1", FieldList().ints("dense_shape", {3, 4}),
                              {features, cells, counts}, Extents::kDynamic);
  expectNear(got.at(0), {2, 3, 3, 4}, expected, 0, "PillarScatter");
}

TEST(PointPlugins, DecodeBbox3D) {
  Random random(53);
  const int64_t rows = 3, columns = 4, classes = 2, anchors = 4;
  Array scores = random.array({2, rows, columns, anchors * classes}, -2, 2);
  const Array boxes = random.array({2, rows, columns, anchors * 7});
  const Array ways = random.array({2, rows, columns, anchors * 2});
  const std::vector<float> range{0, -8, -3, 16, 8, 1}, bottoms{-1.5F, -0.5F};
  std::vector<float> table;
  for (int i = 0; i < 16; ++i) table.push_back(static_cast<float>(1 + 0.25 * i));
  std::vector<double> expected(static_cast<size_t>(2 * rows * columns * anchors * 9)), counts;
  const double period = 2 * M_PI / 2, offset = 0.75, limit = 0.25;
  for (int64_t n = 0; n < 2; ++n) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows * columns * anchors; ++i) {
      const int64_t a = i % anchors, x = i / anchors % columns, y = i / anchors / columns;
      const auto of = [&](const Array& from, int64_t width, int64_t k) { return from.at({n, y, x, a * width + k}); };
      const int64_t best = of(scores, 2, 1) > of(scores, 2, 0) ? 1 : 0;
      const double score = 1 / (1 + std::exp(-of(scores, 2, best)));
      if (score < 0.6) continue;
      const auto anchor = [&](int64_t k) { return static_cast<double>(table[static_cast<size_t>(a * 4 + k)]); };
      const double diagonal = std::sqrt(anchor(0) * anchor(0) + anchor(1) * anchor(1));
      const double angle = of(boxes, 7, 6) + anchor(3) - offset;
      const double way = of(ways, 2, 0) > of(ways, 2, 1) ? 0 : 1;
      const double values[9] = {
          of(boxes, 7, 0) * diagonal + 16.0 * static_cast<double>(x) / (columns - 1),
          of(boxes, 7, 1) * diagonal - 8 + 16.0 * static_cast<double>(y) / (rows - 1),
          of(boxes, 7, 2) * anchor(2) + anchor(2) / 2 + static_cast<double>(bottoms[static_cast<size_t>(a / 2)]),
          std::exp(of(boxes, 7, 3)) * anchor(0),
          std::exp(of(boxes, 7, 4)) * anchor(1),
          std::exp(of(boxes, 7, 5)) * anchor(2),
          angle - std::floor(angle / period + limit) * period + offset + period * way,
          static_cast<double>(best),
          score};
      for (int64_t k = 0; k < 9; ++k)
        expected[static_cast<size_t>((n * rows * columns * anchors + count) * 9 + k)] = values[k];
      ++count;
    }
    counts.push_back(static_cast<double>(count));
  }
  FieldList fields;
  fields.reals("point_cloud_range", range)
      .reals("anchors", table)
      .reals("anchor_bottom_height", bottoms)
      .reals("dir_offset", {0.75F});
  fields.reals("dir_limit_offset", {0.25F}).ints("num_dir_bins", {2}).reals("score_thresh", {0.6F});
  const auto got = runAllWays("DecodeBbox3DPlugin", "1", fields, {scores, boxes, ways}, Extents::kDynamic);
  ASSERT_EQ(got.size(), 2U);
  expectNear(got[0], {2, rows * columns * anchors, 9}, expected, 1e-4, "boxes");
  expectNear(got[1], {2}, counts, 0, "counts");
}

// The value between the pixels around a place; those outside are 0.
double sample(const std::function<double(int64_t, int64_t)>& pixel, int64_t height, int64_t width, double y, double x) {
  double sum = 0;
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const double weight = std::max(0.0, 1 - std::abs(y - static_cast<double>(i))) *
                            std::max(0.0, 1 - std::abs(x - static_cast<double>(j)));
      if (weight > 0) sum += weight * pixel(i, j);
    }
  }
  return sum;
}

TEST(DeformablePlugins, ModulatedConvolution) {
  Random random(54);
  for (const char* version : {"1", "2"}) {
    const int64_t group = 2, moved = 2, kh = 3, kw = 2, taps = kh * kw;
    const Array x = random.array({2, 4, 6, 7});
    const int64_t oh = (6 + 2 - 2 * (kh - 1) - 1) / 2 + 1, ow = (7 + 0 - (kw - 1) - 1) / 1 + 1;
    const Array offset = random.array({2, moved * 2 * taps, oh, ow}, -3, 3),
                mask = random.array({2, moved * taps, oh, ow}, 0, 1);
    const Array weight = random.array({6, 4 / group, kh, kw}), bias = random.array({6});
    std::vector<double> expected;
    for (int64_t i = 0; i < 2 * 6 * oh * ow; ++i) {
      const int64_t q = i % ow, p = i / ow % oh, k = i / ow / oh % 6, n = i / ow / oh / 6;
      double sum = bias.values[static_cast<size_t>(k)];
      for (int64_t c = 0; c < 2; ++c) {
        const int64_t channel = k / 3 * 2 + c, part = channel / (4 / moved);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const double dy = offset.at({n, (part * taps + tap) * 2, p, q}),
                       dx = offset.at({n, (part * taps + tap) * 2 + 1, p, q});
          const double y = static_cast<double>(p * 2 - 1 + tap / kw * 2) + dy,
                       z = static_cast<double>(q + tap % kw) + dx;
          sum += weight.at({k, c, tap / kw, tap % kw}) * mask.at({n, part * taps + tap, p, q}) *
                 sample(
                     [&](int64_t row, int64_t column) {
                       return x.at({n, channel, row, column});
                     },
                     6, 7, y, z);
        }
      }
      expected.push_back(sum);
    }
    FieldList fields;
    fields.ints("stride", {2, 1})
        .ints("padding", {1, 0})
        .ints("dilation", {2, 1})
        .ints("group", {2})
        .ints("deformable_group", {2});
    const auto got = runAllWays("ModulatedDeformConv2d", version, fields, {x, offset, mask, weight, bias});
    expectNear(got.at(0), {2, 6, oh, ow}, expected, 1e-4, version);
  }
}

TEST(DeformablePlugins, MultiscaleAttention) {
  Random random(55);
  for (const char* version : {"1", "2"}) {
    const int64_t heads = 2, width = 3, queries = 4, maps = 2, points = 3, values = 4 * 5 + 2 * 3;
    const Array value = random.array({2, values, heads, width}),
                weights = random.array({2, queries, heads, maps, points}, 0, 1);
    const Array places = random.array({2, queries, heads, maps, points, 2}, -0.2, 1.2);
    const Array shapes{{2, 2}, {4, 5, 2, 3}, nv::DataType::kINT32}, starts{{2}, {0, 20}, nv::DataType::kINT32};
    std::vector<double> expected;
    for (int64_t i = 0; i < 2 * queries * heads * width; ++i) {
      const int64_t d = i % width, m = i / width % heads, q = i / width / heads % queries,
                    n = i / width / heads / queries;
      double sum = 0;
      for (int64_t l = 0; l < maps; ++l) {
        const int64_t h = l == 0 ? 4 : 2, w = l == 0 ? 5 : 3;
        for (int64_t p = 0; p < points; ++p) {
          sum += weights.at({n, q, m, l, p}) * sample(
                                                   [&](int64_t row, int64_t column) {
                                                     return value.at({n, (l == 0 ? 0 : 20) + row * w + column, m, d});
                                                   },
                                                   h, w, places.at({n, q, m, l, p, 1}) * static_cast<double>(h) - 0.5,
                                                   places.at({n, q, m, l, p, 0}) * static_cast<double>(w) - 0.5);
        }
      }
      expected.push_back(sum);
    }
    const auto got = runAllWays("MultiscaleDeformableAttnPlugin_TRT", version, FieldList(),
                                {value, shapes, starts, places, weights});
    expectNear(got.at(0), {2, queries, heads, width}, expected, 1e-4, version);
  }
}

}  // namespace
}  // namespace tenon::test
