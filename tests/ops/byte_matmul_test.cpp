// Products of quantized matrices against sums taken anew for every element.
#include "ops/op/byte_matmul.h"
#include "core/error.h"
#include "ops/strides.h"
#include "support.h"

namespace tenon::ops {
namespace {

HostTensor randomBytes(Rng& rng, const Dims& dims, DataType type) {
  HostTensor result(type, dims);
  for (int64_t i = 0; i < dims.count(); ++i)
    result.view().storeInt(i, type == DataType::kU8 ? pick(rng, 0, 255) : pick(rng, -128, 127));
  return result;
}

TEST(ByteMatMul, AgreesWithItsDefinition) {
  Rng rng(63);
  const std::vector<DataType> types{DataType::kI8, DataType::kU8};
  for (int round = 0; round < 200; ++round) {
    const int64_t m = pick(rng, 0, 5), k = pick(rng, 0, 9), n = pick(rng, 1, 6), batch = pick(rng, 1, 3);
    const auto left = pickOf(rng, types), right = pickOf(rng, types);
    const bool isShared = pick(rng, 0, 1) == 1, isPerColumn = pick(rng, 0, 1) == 1;
    auto a = randomBytes(rng, {batch, m, k}, left);
    auto b = randomBytes(rng, isShared ? Dims{k, n} : Dims{batch, k, n}, right);
    auto aZero = randomBytes(rng, {}, left);
    auto bZero = randomBytes(rng, {isPerColumn ? n : 1}, right);
    std::vector<double> expected;
    for (int64_t i = 0; i < batch * m * n; ++i) {
      const int64_t column = i % n, row = i / n, matrix = isShared ? 0 : row / m;
      double sum = 0;
      for (int64_t j = 0; j < k; ++j)
        sum += (a.view().loadDouble(row * k + j) - aZero.view().loadDouble(0)) *
               (b.view().loadDouble((matrix * k + j) * n + column) - bZero.view().loadDouble(isPerColumn ? column : 0));
      expected.push_back(sum);
    }
    const auto out = run1(ByteMatMul{}, std::move(a), std::move(b), std::move(aZero), std::move(bZero));
    EXPECT_EQ(numbers(out), expected) << "round " << round;
    EXPECT_EQ(out.view().dtype, DataType::kI32);
  }
}

TEST(ByteMatMul, Refusals) {
  const auto refuses = [](std::vector<TensorType> inputs) {
    EXPECT_THROW(Operator(ByteMatMul{}).infer("test", inputs), UserError);
  };
  const TensorType a{DataType::kU8, {Extent(3), Extent(4)}, {}}, b{DataType::kI8, {Extent(4), Extent(5)}, {}};
  const TensorType aZero{DataType::kU8, {}, {}}, bZero{DataType::kI8, {Extent(5)}, {}};
  EXPECT_EQ(Operator(ByteMatMul{}).infer("test", std::vector{a, b, aZero, bZero})[0].shape,
            (Shape{Extent(3), Extent(5)}));
  refuses({a, b, aZero});
  refuses({a, b, bZero, bZero});                                                       // another type
  refuses({a, b, aZero, TensorType{DataType::kI8, {Extent(4)}, {}}});                  // not one for each column
  refuses({a, b, TensorType{DataType::kU8, {Extent(3)}, {}}, bZero});                  // more than one
  refuses({a, a, aZero, aZero});                                                       // depths that differ
  refuses({TensorType{DataType::kF32, {Extent(3), Extent(4)}, {}}, b, aZero, bZero});  // no bytes
  refuses({TensorType{DataType::kU8, {Extent(4)}, {}}, b, aZero, bZero});              // no matrix
}

}  // namespace
}  // namespace tenon::ops
