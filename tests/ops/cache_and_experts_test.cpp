// Cache updates, products with experts and conditions on shapes, beside their definitions.
#include "core/error.h"
#include "ops/op/cache_update.h"
#include "ops/op/expert_matmul.h"
#include "ops/op/require.h"
#include "ops/shape_binder.h"
#include "support.h"

namespace tenon::ops {
namespace {

TEST(CacheUpdate, WritesTheRowsThatAreInside) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const int64_t batch = pick(rng, 0, 3), heads = pick(rng, 1, 3), capacity = pick(rng, 1, 7);
    const int64_t rows = pick(rng, 0, capacity), width = pick(rng, 0, 3);
    const auto type = pickOf(rng, std::vector{DataType::kF32, DataType::kF16, DataType::kI8, DataType::kI64});
    const auto cache = randomTensor(rng, {batch, heads, capacity, width}, type);
    const auto update = randomTensor(rng, {batch, heads, rows, width}, type);
    HostTensor start(pick(rng, 0, 1) == 0 ? DataType::kI32 : DataType::kI64, {batch});
    for (int64_t b = 0; b < batch; ++b) start.view().storeInt(b, pick(rng, -2, capacity + 1));
    const auto copy = [](const HostTensor& x) {
      HostTensor result(x.view().dtype, x.view().dims);
      std::copy_n(static_cast<const char*>(x.view().data), x.view().bytes(), static_cast<char*>(result.view().data));
      return result;
    };
    auto inPlace = copy(cache);
    HostTensor apart(type, cache.view().dims);
    for (HostTensor* out : {&apart, &inPlace}) {
      const TensorView first = out == &inPlace ? inPlace.view() : cache.view();
      const TensorView inputs[] = {first, update.view(), start.view()};
      const TensorView outputs[] = {out->view()};
      CacheUpdate{}.evaluate({inputs, outputs, nullptr});
    }
    int64_t at = 0;
    for (IndexIterator i(cache.view().dims); i.valid(); i.next(), ++at) {
      const int64_t row = i.index[2] - start.view().loadInt(i.index[0]);
      const bool isNew = row >= 0 && row < rows;
      const int64_t from = ((i.index[0] * heads + i.index[1]) * rows + row) * width + i.index[3];
      const double expected = isNew ? update.view().loadDouble(from) : cache.view().loadDouble(at);
      ASSERT_EQ(apart.view().loadDouble(at), expected);
      ASSERT_EQ(inPlace.view().loadDouble(at), expected);
    }
  }
}

TEST(CacheUpdate, RefusesWhatDoesNotFit) {
  const auto refusal = [](Shape cache, Shape update, Shape start, DataType type = DataType::kF32,
                          DataType indices = DataType::kI32) -> std::string {
    const TensorType types[] = {
        {DataType::kF32, std::move(cache), {}}, {type, std::move(update), {}}, {indices, std::move(start), {}}};
    try {
      Operator(CacheUpdate{}).infer("u", types);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({2, 3, 8, 4}, {2, 3, 1, 4}, {2}), "");
  EXPECT_NE(refusal({2, 3, 8}, {2, 3, 1, 4}, {2}).find("expected [batch, heads, rows, width] each"), std::string::npos);
  EXPECT_NE(refusal({2, 3, 8, 4}, {2, 3, 9, 4}, {2}).find("an update of 9 rows for a cache of 8"), std::string::npos);
  EXPECT_NE(refusal({2, 3, 8, 4}, {2, 3, 1, 5}, {2}).find("columns of cache and update"), std::string::npos);
  EXPECT_NE(refusal({2, 3, 8, 4}, {2, 3, 1, 4}, {3}).find("batch and write indices"), std::string::npos);
  EXPECT_NE(refusal({2, 3, 8, 4}, {2, 3, 1, 4}, {2}, DataType::kF16), "");
  EXPECT_NE(refusal({2, 3, 8, 4}, {2, 3, 1, 4}, {2}, DataType::kF32, DataType::kF32).find("a list of integers"),
            std::string::npos);
}

TEST(ExpertMatMul, IsTheProductWithEachRowsMatrix) {
  Rng rng(5);
  for (int round = 0; round < 100; ++round) {
    const int64_t tokens = pick(rng, 0, 5), chosen = pick(rng, 1, 3), depth = pick(rng, 0, 4),
                  columns = pick(rng, 1, 5);
    const int64_t experts = pick(rng, 1, 4), stacked = pick(rng, 0, 1) == 0 ? 1 : chosen;
    const auto x = randomTensor(rng, {tokens, stacked, depth});
    const auto weights = randomTensor(rng, {experts, depth, columns});
    HostTensor which(DataType::kI32, {tokens, chosen});
    for (int64_t i = 0; i < tokens * chosen; ++i) which.view().storeInt(i, pick(rng, -1, experts));
    HostTensor out(DataType::kF32, {tokens, chosen, columns});
    const TensorView inputs[] = {x.view(), which.view(), weights.view()};
    const TensorView outputs[] = {out.view()};
    ExpertMatMul{}.evaluate({inputs, outputs, nullptr});
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t k = 0; k < chosen; ++k) {
        const int64_t expert = which.view().loadInt(t * chosen + k);
        for (int64_t n = 0; n < columns; ++n) {
          double sum = 0;
          for (int64_t d = 0; d < depth && expert >= 0 && expert < experts; ++d) {
            sum += x.view().loadDouble((t * stacked + std::min(k, stacked - 1)) * depth + d) *
                   weights.view().loadDouble((expert * depth + d) * columns + n);
          }
          ASSERT_EQ(out.view().loadDouble((t * chosen + k) * columns + n), sum);
        }
      }
    }
  }
}

// A shape program whose only step demands that N is 4.
ShapeProgram demandFour() {
  ShapeProgram program;
  const Extent n = Extent::symbol("N");
  program.steps.push_back({"rows", "", {}, 1, DataType::kBool, Dims{1}, {equal(n, 4)}, {}});
  program.steps.push_back({"check", Operator(Require{"four rows"}).text(), {0}, 1, DataType::kI64, {}, {}, {}});
  program.symbols.push_back({"check[0]", 1, 0});
  return program;
}

TEST(Require, SpeaksUpForExecutionsOnly) {
  const ShapeBinder binder(demandFour());
  SymbolValues four{{"N", 4}}, five{{"N", 5}};
  binder.bind(four);
  EXPECT_EQ(four.at("check[0]"), 1);
  binder.bind(five, ShapeBinder::Purpose::kTrial);
  EXPECT_EQ(five.at("check[0]"), 1);
  try {
    binder.bind(five);
    FAIL() << "five rows were accepted";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "layer 'check': the assertion does not hold: four rows");
  }
}

}  // namespace
}  // namespace tenon::ops
