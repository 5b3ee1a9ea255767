// Heads of keys that several heads of queries share, by columns: shapes, and what is refused. Rotary embedding against
// complex numbers that are multiplied.
#include "ops/op/attention.h"

#include <complex>

#include "core/error.h"
#include "ops/op/rotate_pairs.h"
#include "support.h"

namespace tenon::ops {
namespace {

std::vector<TensorType> typesOf(int64_t q, int64_t k, int64_t v) {
  const auto rows = [](int64_t length, int64_t columns) {
    return TensorType{DataType::kF32, Shape{Extent(2), Extent(length), Extent(columns)}, std::nullopt};
  };
  return {rows(5, q), rows(7, k), rows(7, v)};
}

Operator of(int64_t heads, int64_t keyHeads) {
  Attention op;
  op.heads = heads;
  op.keyHeads = keyHeads;
  return op;
}

TEST(Attention, HeadsOfKeysByColumns) {
  const auto result = of(4, 2).infer("a", typesOf(12, 6, 10));
  EXPECT_EQ(text(result[0].shape), "[2,5,20]");
  EXPECT_EQ(of(4, 2).text(), "attention{heads=4 keyHeads=2}");
}

TEST(Attention, HeadsOfKeysMustFit) {
  EXPECT_THROW(of(4, 3).infer("a", typesOf(12, 9, 9)), UserError);    // no divisor
  EXPECT_THROW(of(4, -1).infer("a", typesOf(12, 6, 6)), UserError);   // negative
  EXPECT_THROW(of(4, 2).infer("a", typesOf(12, 12, 6)), UserError);   // as many columns as q has
  EXPECT_THROW(of(4, 2).infer("a", typesOf(12, 6, 7)), UserError);    // columns that are no whole heads
  EXPECT_THROW(of(0, 2).infer("a", typesOf(12, 12, 12)), UserError);  // not by columns
}

TEST(RotatePairs, MultipliesComplexNumbers) {
  Rng rng(64);
  for (int round = 0; round < 100; ++round) {
    const int64_t heads = pick(rng, 1, 3), rows = pick(rng, 0, 4), pairs = pick(rng, 1, 9), rest = pick(rng, 0, 2);
    const int64_t width = 2 * pairs + rest;
    const bool interleaved = pick(rng, 0, 1) == 1, isShared = pick(rng, 0, 1) == 1;
    auto x = randomTensor(rng, {heads, rows, width});
    auto cosines = randomTensor(rng, isShared ? Dims{rows, pairs} : Dims{heads, 1, pairs});
    auto sines = randomTensor(rng, cosines.view().dims);
    std::vector<double> expected(static_cast<size_t>(heads * rows * 2 * pairs));
    for (int64_t row = 0; row < heads * rows; ++row) {
      for (int64_t p = 0; p < pairs; ++p) {
        const int64_t a = interleaved ? 2 * p : p, b = interleaved ? 2 * p + 1 : pairs + p;
        const int64_t angle = (isShared ? row % rows : row / rows) * pairs + p;
        const auto turned = std::complex(x.view().loadDouble(row * width + a), x.view().loadDouble(row * width + b)) *
                            std::complex(cosines.view().loadDouble(angle), sines.view().loadDouble(angle));
        expected[static_cast<size_t>(row * 2 * pairs + a)] = turned.real();
        expected[static_cast<size_t>(row * 2 * pairs + b)] = turned.imag();
      }
    }
    const auto out = run1(RotatePairs{interleaved}, std::move(x), std::move(cosines), std::move(sines));
    expectNear(numbers(out), expected, 1e-6, fmt::format("round {}", round));
  }
}

TEST(RotatePairs, Refusals) {
  const auto shape = [](std::vector<int64_t> dims, DataType type = DataType::kF32) {
    TensorType result{type, {}, {}};
    for (const int64_t dim : dims) result.shape.emplace_back(dim);
    return result;
  };
  const auto refuses = [](std::vector<TensorType> inputs) {
    EXPECT_THROW(Operator(RotatePairs{}).infer("test", inputs), UserError);
  };
  EXPECT_EQ(Operator(RotatePairs{}).infer("test", std::vector{shape({2, 3, 9}), shape({3, 4}), shape({3, 4})})[0].shape,
            shape({2, 3, 8}).shape);
  refuses({shape({2, 3, 9}), shape({3, 5}), shape({3, 5})});                  // more than x has
  refuses({shape({2, 3, 9}), shape({3, 4}), shape({3, 3})});                  // unequal
  refuses({shape({2, 3, 9}), shape({4, 4}), shape({4, 4})});                  // rows that differ
  refuses({shape({2, 1, 9}), shape({3, 4}), shape({3, 4})});                  // x would be broadcast
  refuses({shape({8}), shape({1, 4}), shape({1, 4})});                        // more axes
  refuses({shape({2, 3, 8}, DataType::kF16), shape({3, 4}), shape({3, 4})});  // another type
  refuses({shape({2, 3, 8}), shape({3, 4})});
}

}  // namespace
}  // namespace tenon::ops
