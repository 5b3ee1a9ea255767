// Operators that choose elements by their values, against their definitions written another way.
#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "ops/op/count_nonzero.h"
#include "ops/op/nms.h"
#include "ops/op/nonzero.h"
#include "ops/op/size.h"
#include "support.h"

namespace tenon::ops {
namespace {

const Extent kN = Extent::symbol("N");

TEST(NonZero, CountsAndFindsByHand) {
  EXPECT_EQ(numbers(run1(CountNonZero{}, tensor({2, 3}, {0, 7, 0, -0.0, NAN, 1}))), std::vector<double>{3});
  EXPECT_EQ(numbers(run1(NonZero{3}, tensor({2, 3}, {0, 7, 0, -0.0, NAN, 1}))),
            (std::vector<double>{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(numbers(run1(NonZero{2}, tensor({2, 3}, {0, 7, 0, -0.0, NAN, 1}))), (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(numbers(run1(NonZero{4}, tensor({2, 3}, {0, 7, 0, -0.0, NAN, 1}))),
            (std::vector<double>{0, 1, 1, 0, 1, 1, 2, 0}));
  EXPECT_THROW(inferOf(NonZero{2}, {typed({3, int64_t{1} << 31})}), UserError);
  EXPECT_NO_THROW(inferOf(NonZero{2, DataType::kI64}, {typed({3, int64_t{1} << 31})}));
}

TEST(NonZero, FindsWhatTheCoordinatesSay) {
  Rng rng(71);
  for (int round = 0; round < 200; ++round) {
    const Dims dims{pick(rng, 0, 4), pick(rng, 1, 5), pick(rng, 1, 7)};
    const auto type =
        pickOf(rng, std::vector{DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI8, DataType::kBool});
    const auto indexType = pickOf(rng, std::vector{DataType::kI32, DataType::kI64});
    const auto x = randomTensor(rng, dims, type);
    const auto values = numbers(x);
    const int64_t count = std::count_if(values.begin(), values.end(), [](double v) { return v != 0; });
    EXPECT_EQ(numbers(run1(CountNonZero{}, tensor(dims, values, type))), std::vector<double>{double(count)});
    const auto found = run1(NonZero{count, indexType}, tensor(dims, values, type));
    EXPECT_EQ(found.view().dtype, indexType);
    ASSERT_EQ(found.view().dims, (Dims{3, count}));
    std::set<std::vector<int64_t>> places;
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<int64_t> place{found.view().loadInt(i), found.view().loadInt(count + i),
                                       found.view().loadInt(2 * count + i)};
      EXPECT_NE(values[static_cast<size_t>((place[0] * dims[1] + place[1]) * dims[2] + place[2])], 0);
      EXPECT_TRUE(places.empty() || *places.rbegin() < place);  // in order, and none twice
      places.insert(place);
    }
  }
}

TEST(Size, IsASymbolForWhoeverReadsIt) {
  const Size size{"layer.size", 3, kN};
  const auto types = inferOf(size, {typed({}, DataType::kI64)});
  ASSERT_TRUE(types[0].contents.has_value());
  EXPECT_EQ(*types[0].contents, std::vector<Extent>{Extent::symbol("layer.size")});
  EXPECT_EQ(Operator::parse(Operator(size).text()), Operator(size));
  EXPECT_TRUE(Operator(size).facts().sideEffects);
  std::set<std::string> names;
  Operator(size).collectSymbols(names);
  EXPECT_EQ(names, std::set<std::string>{"N"});
  EXPECT_THROW(inferOf(size, {typed({}, DataType::kF32)}), UserError);
  EXPECT_THROW(inferOf(size, {typed({2}, DataType::kI64)}), UserError);
  EXPECT_THROW(inferOf(Size{}, {typed({}, DataType::kI64)}), UserError);
}

// Boxes of small whole numbers, so that every overlap is exact; scores that are often equal.
struct Problem {
  int64_t batch, boxes, classes;
  bool perClass;
  std::vector<double> corners, scores;
};

Problem randomProblem(Rng& rng) {
  Problem p{pick(rng, 0, 3), pick(rng, 0, 12), pick(rng, 1, 4), pick(rng, 0, 1) == 1, {}, {}};
  const int64_t count = p.batch * p.boxes * (p.perClass ? p.classes : 1);
  for (int64_t i = 0; i < count * 4; ++i) p.corners.push_back(static_cast<double>(pick(rng, 0, 6)));
  for (int64_t i = 0; i < p.batch * p.boxes * p.classes; ++i)
    p.scores.push_back(static_cast<double>(pick(rng, -2, 6)) / 4);
  return p;
}

// Areas by counting unit squares.
struct Squares {
  std::set<std::pair<int64_t, int64_t>> cells;
  Squares(const double* c, BoxFormat format) {
    double x1 = c[0], y1 = c[1], x2 = c[2], y2 = c[3];
    if (format == BoxFormat::kCenters)
      x1 = c[0] - c[2] / 2, y1 = c[1] - c[3] / 2, x2 = c[0] + c[2] / 2, y2 = c[1] + c[3] / 2;
    // In halves, as centers may lie between.
    const auto cell = [](double v) { return static_cast<int64_t>(2 * v); };
    for (int64_t x = cell(std::min(x1, x2)); x < cell(std::max(x1, x2)); ++x) {
      for (int64_t y = cell(std::min(y1, y2)); y < cell(std::max(y1, y2)); ++y) cells.emplace(x, y);
    }
  }
  double overlap(const Squares& other) const {
    int64_t shared = 0;
    for (const auto& cell : cells) shared += other.cells.count(cell) != 0 ? 1 : 0;
    const auto whole = static_cast<int64_t>(cells.size() + other.cells.size()) - shared;
    return shared == 0 ? -1 : static_cast<double>(shared) / static_cast<double>(whole);
  }
};

// By repeated choice of the best of those that are left.
std::vector<double> expectedRows(const Problem& p, const Nms& op, int64_t most, double allowed, double threshold) {
  std::vector<double> rows;
  for (int64_t item = 0; item < p.batch; ++item) {
    struct Pair {
      double score;
      int64_t box, kind;
      auto order() const { return std::tuple(-score, box, kind); }
    };
    std::vector<Pair> open;
    for (int64_t i = 0; i < p.boxes * p.classes; ++i) {
      const double score = p.scores[static_cast<size_t>(item * p.boxes * p.classes + i)];
      if (score > threshold) open.push_back({score, i / p.classes, i % p.classes});
    }
    std::sort(open.begin(), open.end(), [](const Pair& a, const Pair& b) { return a.order() < b.order(); });
    open.resize(std::min(open.size(), static_cast<size_t>(op.limit)));
    const auto squares = [&](const Pair& pair) {
      int64_t at = item * p.boxes + pair.box;
      if (p.perClass) at = at * p.classes + pair.kind;
      return Squares(p.corners.data() + at * 4, op.format);
    };
    std::map<int64_t, int64_t> taken;
    while (!open.empty()) {
      const Pair best = open.front();
      open.erase(open.begin());
      if (taken[best.kind] >= most) continue;
      ++taken[best.kind];
      rows.insert(rows.end(), {double(item), double(best.kind), double(best.box)});
      std::erase_if(open, [&](const Pair& other) {
        return other.kind == best.kind && squares(other).overlap(squares(best)) > allowed;
      });
    }
  }
  return rows;
}

TEST(Nms, SelectsWhatRepeatedChoiceDoes) {
  Rng rng(72);
  for (int round = 0; round < 400; ++round) {
    const auto p = randomProblem(rng);
    Nms op;
    op.format = pick(rng, 0, 1) == 1 ? BoxFormat::kCorners : BoxFormat::kCenters;
    op.limit = pickOf(rng, std::vector<int64_t>{0, 1, 3, 5000});
    op.indexType = pickOf(rng, std::vector{DataType::kI32, DataType::kI64});
    op.most = p.batch * p.boxes * p.classes + 2;
    const int64_t most = pick(rng, -1, 4);
    const double allowed = static_cast<double>(pick(rng, 0, 8)) / 8;
    const double threshold = static_cast<double>(pick(rng, -3, 3)) / 4;
    auto boxDims = p.perClass ? Dims{p.batch, p.boxes, p.classes, 4} : Dims{p.batch, p.boxes, 4};
    const auto out =
        run(op, list(tensor(boxDims, p.corners), tensor({p.batch, p.boxes, p.classes}, p.scores),
                     tensor({}, {double(most)}, DataType::kI32), tensor({}, {allowed}), tensor({1}, {threshold})));
    auto expected = expectedRows(p, op, most, allowed, threshold);
    EXPECT_EQ(numbers(out[1]), std::vector<double>{static_cast<double>(expected.size() / 3)}) << round;
    expected.resize(static_cast<size_t>(op.most.constant() * 3), 0);
    EXPECT_EQ(numbers(out[0]), expected) << round;
    EXPECT_EQ(out[0].view().dtype, op.indexType);
    EXPECT_EQ(out[1].view().dtype, DataType::kI32);
  }
}

TEST(Nms, BoxesWithoutAreaAndNumbersThatAreNone) {
  Nms op;
  op.most = 4;
  const auto out = run(
      op, list(tensor({1, 4, 4}, {0, 0, 0, 5, 0, 0, 0, 5, 0, 0, NAN, 5, 0, 0, 2, 5}), tensor({1, 4, 1}, {1, 2, 3, NAN}),
               tensor({}, {9}, DataType::kI32), tensor({}, {0}), tensor({}, {0})));
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(out[1]), std::vector<double>{3});
}

TEST(Nms, RefusesWhatDoesNotFit) {
  const auto refused = [](Shape boxes, Shape scores, DataType type, DataType perClass, const char* part) {
    Nms op;
    op.most = 1;
    try {
      inferOf(op, {typed(std::move(boxes)), typed(std::move(scores), type), typed({}, perClass), typed({}), typed({})});
      ADD_FAILURE() << part;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused({1, 5, 3}, {1, 5, 2}, DataType::kF32, DataType::kI32, "the boxes (input 0) have the shape [1,5,3]");
  refused({1, 5, 4}, {1, 5}, DataType::kF32, DataType::kI32, "the scores (input 1) have the shape [1,5]");
  refused({1, 5, 4}, {1, 6, 2}, DataType::kF32, DataType::kI32, "differ in the number of boxes");
  refused({1, 5, 3, 4}, {1, 5, 2}, DataType::kF32, DataType::kI32, "differ in the number of classes");
  refused({2, 5, 4}, {1, 5, 2}, DataType::kF32, DataType::kI32, "differ in the batch");
  refused({1, 5, 4}, {1, 5, 2}, DataType::kF16, DataType::kI32, "");
  refused({1, 5, 4}, {1, 5, 2}, DataType::kF32, DataType::kF32, "the number of boxes per class (input 2) is f32");
}

}  // namespace
}  // namespace tenon::ops
