// By reading as much as the last cache holds.
#include "compile/tune/cold_weights.h"

#include <algorithm>
#include <set>

#include "core/platform/processor.h"
#include "core/platform/threads.h"

namespace tenon::compile {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kMostRead = size_t{64} << 20;  // reading more would take longer than what is measured

// Not left out by the compiler.
void readLines(const std::byte* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kLine) static_cast<void>(*static_cast<const volatile std::byte*>(from + at));
}

}  // namespace

bool weightsLeaveCaches(const graph::Graph& graph) {
  std::set<const graph::Constant*> seen;
  size_t bytes = 0;
  for (const auto id : graph.order()) {
    for (const auto input : graph.node(id).inputs) {
      const auto& constant = graph.value(input).constant;
      if (constant != nullptr && seen.insert(constant.get()).second) bytes += constant->view().bytes();
    }
  }
  return bytes > platform::sharedCacheBytes();
}

bool hasColdWeights(const Problem& problem) {
  constexpr size_t kSmallPart = 16;
  size_t most = 0;
  for (const auto& input : problem.inputs) {
    if (input.constant != nullptr) most = std::max(most, static_cast<size_t>(input.constant->view().bytes()));
  }
  const size_t cache = platform::sharedCacheBytes();
  return cache <= kMostRead && most >= cache / kSmallPart && most <= 2 * cache;
}

void ColdCaches::prepare(std::span<const std::span<const std::byte>> activations) {
  other_.resize(platform::sharedCacheBytes());
  const platform::RunningThread running;
  const int64_t threads = platform::teamSize();
  const auto readParts = [&](std::span<const std::byte> all) {
    platform::parallelPieces(threads, threads, threads, [&](int64_t begin, int64_t end) {
      const auto at = [&](int64_t part) {
        return all.size() * static_cast<size_t>(part) / static_cast<size_t>(threads);
      };
      readLines(all.data() + at(begin), at(end) - at(begin));
    });
  };
  readParts(other_);
  for (const auto& part : activations) readParts(part);
}

}  // namespace tenon::compile
