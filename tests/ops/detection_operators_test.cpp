// Operators of detectors against their definitions: suppression, sampled regions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "ops/op/padded_nms.h"
#include "ops/op/roi_align.h"
#include "support.h"

namespace tenon::ops {
namespace {

HostTensor random(Rng& rng, const Dims& dims, double low, double high) {
  HostTensor result(DataType::kF32, dims);
  for (int64_t i = 0; i < dims.count(); ++i) {
    result.view().storeDouble(i, low + (high - low) * static_cast<double>(pick(rng, 0, 1000)) / 1000);
  }
  return result;
}

std::vector<HostTensor> runOn(const Operator& op, const std::vector<TensorView>& inputs) {
  std::vector<TensorType> types;
  for (const auto& input : inputs) types.push_back(typeOf(input));
  std::vector<HostTensor> outputs;
  std::vector<TensorView> views;
  for (const auto& type : op.infer("test", types)) {
    outputs.emplace_back(type.dtype, evaluate(type.shape, {}));
    views.push_back(outputs.back().view());
  }
  const SymbolValues none;
  op.evaluate({inputs, views, &none});
  return outputs;
}

struct Found {
  double score;
  int64_t type, box;
};

// The best candidate left, again and again; it strikes out what it overlaps.
std::vector<Found> choose(const PaddedNms& op, const TensorView& boxes, const TensorView& scores, int64_t image) {
  std::vector<Found> left;
  const int64_t count = scores.dims[1], classes = scores.dims[2];
  const auto better = [](const Found& a, const Found& b) {
    return std::tuple(-a.score, a.type, a.box) < std::tuple(-b.score, b.type, b.box);
  };
  for (int64_t c = 0; c < classes; ++c) {
    std::vector<Found> own;
    for (int64_t b = 0; b < count; ++b) {
      const double score = scores.loadDouble((image * count + b) * classes + c);
      if (score > op.scoreThreshold || (op.inclusive && score == op.scoreThreshold)) own.push_back({score, c, b});
    }
    std::sort(own.begin(), own.end(), better);
    if (op.perClass > 0 && own.size() > static_cast<size_t>(op.perClass)) own.resize(static_cast<size_t>(op.perClass));
    if (c != op.background) left.insert(left.end(), own.begin(), own.end());
  }
  std::sort(left.begin(), left.end(), better);
  if (op.inAll > 0 && left.size() > static_cast<size_t>(op.inAll)) left.resize(static_cast<size_t>(op.inAll));
  std::vector<Found> result;
  std::map<int64_t, int64_t> written;
  const double longer = op.pixels == PixelSides::kNone ? 0 : 1, meeting = op.pixels == PixelSides::kAll ? 1 : 0;
  while (!left.empty()) {
    const Found best = left.front();
    if (op.keepPerClass == 0 || written[best.type]++ < op.keepPerClass) result.push_back(best);
    std::vector<Found> rest;
    for (size_t i = 1; i < left.size(); ++i) {
      double ends[2][4];
      for (int k = 0; k < 2; ++k) {
        const Found& one = k == 0 ? best : left[i];
        const int64_t sets = boxes.dims[2];
        for (int64_t e = 0; e < 4; ++e) {
          ends[k][e] = boxes.loadDouble(((image * count + one.box) * sets + (sets == 1 ? 0 : one.type)) * 4 + e);
        }
      }
      double shared = 1, areas[2] = {1, 1};
      bool meet = true;
      for (int axis = 0; axis < 2; ++axis) {
        const auto low = [&](int k) { return std::min(ends[k][axis], ends[k][axis + 2]); };
        const auto high = [&](int k) { return std::max(ends[k][axis], ends[k][axis + 2]); };
        const double side = std::min(high(0), high(1)) - std::max(low(0), low(1)) + meeting;
        meet = meet && side > 0;
        shared *= side;
        for (int k = 0; k < 2; ++k) areas[k] *= high(k) - low(k) + longer;
      }
      const double overlap = meet ? shared / (areas[0] + areas[1] - shared) : 0;
      const bool same = op.agnostic || best.type == left[i].type;
      const bool struck =
          same && (overlap > op.overlapThreshold || (op.inclusiveOverlap && overlap == op.overlapThreshold));
      if (!struck) rest.push_back(left[i]);
    }
    left = std::move(rest);
  }
  return result;
}

TEST(PaddedNms, AgreesWithItsDefinition) {
  Rng rng(71);
  for (int round = 0; round < 200; ++round) {
    PaddedNms op;
    op.scoreThreshold = 0.1 * static_cast<double>(pick(rng, -1, 6));
    op.overlapThreshold = 0.25 * static_cast<double>(pick(rng, 0, 4));
    op.keep = pick(rng, 0, 9);
    op.perClass = pick(rng, 0, 5);
    op.inAll = pick(rng, 0, 12);
    op.keepPerClass = pick(rng, 0, 3);
    op.background = pick(rng, -1, 2);
    op.agnostic = pick(rng, 0, 1) == 1;
    op.inclusive = pick(rng, 0, 1) == 1;
    op.inclusiveOverlap = pick(rng, 0, 1) == 1;
    op.pixels = static_cast<PixelSides>(pick(rng, 0, 2));
    const int64_t images = pick(rng, 0, 2), count = pick(rng, 0, 17), classes = pick(rng, 1, 3);
    const int64_t sets = pick(rng, 0, 1) == 0 ? 1 : classes;
    // Few distinct numbers: ties of scores and overlaps.
    HostTensor boxes(DataType::kF32, {images, count, sets, 4}), scores(DataType::kF32, {images, count, classes});
    for (int64_t i = 0; i < boxes.view().count(); ++i)
      boxes.view().storeDouble(i, static_cast<double>(pick(rng, 0, 4)));
    for (int64_t i = 0; i < scores.view().count(); ++i)
      scores.view().storeDouble(i, static_cast<double>(pick(rng, 0, 8)) / 8);
    const auto out = runOn(op, {boxes.view(), scores.view()});
    ASSERT_EQ(out.size(), 4U);
    const int64_t keep = op.keep.constant();
    for (int64_t n = 0; n < images; ++n) {
      auto expected = choose(op, boxes.view(), scores.view(), n);
      if (static_cast<int64_t>(expected.size()) > keep) expected.resize(static_cast<size_t>(keep));
      ASSERT_EQ(out[0].view().loadInt(n), static_cast<int64_t>(expected.size()))
          << "round " << round << ": " << Operator(op).text();
      for (int64_t k = 0; k < keep; ++k) {
        const bool there = k < static_cast<int64_t>(expected.size());
        const Found one = there ? expected[static_cast<size_t>(k)] : Found{0, -1, -1};
        ASSERT_EQ(out[1].view().loadInt(n * keep + k), one.box) << "round " << round << ": " << Operator(op).text();
        ASSERT_EQ(out[2].view().loadInt(n * keep + k), one.type);
        ASSERT_EQ(out[3].view().loadDouble(n * keep + k), one.score);
      }
    }
  }
}

TEST(PaddedNms, NotANumber) {
  const double nan = std::nan("");
  // A score that is none is no candidate; a box that is none suppresses nothing and is not suppressed.
  const auto boxes = tensor({1, 3, 1, 4}, {0, 0, 1, 1, nan, 0, 1, 1, 0, 0, 1, 1});
  const auto scores = tensor({1, 3, 2}, {0.9, nan, 0.8, 0.1, 0.7, 0.2});
  PaddedNms op;
  op.keep = 6;
  const auto out = runOn(op, {boxes.view(), scores.view()});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{4}));
  EXPECT_EQ(numbers(out[1]), (std::vector<double>{0, 1, 2, 1, -1, -1}));
}

TEST(PaddedNms, ShapesAndErrors) {
  const Extent n = Extent::symbol("N");
  PaddedNms op;
  op.keep = 5;
  const auto types = inferOf(op, {typed({n, 7, 1, 4}), typed({n, 7, 3})});
  EXPECT_EQ(types[0].shape, (Shape{n}));
  EXPECT_EQ(types[1].shape, (Shape{n, 5}));
  EXPECT_EQ(types[3].dtype, DataType::kF32);
  EXPECT_THROW(inferOf(op, {typed({1, 7, 1, 5}), typed({1, 7, 3})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 7, 2, 4}), typed({1, 7, 3})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 6, 1, 4}), typed({1, 7, 3})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 7, 4}), typed({1, 7, 3})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({1, 7, 1, 4}, DataType::kI32), typed({1, 7, 3}, DataType::kI32)}), UserError);
  op.perClass = -1;
  EXPECT_THROW(inferOf(op, {typed({1, 7, 1, 4}), typed({1, 7, 3})}), UserError);
  EXPECT_EQ(Operator::parse(Operator(op).text()), Operator(op));
}

TEST(RoiAlign, AgreesWithItsDefinition) {
  Rng rng(72);
  for (int round = 0; round < 150; ++round) {
    RoiAlign op;
    op.height = pick(rng, 1, 3);
    op.width = pick(rng, 1, 3);
    op.samples = pick(rng, 0, 3);
    op.least = pick(rng, 0, 1);
    op.offset = pick(rng, 0, 1) == 0 ? 0.5 : 0;
    op.pool = static_cast<RoiPool>(pick(rng, 0, 1));
    op.grid = static_cast<RoiGrid>(pick(rng, 0, 2));
    op.border = static_cast<RoiBorder>(pick(rng, 0, 2));
    const int64_t regions = pick(rng, 0, 4), channels = pick(rng, 0, 2);
    const Dims dims[2] = {{2, channels, pick(rng, 1, 6), pick(rng, 1, 7)},
                          {2, channels, pick(rng, 1, 3), pick(rng, 1, 3)}};
    const auto first = random(rng, dims[0], -1, 1), second = random(rng, dims[1], -1, 1);
    auto ends = random(rng, {regions, 4}, -3, 9);
    for (int64_t i = 0; i < regions * 4; ++i) {  // away from the ends of pixels, where rounding decides
      ends.view().storeDouble(i, std::round(ends.view().loadDouble(i) * 4) / 4 + 0.0625);
    }
    HostTensor origins(DataType::kI32, {regions, 2});
    for (int64_t i = 0; i < regions * 2; ++i) origins.view().storeInt(i, pick(rng, i % 5 == 0 ? -1 : 0, 2));
    const auto out = runOn(op, {ends.view(), origins.view(), first.view(), second.view()});
    int64_t at = 0;
    for (int64_t r = 0; r < regions; ++r) {
      const int64_t level = origins.view().loadInt(r * 2), image = origins.view().loadInt(r * 2 + 1);
      const bool there = level >= 0 && level < 2 && image >= 0 && image < 2;
      const auto& map = level == 1 ? second.view() : first.view();
      // All places of one axis of a cell, as a definition of each grid.
      const auto places = [&](int64_t axis, int64_t cell, int64_t cells) {
        const double begin = ends.view().loadDouble(r * 4 + axis), end = ends.view().loadDouble(r * 4 + axis + 2);
        const auto pixels = map.dims[static_cast<int>(axis) + 2];
        std::vector<double> result;
        const double step = (end - begin) / static_cast<double>(cells);
        if (op.grid == RoiGrid::kCorners) {
          result = {cells == 1 ? (begin + end) / 2
                               : begin + static_cast<double>(cell) * (end - begin) / static_cast<double>(cells - 1)};
        } else if (op.grid == RoiGrid::kPixels) {
          for (int64_t p = 0; p < pixels; ++p) {
            const auto place = static_cast<double>(p);
            if (place >= std::floor(begin + step * static_cast<double>(cell)) &&
                place < std::ceil(begin + step * static_cast<double>(cell + 1)))
              result.push_back(place);
          }
        } else {
          const int64_t count = op.samples > 0 ? op.samples : std::max(op.least, static_cast<int64_t>(std::ceil(step)));
          for (int64_t s = 0; s < count; ++s) {
            result.push_back(begin + step * (static_cast<double>(cell) +
                                             (static_cast<double>(s) + op.offset) / static_cast<double>(count)));
          }
        }
        return result;
      };
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < op.height; ++i) {
          for (int64_t j = 0; j < op.width; ++j, ++at) {
            double sum = 0, best = -1e9;
            int64_t count = 0;
            for (double y : places(0, i, op.height)) {
              for (double x : places(1, j, op.width)) {
                if (!there) continue;
                ++count;
                const auto h = static_cast<double>(map.dims[2]), w = static_cast<double>(map.dims[3]);
                const double margin = op.border == RoiBorder::kMargin ? 1 : 0;
                const bool outside = y < -margin || y > h - 1 + margin || x < -margin || x > w - 1 + margin;
                double value = 0;
                if (!outside || op.border == RoiBorder::kClamp) {
                  y = std::clamp(y, 0.0, h - 1);
                  const double inside = std::clamp(x, 0.0, w - 1);
                  for (int64_t p = 0; p < map.dims[2]; ++p) {
                    for (int64_t q = 0; q < map.dims[3]; ++q) {
                      const double weight = std::max(0.0, 1 - std::abs(y - static_cast<double>(p))) *
                                            std::max(0.0, 1 - std::abs(inside - static_cast<double>(q)));
                      value += weight * map.loadDouble(((image * channels + c) * map.dims[2] + p) * map.dims[3] + q);
                    }
                  }
                }
                sum += value;
                best = std::max(best, value);
              }
            }
            const double expected = count == 0 ? 0 : op.pool == RoiPool::kMax ? best : sum / static_cast<double>(count);
            ASSERT_NEAR(out[0].view().loadDouble(at), expected, 1e-4)
                << "round " << round << ": " << Operator(op).text();
          }
        }
      }
    }
  }
}

TEST(RoiAlign, HostileRegions) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto map = tensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto origins = tensor({4, 2}, {0, 0, 0, 0, 0, 0, 7, 0}, DataType::kI32);
  const auto regions = tensor({4, 4}, {-inf, 0, inf, 1, std::nan(""), 0, 1, 1, -1e30, -1e30, 1e30, 1e30, 0, 0, 1, 1});
  for (const auto grid : {RoiGrid::kBins, RoiGrid::kCorners, RoiGrid::kPixels}) {
    RoiAlign op;
    op.grid = grid;
    const auto out = numbers(runOn(op, {regions.view(), origins.view(), map.view()})[0]);
    ASSERT_EQ(out.size(), 4U);
    EXPECT_EQ(out[3], 0);
  }
  RoiAlign op;
  EXPECT_THROW(inferOf(op, {typed({3, 4}), typed({3, 2}, DataType::kI32)}), UserError);
  EXPECT_THROW(inferOf(op, {typed({3, 4}), typed({2, 2}, DataType::kI32), typed({1, 1, 2, 2})}), UserError);
  EXPECT_THROW(inferOf(op, {typed({3, 4}), typed({3, 2}, DataType::kI32), typed({1, 1, 2, 2}), typed({1, 2, 2, 2})}),
               UserError);
}

}  // namespace
}  // namespace tenon::ops
