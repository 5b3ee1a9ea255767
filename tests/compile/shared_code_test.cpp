// Which candidates are left out before anything is compiled.
#include "compile/shared_code.h"

#include <gtest/gtest.h>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"

namespace tenon::compile {
namespace {

struct Made {
  std::string variant;
  uint64_t code;
  Layout format = Layout::kLinear;
};

Proposals proposalsOf(const std::vector<Made>& list) {
  Proposals result;
  for (const auto& made : list) {
    Proposal proposal;
    proposal.option.candidate.tactic = "cuda.some";
    proposal.option.candidate.variant = made.variant;
    proposal.option.candidate.inputs = {made.format};
    proposal.option.candidate.outputs = {made.format};
    proposal.code = made.code;
    result.list.push_back(std::move(proposal));
  }
  return result;
}

std::string variantsOf(const Proposals& proposals) {
  std::string result;
  for (const auto& proposal : proposals.list) result += proposal.option.candidate.variant;
  return result;
}

TEST(SharedCode, TheFirstStayAndWhatTheyHaveCompiledAnyway) {
  auto one = proposalsOf({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}, {"g", 1}});
  auto other = proposalsOf({{"f", 6}, {"h", 7}});
  Proposals* const both[] = {&one, &other};
  std::set<uint64_t> wanted;
  const auto leftOut = leaveOutUnshared(both, wanted);
  EXPECT_EQ(variantsOf(one), "abcdfg") << "e is its own; f is the other problem's, g the same code as a";
  EXPECT_EQ(variantsOf(other), "fh");
  ASSERT_EQ(leftOut.size(), 2);
  EXPECT_EQ(leftOut[0], std::set<std::string>{"cuda.some/e(linear)->(linear)"});
  EXPECT_TRUE(leftOut[1].empty());
  EXPECT_EQ(wanted, (std::set<uint64_t>{1, 2, 3, 4, 6, 7}));
}

TEST(SharedCode, WhatEarlierProblemsNeededIsThere) {
  std::set<uint64_t> wanted{5};
  auto one = proposalsOf({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}});
  Proposals* const all[] = {&one};
  leaveOutUnshared(all, wanted);
  EXPECT_EQ(variantsOf(one), "abcde");
}

TEST(SharedCode, EachFormatHasItsFirst) {
  auto one = proposalsOf({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5, Layout::kChannelsLast}, {"f", 6}});
  Proposals* const all[] = {&one};
  std::set<uint64_t> wanted;
  leaveOutUnshared(all, wanted);
  EXPECT_EQ(variantsOf(one), "abcde");
}

TEST(SharedCode, WhatCompilesNothingStays) {
  auto one = proposalsOf({{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}, {"e", 0}, {"f", 1}});
  Proposals none;
  Proposals* const all[] = {&one, &none};
  std::set<uint64_t> wanted;
  leaveOutUnshared(all, wanted);
  EXPECT_EQ(variantsOf(one), "abcde");
}

TEST(SharedCode, AllOfConvolutionsIsMeasured) {
  const auto isOrdered = [](const ops::Operator& op) { return ordersWell(Problem{op, {}, {}, {}}); };
  EXPECT_TRUE(isOrdered(ops::MatMul{}));
  EXPECT_FALSE(isOrdered(ops::Convolution{}));
  EXPECT_FALSE(isOrdered(ops::Deconvolution{}));
}

}  // namespace
}  // namespace tenon::compile
