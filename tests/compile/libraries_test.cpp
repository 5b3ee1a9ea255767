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

compile::Option library(const std::string& tactic, double seconds, double own) {
  auto result = option(tactic, seconds);
  if (own > 0) result.own.push_back(option("cuda.mma90_matmul", own));
  result.rivals = {option("cuda.cublaslt_matmul", seconds), option("cuda.direct_matmul", seconds)};
  return result;
}

// The libraries that are called afterwards, and those of rivals in brackets.
std::string librariesOf(std::vector<compile::Option> options, double seconds) {
  std::vector<compile::Option*> pointers;
  for (auto& one : options) pointers.push_back(&one);
  RecordingLog log;
  compile::leaveLibraries(pointers, seconds, log);
  std::string result;
  const auto libraryOf = [](const compile::Option& one) {
    const auto& tactic = one.candidate.tactic;
    return compile::callsVendor(tactic) ? tactic.substr(5, tactic.find('_') - 5) : std::string();
  };
  for (const auto& one : options) {
    result += libraryOf(one);
    for (const auto& rival : one.rivals) {
      if (compile::callsVendor(rival.candidate.tactic)) result += "(" + libraryOf(rival) + ")";
    }
  }
  return result;
}

TEST(Libraries, AreLeftWhereTheyHardlyPay) {
  const auto plain = option("cuda.softmax", 1);
  const auto blas = [](double own) { return library("cuda.cublaslt_matmul", 1, own); };
  const auto dnn = [](double own) { return library("cuda.cudnn_convolution", 2, own); };
  EXPECT_EQ(librariesOf({blas(1.01), blas(1.009), plain}, 4), "");
  EXPECT_EQ(librariesOf({blas(1.01), blas(1.02), plain}, 4), "cublaslt(cublaslt)cublaslt(cublaslt)")
      << "more than half a per cent together";
  EXPECT_EQ(librariesOf({blas(1.01), blas(0), plain}, 4), "cublaslt(cublaslt)cublaslt(cublaslt)") << "one needs it";
  EXPECT_EQ(librariesOf({dnn(2.01), blas(1.2), plain}, 4), "cublaslt(cublaslt)") << "each by itself";
  EXPECT_EQ(librariesOf({dnn(2.2), blas(1.01), plain}, 4), "cudnn") << "rivals neither";
  EXPECT_EQ(librariesOf({dnn(2.012), blas(1.012), plain}, 4), "cublaslt(cublaslt)")
      << "one of them for half a per cent";
  auto rivals = plain;
  rivals.rivals = {option("cuda.cudnn_convolution", 1), plain};
  EXPECT_EQ(librariesOf({rivals, plain}, 4), "") << "nobody chose it";
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
