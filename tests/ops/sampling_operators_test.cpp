// Operators that sample at moved places, group points, and combine at indices, against their definitions.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "ops/op/deformable_attention.h"
#include "ops/op/deformable_columns.h"
#include "ops/op/grid_sample.h"
#include "ops/op/pillars.h"
#include "ops/op/scatter_reduce.h"
#include "support.h"

namespace tenon::ops {
namespace {

// All pixels, each by how near it is.
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

// ONNX's definition: a pixel outside is what the border makes of it.
TEST(GridSample, AgreesWithItsDefinition) {
  Rng rng(83);
  for (int round = 0; round < 200; ++round) {
    GridSample op;
    op.border = static_cast<GridBorder>(round % 3);
    op.alignCorners = round % 2 == 1;
    const int64_t n = pick(rng, 1, 2), c = pick(rng, 1, 3), h = pick(rng, 1, 5), w = pick(rng, 1, 6),
                  many = pick(rng, 0, 4);
    const auto x = randomTensor(rng, {n, c, h, w}), grid = randomTensor(rng, {n, many, 3, 2});
    std::vector<double> expected(static_cast<size_t>(n * c * many * 3));
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t place = at % (many * 3), plane = at / (many * 3);
      const auto mapped = [&](int64_t axis, int64_t extent) {
        const double size = static_cast<double>(extent), low = op.alignCorners ? 0 : -0.5;
        const double given = grid.view().loadDouble((plane / c * many * 3 + place) * 2 + axis);
        double pixel = op.alignCorners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
        const double high = op.alignCorners ? size - 1 : size - 0.5;
        if (op.border == GridBorder::kClamp) pixel = std::clamp(pixel, 0.0, size - 1);
        while (op.border == GridBorder::kReflect && high > low && (pixel < low || pixel > high))
          pixel = pixel < low ? 2 * low - pixel : 2 * high - pixel;
        if (op.border == GridBorder::kReflect) pixel = high > low ? std::clamp(pixel, 0.0, size - 1) : 0;
        return pixel;
      };
      expected[i] = sample([&](int64_t a, int64_t b) { return x.view().loadDouble((plane * h + a) * w + b); }, h, w,
                           mapped(1, h), mapped(0, w));
    }
    const auto inputs = list(tensor(x.view().dims, numbers(x)), tensor(grid.view().dims, numbers(grid)));
    expectNear(numbers(run(op, inputs)[0]), expected, 1e-4, fmt::format("round {}: {}", round, Operator(op).text()));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DeformableColumns, AgreesWithItsDefinition) {
  Rng rng(81);
  for (int round = 0; round < 100; ++round) {
    DeformableColumns op;
    op.kernel = {pick(rng, 1, 3), pick(rng, 1, 3)};
    op.strides = {pick(rng, 1, 2), pick(rng, 1, 2)};
    op.padding = {pick(rng, 0, 2), pick(rng, 0, 2)};
    op.dilations = {pick(rng, 1, 2), pick(rng, 1, 2)};
    op.groups = pick(rng, 1, 2);
    op.hasMask = pick(rng, 0, 1) == 1;
    const int64_t n = pick(rng, 0, 2), c = op.groups * pick(rng, 0, 2), h = pick(rng, 5, 7), w = pick(rng, 5, 6);
    const int64_t taps = op.kernel[0] * op.kernel[1];
    const auto places = [&](size_t axis, int64_t extent) {
      return (extent + 2 * op.padding[axis] - op.dilations[axis] * (op.kernel[axis] - 1) - 1) / op.strides[axis] + 1;
    };
    const int64_t oh = places(0, h), ow = places(1, w);
    const auto x = randomTensor(rng, {n, c, h, w});
    const auto offsets = randomTensor(rng, {n, op.groups * 2 * taps, oh, ow}),
               mask = randomTensor(rng, {n, op.groups * taps, oh, ow});
    std::vector<double> expected;
    for (int64_t i = 0; i < n * c * taps * oh * ow; ++i) {
      const int64_t q = i % ow, p = i / ow % oh, tap = i / ow / oh % taps, channel = i / ow / oh / taps % c,
                    image = i / ow / oh / taps / c;
      const int64_t part = (image * op.groups + channel / (c / op.groups)) * taps + tap;
      const auto shift = [&](int64_t k) { return offsets.view().loadDouble(((part * 2 + k) * oh + p) * ow + q); };
      const double y =
          static_cast<double>(p * op.strides[0] - op.padding[0] + tap / op.kernel[1] * op.dilations[0]) + shift(0);
      const double z =
          static_cast<double>(q * op.strides[1] - op.padding[1] + tap % op.kernel[1] * op.dilations[1]) + shift(1);
      const double value =
          sample([&](int64_t a, int64_t b) { return x.view().loadDouble(((image * c + channel) * h + a) * w + b); }, h,
                 w, y, z);
      expected.push_back(value * (op.hasMask ? mask.view().loadDouble((part * oh + p) * ow + q) : 1));
    }
    const Dims dims = mask.view().dims;
    auto inputs = list(tensor(x.view().dims, numbers(x)), tensor(offsets.view().dims, numbers(offsets)));
    if (op.hasMask) inputs.push_back(tensor(dims, numbers(mask)));
    expectNear(numbers(run(op, inputs)[0]), expected, 1e-5, fmt::format("round {}: {}", round, Operator(op).text()));
    EXPECT_EQ(Operator::parse(Operator(op).text()), Operator(op));
  }
}

TEST(DeformableColumns, Errors) {
  const DeformableColumns op;
  EXPECT_EQ(inferOf(op, {typed({2, 3, 4, 5}), typed({2, 2, 4, 5})})[0].shape, (Shape{2, 3, 20}));
  EXPECT_THROW(inferOf(op, {typed({2, 3, 4, 5}), typed({2, 3, 4, 5})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({2, 3, 4, 5}), typed({2, 2, 4, 4})}), UserError);
  DeformableColumns bad;
  bad.groups = 2;
  EXPECT_THROW(inferOf(bad, {typed({2, 3, 4, 5}), typed({2, 4, 4, 5})}), UserError);
  bad = {};
  bad.kernel = {1};
  EXPECT_THROW(inferOf(bad, {typed({2, 3, 4, 5}), typed({2, 2, 4, 5})}), UserError);
}

TEST(DeformableAttention, AgreesWithItsDefinition) {
  Rng rng(82);
  for (int round = 0; round < 60; ++round) {
    const int64_t n = pick(rng, 0, 2), heads = pick(rng, 1, 3), width = pick(rng, 0, 5), queries = pick(rng, 0, 3);
    const int64_t maps = pick(rng, 1, 2), points = pick(rng, 0, 3);
    std::vector<double> shapes, starts;
    int64_t all = 0;
    for (int64_t l = 0; l < maps; ++l) {
      const int64_t h = pick(rng, 1, 4), w = pick(rng, 1, 4);
      shapes.push_back(static_cast<double>(h));
      shapes.push_back(static_cast<double>(w));
      starts.push_back(static_cast<double>(all));
      all += h * w;
    }
    const auto value = randomTensor(rng, {n, all, heads, width});
    auto places = randomTensor(rng, {n, queries, heads, maps, points, 2});
    for (int64_t i = 0; i < places.view().count(); ++i)
      places.view().storeDouble(i, places.view().loadDouble(i) / 5 + 0.5);
    const auto weights = randomTensor(rng, {n, queries, heads, maps, points});
    std::vector<double> expected;
    for (int64_t i = 0; i < n * queries * heads * width; ++i) {
      const int64_t d = i % width, row = i / width, m = row % heads, image = row / heads / queries;
      double sum = 0;
      for (int64_t l = 0; l < maps; ++l) {
        const auto at = static_cast<size_t>(l);
        const auto h = static_cast<int64_t>(shapes[at * 2]), w = static_cast<int64_t>(shapes[at * 2 + 1]);
        for (int64_t p = 0; p < points; ++p) {
          const int64_t place = (row * maps + l) * points + p;
          sum += weights.view().loadDouble(place) *
                 sample(
                     [&](int64_t a, int64_t b) {
                       return value.view().loadDouble(
                           ((image * all + static_cast<int64_t>(starts[at]) + a * w + b) * heads + m) * width + d);
                     },
                     h, w, places.view().loadDouble(place * 2 + 1) * static_cast<double>(h) - 0.5,
                     places.view().loadDouble(place * 2) * static_cast<double>(w) - 0.5);
        }
      }
      expected.push_back(sum);
    }
    const auto type = pick(rng, 0, 1) == 0 ? DataType::kI32 : DataType::kI64;
    const auto out =
        run(DeformableAttention{}, list(tensor(value.view().dims, numbers(value)), tensor({maps, 2}, shapes, type),
                                        tensor({maps}, starts, type), tensor(places.view().dims, numbers(places)),
                                        tensor(weights.view().dims, numbers(weights))));
    expectNear(numbers(out[0]), expected, 1e-4, fmt::format("round {}", round));
  }
}

TEST(DeformableAttention, MapsThatAreNotThere) {
  // A map that reaches beyond the values, and one that begins before them.
  const auto out = run(DeformableAttention{},
                       list(tensor({1, 2, 1, 1}, {1, 2}), tensor({2, 2}, {4, 1, 2, 1}, DataType::kI32),
                            tensor({2}, {1, -3}, DataType::kI32), tensor({1, 1, 1, 2, 1, 2}, {0.5, 0.125, 0.5, 0.25}),
                            tensor({1, 1, 1, 2, 1}, {1, 1})));
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{2}));
}

TEST(ScatterReduce, AgreesWithItsDefinition) {
  Rng rng(83);
  for (int round = 0; round < 200; ++round) {
    const auto type = pickOf(rng, std::vector{DataType::kF32, DataType::kF16, DataType::kI32, DataType::kI64});
    const Dims dims{pick(rng, 1, 4), pick(rng, 1, 5), pick(rng, 0, 3)};
    const int64_t axis = pick(rng, -3, 2);
    const int at = static_cast<int>(axis < 0 ? axis + 3 : axis);
    if (dims[at] == 0) continue;
    Dims some = dims;
    some = {at == 0 ? pick(rng, 0, 6) : pick(rng, 0, dims[0]), at == 1 ? pick(rng, 0, 6) : pick(rng, 0, dims[1]),
            at == 2 ? pick(rng, 0, 6) : pick(rng, 0, dims[2])};
    const ScatterReduce op{static_cast<ReduceOp>(pick(rng, 0, 3)), axis};
    const auto data = randomTensor(rng, dims, type), updates = randomTensor(rng, some, type);
    std::vector<double> places;
    for (int64_t i = 0; i < some.count(); ++i)
      places.push_back(static_cast<double>(pick(rng, -dims[at], dims[at] - 1)));
    auto expected = numbers(data);
    for (int64_t i = 0; i < some.count(); ++i) {
      int64_t index[3] = {i / some[2] / some[1], i / some[2] % some[1], i % some[2]};
      index[at] = static_cast<int64_t>(places[static_cast<size_t>(i)]);
      if (index[at] < 0) index[at] += dims[at];
      double& v = expected[static_cast<size_t>((index[0] * dims[1] + index[1]) * dims[2] + index[2])];
      const double u = updates.view().loadDouble(i);
      const double choices[] = {v + u, v * u, std::max(v, u), std::min(v, u)};
      v = choices[static_cast<size_t>(op.op)];
    }
    const auto out = run(op, list(tensor(dims, numbers(data), type), tensor(some, places, DataType::kI64),
                                  tensor(some, numbers(updates), type)));
    expectNear(numbers(out[0]), expected, type == DataType::kF16 ? 1e-2 : 1e-5,
               fmt::format("round {}: {}", round, Operator(op).text()));
    EXPECT_EQ(Operator::parse(Operator(op).text()), Operator(op));
  }
}

TEST(ScatterReduce, IntegersWrapInTheirType) {
  const auto combined = [](ReduceOp op, DataType type, double a, std::vector<double> updates) {
    const Dims some{static_cast<int64_t>(updates.size())};
    const std::vector<double> places(updates.size(), 0);
    return numbers(run(ScatterReduce{op, 0}, list(tensor({1}, {a}, type), tensor(some, places, DataType::kI64),
                                                  tensor(some, std::move(updates), type)))[0])[0];
  };
  EXPECT_EQ(combined(ReduceOp::kSum, DataType::kU8, 250, {10}), 4);
  EXPECT_EQ(combined(ReduceOp::kSum, DataType::kI8, 100, {100, 100}), 44);
  EXPECT_EQ(combined(ReduceOp::kProd, DataType::kU8, 16, {17, 3}), 48);
  EXPECT_EQ(combined(ReduceOp::kProd, DataType::kI8, -128, {-1}), -128);
  EXPECT_EQ(combined(ReduceOp::kSum, DataType::kI32, 2147483647, {1}), -2147483648.0);
  EXPECT_EQ(combined(ReduceOp::kProd, DataType::kI32, 65536, {65537}), 65536);
}

TEST(ScatterReduce, Errors) {
  EXPECT_THROW(run(ScatterReduce{}, list(tensor({2}, {1, 2}), tensor({1}, {2}, DataType::kI64), tensor({1}, {1}))),
               UserError);
  EXPECT_THROW(inferOf(ScatterReduce{ReduceOp::kAvg, 0}, {typed({2}), typed({1}, DataType::kI64), typed({1})}),
               UserError);
  EXPECT_THROW(inferOf(ScatterReduce{}, {typed({2}), typed({1}), typed({1})}), UserError);
  EXPECT_THROW(inferOf(ScatterReduce{}, {typed({2, 2}), typed({1, 3}, DataType::kI64), typed({1, 3})}), UserError);
  EXPECT_THROW(inferOf(ScatterReduce{}, {typed({2}), typed({1}, DataType::kI64), typed({1}, DataType::kF16)}),
               UserError);
}

TEST(Pillars, LimitsAndOrder) {
  Pillars op;
  op.pillars = 2;
  op.points = 2;
  op.features = 9;
  op.range = {0, 0, 0, 4, 4, 2};
  op.size = {1, 1, 2};
  // Cells (row, column): (1,2), outside, (0,0), (1,2), (1,2) beyond the points, (3,3) beyond the pillars.
  const auto out = run(op, list(tensor({1, 7, 4}, {2.5, 1.5, 1, 7, 4, 0, 0, 7, 0.25, 0.5, 0.5, 8, 2.75, 1.25,
                                                   0,   9,   2, 1, 1, 7, 3, 3, 1,    7,   1,   1, 1,    7}),
                                tensor({1}, {6}, DataType::kI32)));
  EXPECT_EQ(numbers(out[2]), (std::vector<double>{2}));
  EXPECT_EQ(numbers(out[1]), (std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0}));
  const std::vector<double> expected{2.5,  1.5,  1,   7, -0.125, 0.125,  0.5,  0,     0,      //
                                     2.75, 1.25, 0,   9, 0.125,  -0.125, -0.5, 0.25,  -0.25,  //
                                     0.25, 0.5,  0.5, 8, 0,      0,      0,    -0.25, 0,      //
                                     0,    0,    0,   0, 0,      0,      0,    0,     0};
  expectNear(numbers(out[0]), expected);
  const auto cloud = typed({1, 7, 4});
  EXPECT_THROW(inferOf(Pillars{}, {cloud, typed({1}, DataType::kI32)}), UserError);
  op.features = 8;
  EXPECT_THROW(inferOf(op, {cloud, typed({1}, DataType::kI32)}), UserError);
  EXPECT_EQ(Operator::parse(Operator(op).text()), Operator(op));
}

}  // namespace
}  // namespace tenon::ops
