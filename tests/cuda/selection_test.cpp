// Elements that are not zero, on the GPU.
#include "cuda/exact.h"

namespace tenon::test {
namespace {

// About one element of `every` is not zero; 0: none, 1: all.
HostTensor sparse(DataType type, const Dims& dims, uint64_t every, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const bool is = every != 0 && generator() % every == 0;
    tensor.view().storeDouble(i, is ? 1 + static_cast<double>(generator() % 3) : 0);
  }
  return tensor;
}

int64_t countOf(const HostTensor& tensor) {
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.view().count(); ++i) count += tensor.view().loadDouble(i) != 0 ? 1 : 0;
  return count;
}

void check(const HostTensor& x, int64_t size, const std::string& indexType) {
  std::vector<HostTensor> inputs;
  inputs.emplace_back(x.view().dtype, x.view().dims);
  std::memcpy(inputs[0].view().data, x.view().data, x.view().bytes());
  expectExact(fmt::format("nonzero{{size={} indexType={}}}", size, indexType), "nonzero", inputs);
  expectExact("count_nonzero", "count_nonzero", inputs);
}

TEST_F(OnGpu, SelectionOfNonZeroElements) {
  const std::vector<Dims> shapes{{},        {0},          {1},           {31},       {2048},     {2049},
                                 {3, 0, 5}, {2, 3, 1031}, {1, 4099, 1}, {70001},    {41, 300},  {2, 2, 2, 2, 2, 2, 2, 33}};
  uint64_t seed = 0;
  for (const auto& dims : shapes) {
    for (const uint64_t every : {0, 1, 2, 97}) {
      const auto x = sparse(DataType::kF32, dims, every, ++seed);
      const int64_t count = countOf(x);
      check(x, count, "i32");
      if (every == 2) {
        check(x, count / 2, "i64");
        check(x, count + 300, "i64");
      }
    }
  }
}

TEST_F(OnGpu, SelectionOfEveryType) {
  uint64_t seed = 100;
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kF8E4M3, DataType::kI64,
                          DataType::kI32, DataType::kI8, DataType::kU8, DataType::kBool}) {
    auto x = sparse(type, {5, 1031}, 5, ++seed);
    if (isFloating(type)) {
      x.view().storeDouble(7, std::nan(""));
      x.view().storeDouble(8, -0.0);
      x.view().storeDouble(9, 0x1p-9);
    }
    if (type == DataType::kF32) x.view().storeDouble(11, 0x1p-149);
    if (type == DataType::kF16) x.view().storeDouble(11, 0x1p-24);
    if (type == DataType::kI64) x.view().storeInt(11, int64_t{1} << 40);
    check(x, countOf(x), "i32");
  }
}

}  // namespace
}  // namespace tenon::test
