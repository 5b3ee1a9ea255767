// One operator of any type through a build, by the kernel that is asked for, beside its reference.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "support/build_and_run.h"

namespace tenon::test {

// Integers of any size, floating values around 0; where `special`, infinities and NaN among them.
inline HostTensor variedTensor(DataType type, const Dims& dims, uint64_t seed, bool special = false) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw(0, 2);
  constexpr double kSpecial[] = {INFINITY, -INFINITY, NAN, -0., 0.};
  for (int64_t i = 0; i < dims.count(); ++i) {
    const uint64_t bits = random();
    if (!isFloating(type)) {
      tensor.view().storeInt(i, static_cast<int64_t>(random()) >> (bits % 64));
    } else {
      tensor.view().storeDouble(i,
                                special && bits % 16 == 0 ? kSpecial[bits / 16 % std::size(kSpecial)] : draw(random));
    }
  }
  return tensor;
}

// Tensors cannot be copied, as a list in braces would.
template <typename... Tensors>
std::vector<HostTensor> listOf(Tensors&&... tensors) {
  std::vector<HostTensor> result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

// As graphs are written: [2,3].
inline std::string shapeText(const Dims& dims) {
  std::string result;
  for (const int64_t extent : dims) result += fmt::format("{}{}", result.empty() ? "" : ",", extent);
  return "[" + result + "]";
}

inline double toleranceOf(DataType type) {
  if (!isFloating(type)) return 0;
  return type == DataType::kF32 ? 2e-6 : (type == DataType::kF16 ? 2e-3 : 1.6e-2);
}

// A graph of inputs %a, %b, ... of the given types and the lines that make %y (and %z); only `tactic` is a candidate of
// operators named `op`.
inline void expectKernelMatches(const std::string& lines, const std::vector<HostTensor>& inputs, const std::string& op,
                                const std::string& tactic, double tolerance) {
  std::string text = "graph \"g\" {\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += fmt::format("  input %{} : {}{}\n", static_cast<char>('a' + i), name(inputs[i].view().dtype),
                        shapeText(inputs[i].view().dims));
  }
  text += lines + "  output %y\n" + (lines.find("%z :") == std::string::npos ? "" : "  output %z\n") + "}";
  SCOPED_TRACE(text);
  bool offered = false;
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != op) return candidates;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
    offered = offered || !candidates.empty();
    return candidates;
  };
  expectMatchesReference(graph::parse(text), inputs, options, tolerance);
  EXPECT_TRUE(offered);
}

}  // namespace tenon::test
