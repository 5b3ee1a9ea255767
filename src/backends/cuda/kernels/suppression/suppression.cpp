// Sizes and launches: passes over all scores where more may be candidates than are looked at, a sort, a block per
// group.
#include "backends/cuda/kernels/suppression/suppression.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/driver/libraries.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

unsigned gridOf(int64_t blocks) {
  checkUser(blocks < int64_t{1} << 31, "suppression of boxes in {} blocks exceeds a grid", blocks);
  return static_cast<unsigned>(blocks);
}

}  // namespace

Suppression::Suppression(const Module& module)
    : digits_(module.function("tenon_suppression_digits")),
      collect_(module.function("tenon_suppression_collect")),
      greedy_(module.function("tenon_suppression_greedy")),
      sort_(module) {}

void Suppression::configure(const Dims& boxes, const Dims& scores, int64_t limit, bool isOneGroup, int64_t keep) {
  auto& p = parameters;
  p.items = scores[0];
  p.boxCount = scores[1];
  p.classes = scores[2];
  p.sets = boxes.rank == 4 ? boxes[2] : 1;
  p.pairs = p.boxCount * p.classes;
  if (p.pairs > std::numeric_limits<uint32_t>::max())
    throw Unsupported("suppression of boxes: {} pairs of box and class in a batch item; it takes 2^32 - 1", p.pairs);
  p.limit = std::min(limit, p.pairs);
  p.groups = isOneGroup ? 1 : p.classes;
  p.keptRoom = std::min({p.limit, isOneGroup ? p.pairs : p.boxCount, keep});
  constexpr int64_t kOfBlock = kSuppressionThreads * kSelectedOfThread;
  p.blocks = (p.pairs + kOfBlock - 1) / kOfBlock;
  p.capacity = sort_.configure(p.items, p.limit);
  spans_.clear();
  bytes_ = zeroed_ = 0;
}

void Suppression::placeAll() {
  auto& p = parameters;
  place(p.counts, 1, true);
  place(p.written, 1, true);
  place(p.flags, p.limit, true);
  place(p.histograms, selects() ? kSelectPasses * kSelectBins : 0, true);
  place(p.states, selects() ? kSelectPasses : 0, false);
  place(p.kept, p.groups * p.keptRoom, false);
  place(p.keys, p.capacity, false);
}

void Suppression::launchCandidates(const runtime::LaunchArguments& arguments) {
  auto& p = parameters;
  auto* const memory = static_cast<std::byte*>(arguments.workspace);
  for (const auto& span : spans_) *span.pointer = memory + span.offset;
  p.boxes = arguments.inputs[0];
  p.scores = arguments.inputs[1];
  if (p.items == 0) return;
  check(
      driver().memsetAsync(reinterpret_cast<CUdeviceptr>(memory), 0, zeroed_, static_cast<CUstream>(arguments.stream)),
      "cuMemsetD8Async");
  if (p.limit == 0) return;
  const unsigned grid = gridOf(p.items * p.blocks);
  if (selects()) {
    for (p.pass = 0; p.pass < kSelectPasses; ++p.pass)
      launchGrid(digits_, grid, 1, 1, kSuppressionThreads, &p, arguments.stream);
  }
  launchGrid(collect_, grid, 1, 1, kSuppressionThreads, &p, arguments.stream);
  sort_.launch(p.keys, p.counts, arguments.stream);
}

void Suppression::launchGreedy(void* stream) {
  const auto& p = parameters;
  if (p.items * p.groups * p.keptRoom == 0) return;
  launchGrid(greedy_, gridOf(p.items * p.groups), 1, 1, kSuppressionThreads, &parameters, stream);
}

}  // namespace tenon::backends::cuda
