// Logarithms of a softmax by the own kernel, beside the reference.
#include <cmath>

#include "typed_kernels.h"

namespace tenon::test {
namespace {

void expectLogSoftmax(DataType type, const Dims& dims, int64_t axis) {
  const auto shape = shapeText(dims);
  expectKernelMatches(
      fmt::format("  %y : {}{} = softmax{{axis={} logarithm=true}}(%a) \"n\"\n", name(type), shape, axis),
      listOf(variedTensor(type, dims, 3)), "softmax", "cpu.softmax", 2 * toleranceOf(type));
}

TEST(LogSoftmax, RowsAndColumns) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const int64_t extent : {1, 2, 7, 16, 33, 130, 10007}) {
      expectLogSoftmax(type, {3, extent}, 1);
      expectLogSoftmax(type, {2, extent, 37}, 1);
      expectLogSoftmax(type, {2, extent, 3}, 1);
    }
    expectLogSoftmax(type, {0, 5}, 1);
    expectLogSoftmax(type, {5, 3, 4}, 0);
  }
}

// Rows that stand side by side in vectors: whole vectors of them and parts, each length.
TEST(LogSoftmax, ShortRows) {
  for (const auto type : {DataType::kF32, DataType::kF16}) {
    for (int64_t extent = 1; extent <= 9; ++extent) {
      for (const int64_t rows : {1, 16, 35}) expectLogSoftmax(type, {rows, extent}, 1);
    }
  }
}

// A row that holds NaN is NaN, its neighbours are not.
TEST(LogSoftmax, NanStaysInItsRow) {
  constexpr int64_t kRows = 40;
  for (const int64_t extent : {2, 3, 5}) {
    HostTensor x(DataType::kF32, {kRows, extent});
    for (int64_t i = 0; i < kRows * extent; ++i) x.view().storeDouble(i, static_cast<double>(i % 7));
    x.view().storeDouble(17 * extent + 1, std::nan(""));
    const auto line = fmt::format("  %y : f32[{},{}] = softmax{{axis=1 logarithm=true}}(%a) \"n\"\n", kRows, extent);
    expectKernelMatches(line, listOf(std::move(x)), "softmax", "cpu.softmax", 1e-6);
  }
}

// A softmax underflows to 0 there, whose logarithm is no number.
TEST(LogSoftmax, SmallProbabilities) {
  HostTensor x(DataType::kF32, {2, 40});
  for (int64_t i = 0; i < 80; ++i) x.view().storeDouble(i, i % 40 == 3 ? 500 : static_cast<double>(i));
  expectKernelMatches("  %y : f32[2,40] = softmax{logarithm=true}(%a) \"n\"\n", listOf(std::move(x)), "softmax",
                      "cpu.softmax", 1e-6);
}

}  // namespace
}  // namespace tenon::test
