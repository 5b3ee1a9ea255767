// What passes are told of attention that no tensor cores compute.
#include "backends/cuda/driver/cuda_device.h"
#include "compile/computes.h"
#include "cuda/on_gpu.h"
#include "ops/op/attention.h"

namespace tenon::test {
namespace {

// A little of it is one launch in place of three; much of it is slower than two products.
TEST_F(OnGpu, AttentionWithoutTensorCoresIsFoundWhereThereIsLittleOfIt) {
  const auto isFound = [](int64_t heads, int64_t rows, int64_t width) {
    const ops::TensorType operand{DataType::kF32, {Extent(heads), Extent(rows), Extent(width)}, std::nullopt};
    const ops::TensorType operands[] = {operand, operand, operand};
    return compile::computes(backends::cuda::cudaDevice(), ops::Attention{}, operands, {});
  };
  EXPECT_TRUE(isFound(8, 64, 6));
  EXPECT_FALSE(isFound(1536, 64, 6));
  EXPECT_TRUE(isFound(1536, 64, 10));
  EXPECT_TRUE(isFound(1, 16, 512));
  EXPECT_FALSE(isFound(1, 4096, 512));
  EXPECT_TRUE(isFound(1536, 64, 16));
  EXPECT_TRUE(isFound(1, 4096, 256));
}

}  // namespace
}  // namespace tenon::test
