// How far results lie apart, as the device says; and that a build looks at every element of them.
#include <cmath>
#include <random>

#include "backends/cuda/kernels/distance/distance.h"
#include "compile/tune/result_check.h"
#include "compile/tune/self_check.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kF8E4M3, DataType::kI64,
                               DataType::kI32, DataType::kI8,  DataType::kU8,   DataType::kBool};

TEST(Code, DistancesCompileForEveryChip) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  for (const int chip : {80, 86, 89, 90, 100, 120}) {
    for (const auto type : {DataType::kF16, DataType::kI64})
      EXPECT_FALSE(backends::cuda::compile(backends::cuda::distanceCode(type).source(), chip).empty()) << chip;
  }
}

// Some elements equal, some near, some NaN or infinite on one side or on both.
void fill(const TensorView& got, const TensorView& expected) {
  std::mt19937_64 generator(static_cast<uint64_t>(expected.count()) * 31 + static_cast<uint64_t>(expected.dtype));
  const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, 1.0};
  for (int64_t i = 0; i < expected.count(); ++i) {
    const auto draw = generator();
    const double value = static_cast<double>(draw >> 11) * 0x1p-53 * 100 - 30;
    if (!isFloating(expected.dtype)) {
      const auto most = expected.dtype == DataType::kBool ? 2 : 100;
      expected.storeInt(i, static_cast<int64_t>(draw % most));
      got.storeInt(i, static_cast<int64_t>(draw % 7 == 0 ? (draw / 7) % most : draw % most));
      continue;
    }
    expected.storeDouble(i, draw % 101 == 0 ? specials[draw / 101 % 5] : value);
    got.storeDouble(i, draw % 103 == 0 ? specials[draw / 103 % 5] : draw % 5 == 0 ? value : value * 1.01);
  }
}

TEST_F(OnGpu, DistancesAreThoseOfTheHost) {
  auto& device = backends::cuda::cudaDevice();
  auto* distances = dynamic_cast<runtime::TensorDistances*>(&device);
  ASSERT_NE(distances, nullptr);
  EXPECT_FALSE(distances->measures(DataType::kI4));
  for (const auto type : kTypes) {
    ASSERT_TRUE(distances->measures(type)) << name(type);
    for (const int64_t count : {0, 1, 31, 257, 4099, 70001}) {
      const HostTensor got(type, {count});
      const HostTensor expected(type, {count});
      fill(got.view(), expected.view());
      const DeviceTensor a(device, got.view());
      const DeviceTensor b(device, expected.view());
      for (const bool infinities : {true, false}) {
        const runtime::DistanceRule rule{0.01, type == DataType::kF16 ? 20 : INFINITY, infinities};
        const auto mine = distances->distance(type, a.data(), b.data(), count, rule);
        const auto wanted = compile::distanceBetween(got.view(), expected.view(), rule);
        const auto where = fmt::format("{} elements of {}", count, name(type));
        EXPECT_NEAR(mine.squares, wanted.squares, 1e-9 * wanted.squares) << where;
        EXPECT_NEAR(mine.gain, wanted.gain, 1e-9 * wanted.squares) << where;
        EXPECT_DOUBLE_EQ(mine.excess, wanted.excess) << where;  // a GPU rounds the product not apart
        EXPECT_EQ(mine.worst, wanted.worst) << where;
        EXPECT_EQ(mine.differing, wanted.differing) << where;
        EXPECT_EQ(mine.at, wanted.at) << where;
        if (std::isinf(wanted.difference)) {
          EXPECT_EQ(mine.difference, wanted.difference) << where;
        } else {
          EXPECT_NEAR(mine.difference, wanted.difference, 1e-9 * wanted.difference) << where;
        }
      }
    }
  }
}

// One element of many, wherever it lies and in either format.
TEST_F(OnGpu, TuningComparesEveryElement) {
  auto& device = backends::cuda::cudaDevice();
  RecordingLog log;
  compile::ResultCheck check(device, log);
  const Dims dims = {1, 5, 201, 101};
  const auto op = ops::Operator::parse(R"g(pointwise{expr="sqrt(x0)"})g");
  for (const auto type : {DataType::kF16, DataType::kF32, DataType::kI32}) {
    const compile::Problem problem{op, {{type, dims, nullptr}}, {{type, dims, nullptr}}, {}};
    const auto values = randomTensor(type, dims, 3);
    const DeviceTensor trusted(device, values.view());
    void* const wanted[] = {trusted.data()};
    check.clear();
    check.expect(problem, {"trusted", "", {Layout::kLinear}, {Layout::kLinear}}, wanted);
    ASSERT_TRUE(check.expects());
    for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
      const compile::Candidate candidate{"other", "", {layout}, {layout}};
      for (const int64_t wrong : {int64_t{-1}, int64_t{0}, int64_t{5000}, int64_t{70000}, dims.count() - 1}) {
        const auto changed = randomTensor(type, dims, 3);
        if (isFloating(type) && wrong >= 0) changed.view().storeDouble(wrong, 4);
        if (!isFloating(type) && wrong >= 0) {
          for (int64_t i = 0; i < 200; ++i) changed.view().storeInt((wrong + i) % dims.count(), 77);
        }
        const auto stored = storedAs(layout, changed.view());
        const DeviceTensor memory(device, stored.view());
        void* const outputs[] = {memory.data()};
        const auto difference = check.compare(problem, candidate, outputs);
        EXPECT_EQ(difference.empty(), wrong < 0) << name(type) << ", element " << wrong << ": " << difference;
        if (isFloating(type) && wrong >= 0) {
          EXPECT_NE(difference.find(fmt::format("at element {} of ", wrong)), std::string::npos) << difference;
          EXPECT_NE(difference.find(": got 4, expected "), std::string::npos) << difference;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
