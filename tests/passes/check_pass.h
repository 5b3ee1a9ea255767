// Runs passes on graph texts and compares values before and after: what the tests of passes share.
#pragma once

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"
#include "passes/rounding.h"
#include "support/build_and_run.h"

namespace tenon::passes {

// Sets an environment variable for a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedVariable() { unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

inline int runPass(std::string_view name, graph::Graph& graph, const Options& options = {}) {
  for (const auto& pass : pipeline()) {
    if (pass.name == name) return runPass(pass, graph, options);
  }
  throw InternalError("there is no pass '{}'", name);
}

// Random inputs of a graph whose symbols all have one value.
inline std::vector<HostTensor> randomInputs(const graph::Graph& graph, int64_t extent, uint64_t seed) {
  std::vector<HostTensor> inputs;
  for (const auto id : graph.inputs()) {
    const auto& type = graph.value(id).type;
    std::set<std::string> names;
    for (const auto& e : type.shape) e.collectSymbols(names);
    SymbolValues symbols;
    for (const auto& name : names) symbols.emplace(name, extent);
    inputs.push_back(test::randomTensor(type.dtype, evaluate(type.shape, symbols), ++seed));
  }
  return inputs;
}

// Results beside expected ones. What is off by more than the tolerance may still be no more off than rounding makes it:
// then the noise that a unit in the last place of each value brings, times `noises`, is the bound.
inline void expectClose(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                        const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected, double tolerance,
                        double noises, const std::string& trace, DataType narrow = DataType::kF32) {
  ASSERT_EQ(got.size(), expected.size());
  std::vector<double> noise;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].view().dims, expected[i].view().dims) << got[i].view().dims.text();
    const double error = test::relativeError(got[i].view(), expected[i].view());
    if (error <= tolerance) continue;
    if (noise.empty()) noise = noiseOfOutputs(graph, test::views(inputs), expected, 4, narrow);
    // One element may stay the same four times though its last place decides, as that of 1 - tanh(x) does.
    constexpr uint64_t kManyTimes = 64;
    const double unit = narrowestUnit(graph, narrow);
    if (error > noises * noise[i] + unit)
      noise = noiseOfOutputs(graph, test::views(inputs), expected, kManyTimes, narrow);
    EXPECT_LE(error, noises * noise[i] + unit) << "output " << i << " (noise " << noise[i] << ") of\n"
                                               << graph::text(graph) << trace;
  }
}

inline void expectSameValues(const graph::Graph& before, const graph::Graph& after, uint64_t seed = 1) {
  const auto inputs = randomInputs(before, 2, seed);
  const auto expected = graph::evaluate(before, test::views(inputs));
  expectClose(before, inputs, graph::evaluate(after, test::views(inputs)), expected, 1e-5, 30,
              "after\n" + graph::text(after));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(before.outputName(i), after.outputName(i));
}

// The operators in order, as one line: "convolution pointwise".
inline std::string operators(const graph::Graph& graph) {
  std::string result;
  for (const auto id : graph.order()) result += (result.empty() ? "" : " ") + std::string(graph.node(id).op.name());
  return result;
}

// One pass on a body of statements: the operators that are left, values as before, nothing left to do.
inline graph::Graph expectPass(std::string_view pass, const std::string& body, const std::string& left,
                               const Options& options = {}) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  runPass(pass, after, options);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << pass << " made\n" << graph::text(after);
  expectSameValues(before, after);
  const auto once = graph::text(after);
  EXPECT_EQ(runPass(pass, after, options), 0) << pass << " found more to do in\n" << once;
  EXPECT_EQ(graph::text(after), once);
  return after;
}

}  // namespace tenon::passes
