// The comparison of candidates' results: what it lets pass, and what it does not.
#include <atomic>

#include "build/proposals.h"
#include "build/stages.h"
#include "build/tune/self_check.h"
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
  return build::compareResults(a.view(), b.view(), 0, build::Tolerance::ofCandidates(dtype, false));
}

TEST(CandidatesResults, RoundingPasses) {
  EXPECT_EQ(compare(DataType::kF32, {1, 2, 3.0001}, {1, 2, 3}), "");
  EXPECT_EQ(compare(DataType::kF16, {1.001, 2, 3.004}, {1, 2, 3}), "");
  EXPECT_EQ(compare(DataType::kF16, {INFINITY, 1}, {60000, 1}), "");  // another order of sums overflows
  EXPECT_EQ(compare(DataType::kF32, {NAN, 1}, {NAN, 1}), "");
  EXPECT_EQ(compare(DataType::kF32, {}, {}), "");
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
  build::Stages stages;
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
  build::inParallel(runs.size(), [&](size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  build::inParallel(0, [](size_t) { FAIL(); });
  EXPECT_THROW(build::inParallel(5, [](size_t i) { if (i == 3) throw UserError("three"); }), UserError);
}

}  // namespace
}  // namespace tenon::test
