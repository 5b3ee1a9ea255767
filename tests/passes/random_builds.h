// What builds of random graphs have in common, whatever device they are for.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "passes/check_pass.h"

namespace tenon::passes {

inline uint64_t variable(const char* name, uint64_t otherwise) {
  const char* wanted = std::getenv(name);
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

inline bool isTraced() { return std::getenv("TENON_RANDOM_TRACE") != nullptr; }

// Notes whether the seed's check left a failure that the seeds before it had not.
class Failures {
 public:
  void note(uint64_t seed) {
    const int now = ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    if (now > seen_) fmt::print("failed {}\n", seed);
    failed_ += now > seen_ ? 1 : 0;
    seen_ = now;
  }
  bool tooMany() const { return failed_ >= (isTraced() ? 1000 : 3); }

 private:
  int seen_ = 0;
  int failed_ = 0;
};

// One of the candidates of each node, by the seed and the node's name.
inline decltype(compile::BuildOptions::filter) anyCandidate(uint64_t seed) {
  return [seed](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (candidates.size() < 2) return candidates;
    const uint64_t choice = hashBytes(node.name, seed) % candidates.size();
    return std::vector<compile::Candidate>{candidates[choice]};
  };
}

// Candidates at random may have formats that nothing changes into each other; then the choice is the build's.
inline plan::Plan buildIfPossible(const graph::Graph& graph, compile::BuildOptions& options) {
  try {
    return compile::build(graph, options);
  } catch (const Error& error) {
    const bool isFormats = std::string_view(error.what()).find("no assignment of layouts") != std::string_view::npos;
    if (options.filter == nullptr || !isFormats) throw;
    options.filter = nullptr;
    return compile::build(graph, options);
  }
}

// oneDNN's relu makes 0 of NaN, the reference keeps it: where NaN is expected (behind an average of nothing) any number
// will do.
inline void allowNumbersForNaN(const std::vector<HostTensor>& expected, std::vector<HostTensor>& got) {
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const auto wanted = expected[i].view();
    const auto have = got[i].view();
    if (!isFloating(wanted.dtype) || wanted.dims != have.dims) continue;
    for (int64_t at = 0; at < wanted.count(); ++at) {
      if (std::isnan(wanted.loadDouble(at))) have.storeDouble(at, wanted.loadDouble(at));
    }
  }
}

// Symbols of the first input may be 1 to 4, and are tuned for what they are.
inline std::vector<std::map<std::string, plan::InputRange>> profilesOf(const graph::Graph& graph,
                                                                       const std::vector<HostTensor>& inputs) {
  const auto& shape = graph.value(graph.inputs()[0]).type.shape;
  if (isConstant(shape)) return {};
  plan::InputRange range;
  range.min = range.opt = range.max = inputs[0].view().dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].isConstant()) continue;
    range.min[static_cast<int>(i)] = 1;
    range.max[static_cast<int>(i)] = 4;
  }
  return {{{"x", range}}};
}

}  // namespace tenon::passes
