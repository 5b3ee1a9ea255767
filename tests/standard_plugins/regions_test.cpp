// Plugins that sample regions of maps, against the places of each sample worked out anew.
#include <algorithm>
#include <limits>

#include "support.h"

namespace tenon::test {
namespace {

// Linear between the pixels around a place that is inside.
double between(const Array& map, int64_t n, int64_t c, double y, double x) {
  const auto low = [](double place) { return static_cast<int64_t>(std::floor(place)); };
  const auto pixel = [&](int64_t row, int64_t column) {
    return map.at({n, c, std::min(row, map.dims[2] - 1), std::min(column, map.dims[3] - 1)});
  };
  const double dy = y - std::floor(y), dx = x - std::floor(x);
  return (pixel(low(y), low(x)) * (1 - dx) + pixel(low(y), low(x) + 1) * dx) * (1 - dy) +
         (pixel(low(y) + 1, low(x)) * (1 - dx) + pixel(low(y) + 1, low(x) + 1) * dx) * dy;
}

double last(const Array& map, size_t axis) { return static_cast<double>(map.dims[axis] - 1); }

TEST(RegionPlugins, CropAndResize) {
  Random random(31);
  const Array map = random.array({2, 3, 6, 5});
  Array boxes = random.array({2, 4, 4, 1}, -0.25, 1.25);
  for (const auto& [height, width] : {std::pair<int32_t, int32_t>{3, 4}, {1, 2}, {2, 1}}) {
    std::vector<double> expected;
    for (int64_t i = 0; i < 2 * 4 * 3 * height * width; ++i) {
      const int64_t x = i % width, y = i / width % height, c = i / width / height % 3, b = i / width / height / 3;
      const auto end = [&](int64_t k) { return boxes.values[static_cast<size_t>(b * 4 + k)]; };
      const auto place = [&](double first, double second, double most, int64_t k, int64_t count) {
        return count == 1
                   ? (first + second) / 2 * most
                   : first * most + static_cast<double>(k) * (second - first) * most / static_cast<double>(count - 1);
      };
      const double row = place(end(0), end(2), last(map, 2), y, height);
      const double column = place(end(1), end(3), last(map, 3), x, width);
      const bool inside = row >= 0 && row <= last(map, 2) && column >= 0 && column <= last(map, 3);
      expected.push_back(inside ? between(map, b / 4, c, row, column) : 0);
    }
    const auto fields = FieldList().ints("crop_width", {width}).ints("crop_height", {height});
    for (const auto& [name, version] :
         {std::pair{"CropAndResize", "1"}, {"CropAndResizeDynamic", "1"}, {"CropAndResizeDynamic", "2"}}) {
      const auto got = runAllWays(name, version, FieldList().ints("crop_width", {width}).ints("crop_height", {height}),
                                  {map, boxes});
      expectNear(got.at(0), {2, 4, 3, height, width}, expected, 1e-4, name);
    }
  }
}

TEST(RegionPlugins, RoiAlign) {
  Random random(32);
  const Array map = random.array({2, 2, 7, 9});
  for (int round = 0; round < 8; ++round) {
    const bool half = round % 2 == 1, mean = round / 2 % 2 == 0;
    const auto ratio = static_cast<int32_t>(round / 4 * 2);
    const int64_t height = 2, width = 3, count = 5;
    Array regions = random.boxes({count, 4}, 20);
    const Array images = random.wholes({count}, 0, 1);
    std::vector<double> expected;
    for (int64_t i = 0; i < count * 2 * height * width; ++i) {
      const int64_t x = i % width, y = i / width % height, c = i / width / height % 2, r = i / width / height / 2;
      const auto end = [&](int64_t k) { return regions.at({r, k}) * 0.5 - (half ? 0.5 : 0); };
      double high = end(3) - end(1), wide = end(2) - end(0);
      if (!half) {
        high = std::max(high, 1.0);
        wide = std::max(wide, 1.0);
      }
      const double binH = high / height, binW = wide / width;
      const int rows = ratio > 0 ? ratio : static_cast<int>(std::ceil(binH));
      const int columns = ratio > 0 ? ratio : static_cast<int>(std::ceil(binW));
      double sum = 0, most = -std::numeric_limits<double>::infinity();
      for (int s = 0; s < rows * columns; ++s) {
        double py = end(1) + static_cast<double>(y) * binH + (s / columns + 0.5) * binH / rows;
        double px = end(0) + static_cast<double>(x) * binW + (s % columns + 0.5) * binW / columns;
        double corners[4] = {};
        if (py >= -1 && py <= 7 && px >= -1 && px <= 9) {
          py = std::clamp(py, 0.0, 6.0);
          px = std::clamp(px, 0.0, 8.0);
          const double dy = py - std::floor(py), dx = px - std::floor(px);
          for (int k = 0; k < 4; ++k) {
            const auto row = std::min<int64_t>(static_cast<int64_t>(py) + k / 2, 6);
            const auto column = std::min<int64_t>(static_cast<int64_t>(px) + k % 2, 8);
            corners[k] = map.at({static_cast<int64_t>(images.values[static_cast<size_t>(r)]), c, row, column}) *
                         (k / 2 == 1 ? dy : 1 - dy) * (k % 2 == 1 ? dx : 1 - dx);
          }
        }
        sum += corners[0] + corners[1] + corners[2] + corners[3];
        most = std::max(most, *std::max_element(corners, corners + 4));
      }
      expected.push_back(rows * columns == 0 ? 0 : mean ? sum / (rows * columns) : most);
    }
    for (const char* version : {"1", "2"}) {
      FieldList fields;
      fields.ints("coordinate_transformation_mode", {half})
          .ints("mode", {mean})
          .ints("output_height", {2})
          .ints("output_width", {3});
      fields.ints("sampling_ratio", {ratio}).reals("spatial_scale", {0.5F});
      const auto got = runAllWays("ROIAlign_TRT", version, fields, {map, regions, images}, Extents::kDynamic);
      expectNear(got.at(0), {count, 2, height, width}, expected, 1e-4, "round " + std::to_string(round));
    }
  }
}

TEST(RegionPlugins, MultilevelCropAndResize) {
  Random random(33);
  const int64_t height = 256, width = 512, size = 3, count = 9;
  Array regions = random.boxes({1, count, 4}, 256);
  for (size_t i = 0; i < 16; i += 2) regions.values[i] = std::floor(regions.values[i] / 8);  // small ones too
  for (size_t i = 0; i < 16; i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      if (regions.values[i + k] > regions.values[i + k + 2])
        std::swap(regions.values[i + k], regions.values[i + k + 2]);
    }
  }
  regions.values[32] = -1;  // leaves the image
  Arrays inputs{regions};
  for (int level = 0; level < 5; ++level)
    inputs.push_back(random.array({1, 2, height >> (level + 2), width >> (level + 2)}));
  std::vector<double> expected;
  for (int64_t i = 0; i < count * 2 * size * size; ++i) {
    const int64_t x = i % size, y = i / size % size, c = i / size / size % 2, r = i / size / size / 2;
    const auto end = [&](int64_t k) { return regions.at({0, r, k}); };
    const bool valid =
        end(0) >= 0 && end(2) <= height && end(1) >= 0 && end(3) <= width && end(0) < end(2) && end(1) < end(3);
    if (!valid) {
      expected.push_back(0);
      continue;
    }
    const double area = (end(2) - end(0)) * (end(3) - end(1));
    size_t level = 0;
    for (double limit = 224 * 224 / 4.0; level < 4 && area > limit; limit *= 4) ++level;
    const Array& map = inputs[level + 1];
    const double scale = 1.0 / static_cast<double>(4 << level);
    const auto place = [&](int64_t k, int64_t cell, double most) {
      return std::clamp((end(k) + (end(k + 2) - end(k)) * (static_cast<double>(cell) + 0.5) / size) * scale, 0.0, most);
    };
    expected.push_back(between(map, 0, c, place(0, y, last(map, 2)), place(1, x, last(map, 3))));
  }
  const auto got = runAllWays("MultilevelCropAndResize_TRT", "1",
                              FieldList().ints("pooled_size", {3}).ints("image_size", {3, 256, 512}), inputs);
  expectNear(got.at(0), {1, count, 2, size, size}, expected, 1e-4, "MultilevelCropAndResize");
}

TEST(RegionPlugins, PyramidRoiAlign) {
  Random random(34);
  const int64_t size = 2, count = 12;
  for (int round = 0; round < 8; ++round) {
    const bool legacy = round == 7, absolute = round % 2 == 0 && !legacy, yFirst = round % 3 == 0 || legacy,
               plusOne = round == 4;
    const int transform = legacy ? -1 : round % 3;
    const int32_t ratio = round / 3;
    const double imageH = 128, imageW = 256;
    Array regions = random.array({2, count, 4}, -0.1, 1.1);
    if (absolute) {
      for (double& v : regions.values) v *= 128;
    }
    Arrays inputs{regions};
    for (int level = 0; level < 4; ++level) inputs.push_back(random.array({2, 2, 16 >> level, 32 >> level}));
    std::vector<double> expected;
    for (int64_t i = 0; i < 2 * count * 2 * size * size; ++i) {
      const int64_t x = i % size, y = i / size % size, c = i / size / size % 2, r = i / size / size / 2;
      const auto raw = [&](int64_t k) { return regions.values[static_cast<size_t>(r * 4 + k)]; };
      const int64_t first = yFirst ? 0 : 1;
      double ends[4] = {std::min(raw(first), raw(first + 2)), std::min(raw(1 - first), raw(3 - first)),
                        std::max(raw(first), raw(first + 2)), std::max(raw(1 - first), raw(3 - first))};
      for (int k = 0; k < 4; ++k) {
        const double side = k % 2 == 0 ? imageH : imageW;
        ends[k] = absolute ? std::clamp(ends[k], 0.0, side) / side : std::clamp(ends[k], 0.0, 1.0);
      }
      const double area =
          (ends[2] - ends[0] + (plusOne ? 1 / imageH : 0)) * (ends[3] - ends[1] + (plusOne ? 1 / imageW : 0));
      size_t level = 0;
      for (double limit = legacy ? 224.0 * 224 * 2 / (1024 * 1024) / 16 : 56.0 * 56 / (imageH * imageW) / 4;
           level < 3 && area > limit; limit *= 4)
        ++level;
      const Array& map = inputs[level + 1];
      const auto axis = [&](int k, int64_t cell, int64_t pixels) {
        const double scale = static_cast<double>(transform == -1 ? pixels - 1 : pixels);
        const double begin = ends[k] * scale - (transform == 2 ? 0.5 : 0);
        const double end = ends[k + 2] * scale - (transform == 2 ? 0.5 : 0);
        const double step = (end - begin) / static_cast<double>(transform == -1 ? size - 1 : size);
        const int samples = legacy      ? 1
                            : ratio > 0 ? ratio
                                        : std::max(1, static_cast<int>(std::ceil((end - begin) / size)));
        std::vector<double> places;
        for (int s = 0; s < samples; ++s) {
          const double place =
              begin + step * static_cast<double>(cell) + step * (s + (transform >= 1 ? 0.5 : 0)) / samples;
          places.push_back(std::clamp(place, 0.0, static_cast<double>(pixels - 1)));
        }
        return places;
      };
      double sum = 0;
      const auto rows = axis(0, y, map.dims[2]), columns = axis(1, x, map.dims[3]);
      for (const double py : rows) {
        for (const double px : columns) sum += between(map, r / count, c, py, px);
      }
      expected.push_back(sum / static_cast<double>(rows.size() * columns.size()));
    }
    FieldList fields;
    fields.ints("fpn_scale", {56})
        .ints("pooled_size", {2})
        .ints("image_size", {128, 256})
        .ints("roi_coords_absolute", {absolute});
    fields.ints("roi_coords_swap", {yFirst})
        .ints("roi_coords_plusone", {plusOne})
        .ints("roi_coords_transform", {transform});
    fields.ints("sampling_ratio", {ratio}).ints("legacy", {legacy});
    const auto got = runAllWays("PyramidROIAlign_TRT", "1", fields, inputs);
    expectNear(got.at(0), {2, count, 2, size, size}, expected, 1e-3, "round " + std::to_string(round));
  }
}

}  // namespace
}  // namespace tenon::test
