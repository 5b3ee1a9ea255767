// Candidates and types of problems.
#include "backends/cuda/build/tactic_util.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "backends/cuda/run/compiler.h"
#include "backends/cuda/run/cuda_device.h"
#include "core/error.h"

namespace tenon::backends::cuda {

build::Candidate linearCandidate(std::string_view tactic, const build::Problem& problem) {
  return {std::string(tactic), "", std::vector<Format>(problem.inputs.size(), Format::kLinear),
          std::vector<Format>(problem.outputs.size(), Format::kLinear)};
}

build::Candidate channelsLastCandidate(std::string_view tactic, const build::Problem& problem) {
  build::Candidate candidate{std::string(tactic), "", {}, {}};
  const auto format = [](int rank) { return rank >= 4 && rank <= 5 ? Format::kChannelsLast : Format::kLinear; };
  for (const auto& input : problem.inputs) candidate.inputs.push_back(input.constant != nullptr ? Format::kLinear : format(input.dims.rank));
  for (const auto& output : problem.outputs) candidate.outputs.push_back(format(output.dims.rank));
  return candidate;
}

void compileAhead(std::vector<std::string> sources) {
  constexpr size_t kMostThreads = 8;
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      try {
        compile(sources[i], computeCapability());
      } catch (const Error&) {
        // The candidate's measurement will say so.
      }
    }
  };
  std::vector<std::thread> threads;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 1; i < std::min({sources.size(), cores, kMostThreads}); ++i) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
}

std::vector<DataType> inputTypes(const build::Problem& problem) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

}  // namespace tenon::backends::cuda
