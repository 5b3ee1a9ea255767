// Where the libraries of a GPU's vendor are worth being opened.
#include "compile/libraries.h"

#include <gtest/gtest.h>

#include "compile/assignment.h"
#include "compile/proposals.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

compile::Option option(const std::string& tactic, double seconds, Layout format = Layout::kLinear) {
  compile::Option result;
  result.candidate = {tactic, "", {format}, {format}};
  result.seconds = seconds;
  return result;
}

compile::Option library(double seconds, double own) {
  auto result = option("cuda.cublaslt_matmul", seconds);
  if (own > 0) result.own.push_back(option("cuda.mma90_matmul", own));
  result.rivals = {option("cuda.cudnn_matmul", seconds), option("cuda.direct_matmul", seconds)};
  return result;
}

// How many of them call a library afterwards.
size_t librariesOf(std::vector<compile::Option> options, double seconds) {
  std::vector<compile::Option*> pointers;
  for (auto& one : options) pointers.push_back(&one);
  RecordingLog log;
  compile::leaveLibraries(pointers, seconds, log);
  size_t count = 0;
  for (const auto& one : options) {
    count += compile::callsVendor(one.candidate.tactic) ? 1 : 0;
    for (const auto& rival : one.rivals) count += compile::callsVendor(rival.candidate.tactic) ? 1 : 0;
  }
  return count;
}

TEST(Libraries, AreLeftWhereTheyHardlyPay) {
  EXPECT_EQ(librariesOf({library(1, 1.001), library(2, 2.001), option("cuda.softmax", 1)}, 4), 0u);
  EXPECT_EQ(librariesOf({library(1, 1.02), library(2, 2.001), option("cuda.softmax", 1)}, 4), 4u) << "half a per cent";
  EXPECT_EQ(librariesOf({library(1, 1.001), library(2, 0), option("cuda.softmax", 1)}, 4), 4u) << "one needs it";
}

TEST(Libraries, OwnWinnersHaveTheFormatsOfTheLibrarys) {
  const std::vector<compile::Option> options{option("cuda.cublaslt_matmul", 1),
                                             option("cuda.mma90_matmul", 1.5),
                                             option("cuda.mma90_matmul", 1.2, Layout::kChannelsLast),
                                             option("cuda.cudnn_matmul", 1.1),
                                             option("cuda.direct_matmul", 1.3),
                                             option("cuda.skinny_matmul", 2.5)};
  std::vector<const compile::Option*> pointers;
  for (const auto& one : options) pointers.push_back(&one);
  EXPECT_EQ(compile::ownWinner(pointers, 0), 4u);
  EXPECT_EQ(compile::ownWinner(pointers, 4), options.size()) << "it is one";
  EXPECT_EQ(compile::ownWinner(std::span(pointers).first(1), 0), 1u) << "there is none";
}

}  // namespace
}  // namespace tenon::test
