// Pairs of columns turned by angles, beside the reference.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

void expectRotation(const Dims& x, const Dims& angles, bool interleaved) {
  Dims y = x;
  y[y.rank - 1] = 2 * angles[angles.rank - 1];
  expectKernelMatches(
      fmt::format("  %y : f32{} = rotate_pairs{{interleaved={}}}(%a, %b, %c) \"n\"\n", shapeText(y), interleaved),
      listOf(variedTensor(DataType::kF32, x, 1), variedTensor(DataType::kF32, angles, 2),
             variedTensor(DataType::kF32, angles, 3)),
      "rotate_pairs", "cpu.rotate_pairs", 2e-6);
}

TEST(RotatePairs, Rows) {
  for (const bool interleaved : {false, true}) {
    for (const int64_t pairs : {1, 2, 3, 5, 8, 16, 17, 31, 32, 40}) {
      expectRotation({2, 7, 3, 2 * pairs}, {2, 7, 1, pairs}, interleaved);
      expectRotation({2, 3, 7, 2 * pairs + 3}, {7, pairs}, interleaved);
      expectRotation({3, 2 * pairs}, {pairs}, interleaved);
      expectRotation({2 * pairs + 1}, {pairs}, interleaved);
    }
    expectRotation({1, 12, 301, 64}, {1, 1, 301, 32}, interleaved);
    expectRotation({3, 5, 4, 2, 16}, {3, 1, 4, 1, 8}, interleaved);
    expectRotation({2, 0, 3, 8}, {2, 0, 1, 4}, interleaved);
    expectRotation({1, 9001, 1, 6}, {1, 9001, 1, 3}, interleaved);
  }
}

}  // namespace
}  // namespace tenon::test
