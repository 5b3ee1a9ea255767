// Lifetimes to offsets: a pure function that the builder calls for upper bounds and the runtime for given shapes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::memory {

// Memory that is in use from firstStep to lastStep, both included. Memory shared by intent (views, results in the place
// of inputs) is one block.
struct Block {
  int32_t firstStep = 0;
  int32_t lastStep = 0;
  uint64_t bytes = 0;
  uint64_t alignment = 64;  // a power of two
};

struct Layout {
  std::vector<uint64_t> offsets;  // of each block, from an address aligned to the largest alignment
  uint64_t bytes = 0;             // of the whole arena
};

// Blocks that live at the same time never overlap. The same blocks give the same layout. Throws UserError for a
// lifetime that ends before it begins, an alignment that is no power of two, and sizes beyond 2^62 in sum.
enum class Effort : uint8_t {
  kQuick,    // for shapes that change at run time
  kThorough  // within 5 % of the lower bound for lifetimes like those of networks, 10 % for random ones; below a second
};
Layout layout(std::span<const Block> blocks, Effort effort = Effort::kThorough);

// No layout is smaller: the most bytes that live in one step.
uint64_t lowerBound(std::span<const Block> blocks);

}  // namespace tenon::memory
