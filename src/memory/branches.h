// Which steps of a program may run concurrently on several streams: a pure function of what they read and write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::memory {

// Bytes that a step touches. Spaces are apart from each other: the arena is one, each input and output of the user is
// one.
struct Access {
  int32_t space = 0;
  uint64_t begin = 0;
  uint64_t end = 0;  // behind the last byte
  bool writes = false;
};

struct BranchStep {
  std::vector<Access> accesses;
  std::vector<int32_t> needs;  // earlier steps whose results it reads
};

// Stream 0 is the caller's; the others begin behind what the caller has put there before, and end before what follows.
struct PlacedStep {
  int32_t stream = 0;
  std::vector<int32_t> waits;  // steps of other streams that must have ended
  bool waitsForStart = false;  // the first of its stream, and nothing else says that the execution has begun
  bool isWaitedFor = false;
};

struct Branches {
  std::vector<PlacedStep> steps;
  std::vector<int32_t> joins;  // steps of other streams that the end of the execution waits for
  int32_t streams = 1;         // in use
  // By step: the last one that may begin before it has ended; itself where all later ones wait for it.
  std::vector<int32_t> lastBeside;
};

// On at most `streams` streams. In whatever order streams go on, each step finds what it would find if all ran one
// after another: steps that touch the same bytes, one of them writing, keep their order. A step goes on where a step
// stands whose result it reads, else where nothing is left to wait for. The same arguments give the same result.
Branches branch(std::span<const BranchStep> steps, int32_t streams);

}  // namespace tenon::memory
