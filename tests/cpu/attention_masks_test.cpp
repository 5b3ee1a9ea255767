// Attention with masks of which blocks of queries see a part: keys that none of them sees are left out.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

// Row i sees keys from `begin` to `end` of its own, every fifth row none.
HostTensor windowMask(int64_t queries, int64_t keys, float unseen, bool hasBlindRows, uint64_t seed) {
  HostTensor mask(DataType::kF32, {queries, keys});
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < queries; ++i) {
    const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(keys));
    const auto end = begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(keys - begin));
    const bool isBlind = hasBlindRows && i % 5 == 4;
    for (int64_t t = 0; t < keys; ++t) {
      const bool sees = t >= begin && t < end && !isBlind;
      mask.view().storeDouble(i * keys + t, sees ? 0.25 * static_cast<double>(random() % 5) : unseen);
    }
  }
  return mask;
}

// Of `queries` rows the first sees `visible` keys after `empty` ones, the others one more each.
HostTensor growingMask(int64_t queries, int64_t keys, int64_t empty, int64_t visible) {
  HostTensor mask(DataType::kF32, {queries, keys});
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t t = 0; t < keys; ++t)
      mask.view().storeDouble(i * keys + t, t >= empty && t < empty + visible + i ? 0. : -INFINITY);
  }
  return mask;
}

void expectAttention(HostTensor mask, int64_t queries, int64_t keys, const std::string& fields) {
  const Dims out{2, queries, 8};
  expectKernelMatches(
      fmt::format("  %y : f32{} = attention{{scale=0.3 hasMask=true{}}}(%a, %b, %c, %d) \"n\"\n", shapeText(out),
                  fields),
      listOf(variedTensor(DataType::kF32, {2, queries, 24}, 1), variedTensor(DataType::kF32, {2, keys, 24}, 2),
             variedTensor(DataType::kF32, {2, keys, 8}, 3), std::move(mask)),
      "attention", "cpu.attention", 1e-5);
}

TEST(AttentionMasks, Windows) {
  for (const int64_t queries : {1, 2, 3, 33, 70}) {
    for (const int64_t keys : {1, 15, 16, 17, 50, 131}) {
      for (const float unseen : {-INFINITY, std::numeric_limits<float>::lowest(), -1e31F, -1e4F}) {
        SCOPED_TRACE(fmt::format("{} queries, {} keys, {}", queries, keys, unseen));
        const bool hasBlindRows = queries > 3 && unseen < -1e5F;  // sums of 1e4 lose what tells scores apart
        expectAttention(windowMask(queries, keys, unseen, hasBlindRows, 7), queries, keys, " emptyIsZero=true");
        expectAttention(windowMask(1, keys, unseen, false, 8), queries, keys, "");
      }
    }
  }
}

TEST(AttentionMasks, GrowingLengths) {
  for (const int64_t empty : {0, 5, 64, 100}) {
    expectAttention(growingMask(40, 200, empty, 1), 40, 200, "");
    expectAttention(growingMask(1, 200, empty, 30), 1, 200, "");
    if (empty == 0) expectAttention(growingMask(40, 200, empty, 1), 40, 200, " causal=true");
  }
}

}  // namespace
}  // namespace tenon::test
