// The comparison of candidates' results: what it lets pass, and what it does not.
#include <atomic>
#include <cmath>
#include <cstring>

#include "compile/proposals.h"
#include "compile/stages.h"
#include "compile/tune/cold_weights.h"
#include "compile/tune/rotation.h"
#include "compile/tune/self_check.h"
#include "compile/tune/timing_cache.h"
#include "core/platform/processor.h"
#include "runtime/host_device.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

std::string compare(DataType dtype, const std::vector<double>& got, const std::vector<double>& expected) {
  HostTensor a(dtype, {static_cast<int64_t>(got.size())});
  HostTensor b(dtype, {static_cast<int64_t>(expected.size())});
  for (size_t i = 0; i < got.size(); ++i) {
    a.view().storeDouble(static_cast<int64_t>(i), got[i]);
    b.view().storeDouble(static_cast<int64_t>(i), expected[i]);
  }
  return compile::compareResults(a.view(), b.view(), 0, compile::Tolerance::ofCandidates(dtype, false));
}

TEST(CandidatesResults, RoundingPasses) {
  EXPECT_EQ(compare(DataType::kF32, {1, 2, 3.0001}, {1, 2, 3}), "");
  EXPECT_EQ(compare(DataType::kF16, {1.001, 2, 3.004}, {1, 2, 3}), "");
  EXPECT_EQ(compare(DataType::kF16, {INFINITY, 1}, {60000, 1}), "");  // another order of sums overflows
  EXPECT_EQ(compare(DataType::kF32, {NAN, 1}, {NAN, 1}), "");
  EXPECT_EQ(compare(DataType::kF32, {}, {}), "");
}

// By what operands lose that are cut off to TF32 instead of rounded, however small that is beside other errors.
TEST(CandidatesResults, WhatIsTooSmallAsAWholeDoesNotPass) {
  for (const int64_t count : {1, 100, 10000}) {
    const auto expected = randomTensor(DataType::kF32, {count}, 1);
    const auto noise = randomTensor(DataType::kF32, {count}, 2);
    for (const double factor : {1.0, 1 - 3.4e-4, 1 + 3.4e-4}) {
      HostTensor got(DataType::kF32, {count});
      for (int64_t i = 0; i < count; ++i)
        got.view().storeDouble(i, factor * expected.view().loadDouble(i) + 3e-4 * noise.view().loadDouble(i));
      for (const bool tf32 : {false, true}) {
        const auto difference = compile::compareResults(got.view(), expected.view(), 0,
                                                        compile::Tolerance::ofCandidates(DataType::kF32, tf32));
        EXPECT_EQ(difference.empty(), count == 1 || factor == 1 || !tf32) << count << ", " << factor << difference;
      }
    }
  }
}

TEST(Rotation, OnlyWeightsOfSomeSizeComeFromMemory) {
  constexpr size_t kCache = 1 << 20;
  const auto copies = [&](const std::string& op, std::vector<Dims> dims, bool constant) {
    const auto parsed = ops::Operator::parse(op);
    compile::Problem problem{parsed, {}, {}, {}};
    for (const auto& extents : dims) problem.inputs.push_back({DataType::kF16, extents, nullptr});
    if (constant) problem.inputs[1].constant = graph::Constant::own(HostTensor(DataType::kF16, dims[1]));
    return compile::rotatedCopies(problem, 1, kCache);
  };
  EXPECT_EQ(copies("matmul{}", {{8, 256}, {256, 256}}, true), 14u);
  EXPECT_EQ(copies("matmul{}", {{8, 256}, {256, 256}}, false), 1u);
  EXPECT_EQ(copies("matmul{}", {{8, 64}, {64, 64}}, true), 1u);  // 8 KiB of 1 MiB
  EXPECT_EQ(copies("matmul{}", {{8, 64}, {64, 128}}, true), 64u);
  EXPECT_EQ(copies("matmul{}", {{8, 64}, {64, 0}}, true), 1u);
  EXPECT_EQ(copies("matmul{}", {{8, 2048}, {2048, 2048}}, true), 2u);  // larger than the cache
  EXPECT_EQ(copies("convolution{}", {{1, 256, 8, 8}, {256, 256, 1, 1}}, true), 14u);
  EXPECT_EQ(copies("convolution{}", {{1, 256, 8, 8}, {256, 256, 3, 3}}, true), 3u);
  EXPECT_EQ(copies("convolution{}", {{1, 256, 8}, {256, 256, 3}}, true), 6u);
  EXPECT_EQ(copies("convolution{}", {{1, 64, 8, 8}, {8, 64, 3, 3}}, true), 1u);  // 9 KiB
}

TEST(Rotation, CopiesHoldTheOriginalAndDoNotMeet) {
  HostTensor original(DataType::kF32, {257});
  for (int64_t i = 0; i < 257; ++i) original.view().storeDouble(i, static_cast<double>(i));
  const compile::Rotation rotation(runtime::hostDevice(), original.view().data, original.view().bytes(), 5);
  EXPECT_EQ(rotation.count(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(std::memcmp(rotation.copy(i), original.view().data, original.view().bytes()), 0) << i;
    EXPECT_EQ(rotation.copy(i), rotation.copy(i + 5));
    if (i > 0) {
      EXPECT_GE(static_cast<char*>(rotation.copy(i)) - static_cast<char*>(rotation.copy(i - 1)), 257 * 4);
    }
  }
}

// A convolution of `channels` to as many, behind `others` others like it, which share no weights.
std::string chainOf(int64_t channels, int others) {
  std::string text = fmt::format("graph \"g\" {{\n  input %x0 : f32[1,{},7,7]\n", channels);
  for (int i = 0; i <= others; ++i) {
    text += fmt::format(
        "  const %w{0} : f32[{1},{1},1,1] = random({0})\n  %x{2} : f32[1,{1},7,7] = convolution(%x{0}, %w{0}) \"c{0}\"\n",
        i, channels, i + 1);
  }
  return text + fmt::format("  output %x{}\n}}", others + 1);
}

// Times of kernels whose weights come from memory stand under names of their own, and only of those with many weights.
TEST(ColdWeights, AreThoseOfNetworksThatNoCacheHolds) {
  const size_t cache = platform::sharedCacheBytes();
  constexpr size_t kMost = size_t{64} << 20;
  if (cache > kMost) GTEST_SKIP() << "a cache of " << cache << " bytes is not driven out; at most " << kMost << " are";
  const auto channels = static_cast<int64_t>(std::sqrt(static_cast<double>(cache) / sizeof(float) / 8));  // an eighth
  EXPECT_FALSE(compile::weightsLeaveCaches(graph::parse(chainOf(channels, 3))));
  EXPECT_TRUE(compile::weightsLeaveCaches(graph::parse(chainOf(channels, 8))));
  for (const auto& [width, others, isCold] : {std::tuple{channels, 3, false}, std::tuple{channels, 8, true}}) {
    compile::TimingCache times;
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.timingCache = &times;
    options.averageTimingIterations = 1;
    compile::build(graph::parse(chainOf(width, others)), options);
    const auto keys = times.keys();
    const bool found = std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.ends_with(" cold"); });
    EXPECT_EQ(found, isCold) << others << " others";
    EXPECT_GT(keys.size(), 1U);
  }
}

TEST(ColdWeights, CachesAreFilledWithOtherThingsAndActivations) {
  const std::vector<std::byte> none, one(1), many(1000003);
  const std::vector<std::span<const std::byte>> activations{none, one, many};
  compile::ColdCaches caches;
  caches.prepare({});
  caches.prepare(activations);
}

TEST(CandidatesResults, OneWrongElementOfManyIsSeen) {
  std::vector<double> expected(10007, 1.0);
  auto got = expected;
  EXPECT_EQ(compare(DataType::kF16, got, expected), "");
  got[10006] = 0;
  EXPECT_NE(compare(DataType::kF16, got, expected).find("element 10006"), std::string::npos);
  got[10006] = NAN;
  EXPECT_NE(compare(DataType::kF16, got, expected), "");
  EXPECT_NE(compare(DataType::kI32, {1, 2, 3}, {1, 2, 4}), "");
}

TEST(Stages, AddUpUnderTheirNames) {
  compile::Stages stages;
  for (int i = 0; i < 2; ++i) {
    const auto outer = stages.run("outer");
    const auto inner = stages.run("inner");
  }
  const auto table = stages.table();
  EXPECT_LT(table.find("outer"), table.find("inner"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
}

TEST(InParallel, RunsAllAndRethrows) {
  std::vector<std::atomic<int>> runs(1000);
  compile::inParallel(runs.size(), [&](size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  compile::inParallel(0, [](size_t) { FAIL(); });
  EXPECT_THROW(compile::inParallel(5,
                                   [](size_t i) {
                                     if (i == 3) throw UserError("three");
                                   }),
               UserError);
}

}  // namespace
}  // namespace tenon::test
