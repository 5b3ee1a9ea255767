// Kernels that count and find elements that are not zero, and that suppress boxes, beside their references.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

// Zeros, and among them as many other values as `share` of 100 says.
HostTensor sparseTensor(DataType type, const Dims& dims, uint64_t share, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < dims.count(); ++i) {
    const bool isZero = random() % 100 >= share;
    const auto value = static_cast<int64_t>(random() % 3) - 1;
    if (isFloating(type)) {
      tensor.view().storeDouble(i, isZero ? (value < 0 ? -0. : 0.) : value == 0 ? NAN : static_cast<double>(value) / 4);
    } else {
      tensor.view().storeInt(i, isZero ? 0 : type == DataType::kBool ? 1 : 1 + value + (value == -1 ? 64 : 0));
    }
  }
  return tensor;
}

constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                               DataType::kI32, DataType::kI8,  DataType::kU8,   DataType::kBool};

TEST(NonZeroKernels, EveryTypeAndSize) {
  for (const auto type : kTypes) {
    for (const auto& dims : {Dims{1}, Dims{63}, Dims{64}, Dims{65}, Dims{3, 5, 7}, Dims{2, 8191}, Dims{16385},
                             Dims{1, 50021}, Dims{50021, 1}, Dims{7, 1, 13, 3, 101}}) {
      for (const uint64_t share : {0, 3, 60, 100}) {
        const auto x = sparseTensor(type, dims, share, 7);
        int64_t count = 0;
        for (int64_t i = 0; i < dims.count(); ++i)
          count += (isFloating(type) ? x.view().loadDouble(i) != 0 : x.view().loadInt(i) != 0) ? 1 : 0;
        const auto copy = [&] { return sparseTensor(type, dims, share, 7); };
        expectKernelMatches("  %y : i64[] = count_nonzero(%a) \"c\"\n", listOf(copy()), "count_nonzero",
                            "cpu.count_nonzero", 0);
        // As many as there are, fewer, and more.
        for (const int64_t columns : {count, count / 2, count + 3}) {
          for (const char* index : {"i32", "i64"}) {
            const auto line = fmt::format("  %y : {}[{},{}] = nonzero{{size={} indexType={}}}(%a) \"n\"\n", index,
                                          dims.rank, columns, columns, index);
            expectKernelMatches(line, listOf(copy()), "nonzero", "cpu.nonzero", 0);
          }
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

HostTensor boxesOf(DataType type, const Dims& dims, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < dims.count(); i += 4) {
    const auto x = static_cast<double>(random() % 512) / 4;
    const auto y = static_cast<double>(random() % 512) / 4;
    tensor.view().storeDouble(i, x);
    tensor.view().storeDouble(i + 1, y);
    tensor.view().storeDouble(i + 2, x + static_cast<double>(random() % 200) / 4 - 5);
    tensor.view().storeDouble(i + 3, random() % 50 == 0 ? NAN : y + static_cast<double>(random() % 200) / 4);
  }
  return tensor;
}

HostTensor oneOf(DataType type, double value) {
  HostTensor tensor(type, {});
  tensor.view().storeDouble(0, value);
  return tensor;
}

TEST(NmsKernel, SelectsAsTheReference) {
  std::mt19937_64 random(11);
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const auto& shape :
         {Dims{1, 1, 1}, Dims{1, 300, 1}, Dims{3, 97, 5}, Dims{1, 1031, 80}, Dims{2, 0, 3}, Dims{0, 5, 2}}) {
      for (int round = 0; round < 4; ++round) {
        const bool perClass = round % 2 == 1;
        const auto& [limit, most] = std::pair(round == 0 ? 5000 : 60, shape.count() / (round == 3 ? 9 : 1) + 1);
        auto boxes = boxesOf(type, perClass ? Dims{shape[0], shape[1], shape[2], 4} : Dims{shape[0], shape[1], 4}, 3);
        const auto line = fmt::format(
            "  %y : i64[{},3], %z : i32[] = nms{{format={} limit={} most={} indexType=i64}}(%a, %b, %c, %d, %e) \"s\"\n",
            most, round < 2 ? "corners" : "centers", limit, most);
        expectKernelMatches(line,
                            listOf(std::move(boxes), variedTensor(type, shape, random(), true),
                                   oneOf(DataType::kI32, round == 2 ? 3 : 100000), oneOf(DataType::kF32, 0.4),
                                   oneOf(DataType::kF32, round == 0 ? -1.5 : 0.25)),
                            "nms", "cpu.nms", 0);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
