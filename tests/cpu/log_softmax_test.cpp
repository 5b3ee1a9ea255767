// Logarithms of a softmax by the own kernel, beside the reference.
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

// A softmax underflows to 0 there, whose logarithm is no number.
TEST(LogSoftmax, SmallProbabilities) {
  HostTensor x(DataType::kF32, {2, 40});
  for (int64_t i = 0; i < 80; ++i) x.view().storeDouble(i, i % 40 == 3 ? 500 : static_cast<double>(i));
  expectKernelMatches("  %y : f32[2,40] = softmax{logarithm=true}(%a) \"n\"\n", listOf(std::move(x)), "softmax",
                      "cpu.softmax", 1e-6);
}

}  // namespace
}  // namespace tenon::test
