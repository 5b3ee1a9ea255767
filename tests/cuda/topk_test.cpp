// The best elements of lines on the GPU: each way of the kernel, many equal elements, values that only a part of the
// bits tells apart.
#include <limits>

#include "cuda/exact.h"

namespace tenon::test {
namespace {

enum class Values { kAny, kFew, kEqual, kRising, kFalling };

HostTensor drawn(DataType type, const Dims& dims, Values values, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 generator(seed);
  const auto view = tensor.view();
  for (int64_t i = 0; i < view.count(); ++i) {
    const auto draw = static_cast<int64_t>(generator());
    if (values == Values::kRising || values == Values::kFalling) {
      view.storeDouble(i, static_cast<double>(values == Values::kRising ? i : -i) / (isFloating(type) ? 64 : 300));
    } else if (values != Values::kAny) {
      view.storeDouble(i, values == Values::kFew ? static_cast<double>(generator() % 3) : 1);
    } else if (isFloating(type)) {
      view.storeDouble(i, std::ldexp(static_cast<double>(draw), -62));
    } else {
      view.storeInt(i, type == DataType::kI64 ? draw : draw >> (64 - bits(type)));
    }
  }
  return tensor;
}

void check(const HostTensor& x, int64_t k, bool isLargest, const char* indexType = "i32", int64_t axis = -1) {
  std::vector<HostTensor> inputs;
  inputs.emplace_back(x.view().dtype, x.view().dims);
  std::memcpy(inputs[0].view().data, x.view().data, x.view().bytes());
  expectExact(fmt::format("topk{{largest={} k={} axis={} indexType={}}}", isLargest, k, axis, indexType), "topk",
              inputs);
}

constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                               DataType::kI32, DataType::kI8,  DataType::kU8};

// One chunk, two, chunks of chunks, and a sort of all.
TEST_F(OnGpu, SelectionOfTheBest) {
  uint64_t seed = 0;
  for (const auto type : kTypes) {
    for (const auto values : {Values::kAny, Values::kFew}) {
      check(drawn(type, {2, 300}, values, ++seed), 7, true);
      check(drawn(type, {1, 20011}, values, ++seed), 100, values == Values::kAny);
      check(drawn(type, {1, 20011}, values, ++seed), 2000, true);
      check(drawn(type, {2, 5003}, values, ++seed), 4500, values == Values::kFew, "i64");
    }
  }
}

TEST_F(OnGpu, SelectionOfTheBestOfEveryLength) {
  uint64_t seed = 100;
  for (const int64_t extent : {1, 2, 31, 33, 511, 513, 2049, 8191, 8192, 8193, 16384, 16385}) {
    for (const int64_t k : {1, 2, 5, 16, 17, 513, 4096, 4097}) {
      if (k <= extent) check(drawn(DataType::kF32, {1, extent}, Values::kAny, ++seed), k, true);
    }
    check(drawn(DataType::kF32, {3, extent}, Values::kEqual, ++seed), std::min<int64_t>(extent, 40), true);
    check(drawn(DataType::kF32, {2, extent}, Values::kRising, ++seed), std::min<int64_t>(extent, 9), true);
    check(drawn(DataType::kF32, {2, extent}, Values::kFalling, ++seed), std::min<int64_t>(extent, 9), true);
  }
}

// Lists of the chosen are chosen from twice.
TEST_F(OnGpu, SelectionOfTheBestOfLongLines) {
  check(drawn(DataType::kF16, {1, 150001}, Values::kAny, 200), 4000, true);
  check(drawn(DataType::kI64, {1, 100003}, Values::kAny, 201), 2048, false, "i64");
  check(drawn(DataType::kI64, {1, 40009}, Values::kFew, 202), 2049, true, "i64");
}

// A thread for each line.
TEST_F(OnGpu, SelectionOfTheBestOfManyLines) {
  uint64_t seed = 300;
  for (const int64_t k : {1, 3, 4}) {
    check(drawn(DataType::kF16, {2050, 9}, Values::kAny, ++seed), k, true);
    check(drawn(DataType::kI64, {2050, 5}, Values::kFew, ++seed), k, false, "i64");
    check(drawn(DataType::kF32, {4, 90, 4099}, Values::kFew, ++seed), k, true, "i32", 1);
  }
}

// The lowest and the highest number of a type are as any other; NaN is more than all, zeros are equal.
TEST_F(OnGpu, SelectionOfTheBestAtTheLimits) {
  for (const bool isLargest : {true, false}) {
    for (const int64_t k : {3, 9, 40}) {
      HostTensor wide(DataType::kI64, {2, 50});
      HostTensor real(DataType::kF32, {2, 50});
      HostTensor half(DataType::kF16, {2, 50});
      for (int64_t i = 0; i < 100; ++i) {
        const int64_t numbers[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), -1, 0,
                                   int64_t{1} << 32};
        wide.view().storeInt(i, numbers[i % 5]);
        const double values[] = {std::nan(""),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::infinity(),
                                 -0.0,
                                 0.0,
                                 1,
                                 -1e-45};
        real.view().storeDouble(i, values[i % 7]);
        half.view().storeDouble(i, values[i % 7]);
      }
      check(wide, k, isLargest);
      check(real, k, isLargest);
      check(half, k, isLargest);
    }
  }
}

}  // namespace
}  // namespace tenon::test
