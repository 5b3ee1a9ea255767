// The time of the passes grows with the number of layers and not with its square.
#include <gtest/gtest.h>
#include <time.h>

#include <functional>

#include "check_pass.h"

namespace tenon::passes {
namespace {

// Of this thread alone, so that a busy machine changes little.
double cpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

using Body = std::function<std::string(int)>;

double secondsOf(const graph::Graph& graph, const Options& options) {
  double best = 1e9;
  for (int i = 0; i < 2; ++i) {
    auto copy = graph;
    const double start = cpuSeconds();
    run(copy, options);
    best = std::min(best, cpuSeconds() - start);
  }
  return best;
}

// Ten times the layers take ten times the time, and a hundred times where something is quadratic.
void expectLinear(const std::string& what, const Body& body) {
  constexpr int kFew = 300;
  constexpr int kMany = 3000;
  constexpr double kMost = 35;
  const double few = secondsOf(graph::parse(body(kFew)), {});
  const double many = secondsOf(graph::parse(body(kMany)), {});
  EXPECT_LT(many, kMost * few) << what << ": " << kFew << " layers take " << few << " s, " << kMany << " take " << many;
}

// Statements `layer(i)` that compute %x<i + 1>, the last of which is the output.
Body chainOf(std::string type, std::function<std::string(int)> layer) {
  return [type = std::move(type), layer = std::move(layer)](int layers) {
    std::string text = "graph \"g\" {\n  input %x0 : " + type + "\n";
    for (int i = 0; i < layers; ++i) text += layer(i) + "\n";
    return text + fmt::format("  output %x{}\n}}\n", layers);
  };
}

// Branches %b<i> that read one input, joined along the channels.
Body branchesOf(std::string type, std::string joined, std::function<std::string(int)> branch) {
  return [=](int layers) {
    std::string text = "graph \"g\" {\n  input %x : " + type + "\n";
    std::string names;
    for (int i = 0; i < layers; ++i) {
      text += branch(i) + "\n";
      names += fmt::format("{}%b{}", i == 0 ? "" : ", ", i);
    }
    return text + fmt::format(fmt::runtime("  %y : " + joined + " = concat{{axis=1}}({}) \"y\"\n  output %y\n}}\n"),
                              2 * layers, names);
  };
}

std::string convolution(int i, const std::string& output, const std::string& input) {
  return fmt::format(
      "const %w{0} : f32[2,2,1,1] = random({0})\n{1} : f32[1,2,3,3] = convolution({2}, "
      "%w{0}) \"conv{0}\" from(\"conv{0}\")",
      i, output, input);
}

TEST(Scale, ChainOfConvolutions) {
  expectLinear("convolutions", chainOf("f32[1,2,3,3]", [](int i) {
                 return convolution(i, fmt::format("%x{}", i + 1), fmt::format("%x{}", i));
               }));
}

TEST(Scale, ChainOfConvolutionsAndActivations) {
  expectLinear("convolutions, relu", chainOf("f32[1,2,3,3]", [](int i) {
                 return convolution(i, fmt::format("%c{}", i), fmt::format("%x{}", i)) +
                        fmt::format("\n%x{} : f32[1,2,3,3] = pointwise{{expr=\"relu(x0)\"}}(%c{}) \"r{}\"", i + 1, i,
                                    i);
               }));
}

TEST(Scale, ChainOfScalarWork) {
  expectLinear("scalar work", chainOf("f32[2,3]", [](int i) {
                 return fmt::format("%x{} : f32[2,3] = pointwise{{expr=\"sin(x0)\"}}(%x{}) \"p{}\"", i + 1, i, i);
               }));
}

TEST(Scale, ChainThatReadsTheInputAgain) {
  expectLinear("sums with the input", chainOf("f32[2,3]", [](int i) {
                 return fmt::format("%x{} : f32[2,3] = pointwise{{expr=\"sin(x0);add(t0,x1)\"}}(%x{}, %x0) \"p{}\"",
                                    i + 1, i, i);
               }));
}

TEST(Scale, ChainOfSoftmaxAndSums) {
  expectLinear("softmax, sum", chainOf("f32[2,3]", [](int i) {
                 return fmt::format(
                     "%s{0} : f32[2,3] = softmax{{axis=1}}(%x{0}) \"s{0}\"\nconst %c{0} : f32[1] = {{{0}}}\n"
                     "%x{1} : f32[2,3] = pointwise{{expr=\"add(x0,x1)\"}}(%s{0}, %c{0}) \"a{0}\"",
                     i, i + 1);
               }));
}

TEST(Scale, ChainOfTransposesAndScalarWork) {
  expectLinear("transposes, scalar work", chainOf("f32[2,3,3]", [](int i) {
                 return fmt::format(
                     "%t{0} : f32[2,3,3] = transpose{{permutation=[0,2,1]}}(%x{0}) \"t{0}\"\n"
                     "%x{1} : f32[2,3,3] = pointwise{{expr=\"sin(x0)\"}}(%t{0}) \"p{0}\"",
                     i, i + 1);
               }));
}

TEST(Scale, BranchesOfOneInput) {
  expectLinear("branches", branchesOf("f32[1,2,3,3]", "f32[1,{},3,3]",
                                      [](int i) { return convolution(i, fmt::format("%b{}", i), "%x"); }));
}

TEST(Scale, ScalarBranchesOfOneInput) {
  expectLinear("scalar branches", branchesOf("f32[1,2,3,3]", "f32[1,{},3,3]", [](int i) {
                 return fmt::format("%b{0} : f32[1,2,3,3] = pointwise{{expr=\"add(x0,{0})\"}}(%x) \"p{0}\"", i);
               }));
}

TEST(Scale, PiecesOfOneInput) {
  expectLinear("slices", [](int layers) {
    std::string text = fmt::format("graph \"g\" {{\n  input %x : f32[1,{}]\n", layers);
    std::string names;
    for (int i = 0; i < layers; ++i) {
      text += fmt::format("%s{0} : f32[1,1] = slice{{start=[0,{0}] size=[1,1] stride=[1,1]}}(%x) \"s{0}\"\n", i);
      names += fmt::format("{}%s{}", i == 0 ? "" : ", ", i);
    }
    return text + fmt::format(
                      "%y : f32[1,{}] = concat{{axis=1}}({}) \"y\"\n%z : f32[1,{}] = pointwise{{expr=\"sin(x0)\"}}"
                      "(%y) \"z\"\noutput %z\n}}\n",
                      layers, names, layers);
  });
}

}  // namespace
}  // namespace tenon::passes
