// Where the values of a loop stand: what both ways of running it go by.
#pragma once

#include <optional>
#include <vector>

#include "backends/cuda/kernels/regions/moves.h"
#include "ops/op/loop.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

struct LoopPlaces {
  // A tensor along whose axis the iterations go: sliced, or made of parts.
  struct Sequence {
    runtime::TensorShape shape;
    Slices slices;
    bool reverse = false;
    bool apart = false;  // its slices stand in the workspace, because they are no addresses that kernels take
    size_t at = 0;       // there
    size_t pitch = 0;    // bytes from slice to slice
  };
  struct State {
    size_t bytes = 0;
    bool copies = false;  // it becomes what another state is, which that one's next value may overwrite
    size_t at = 0;        // of a copy, in the workspace
    void* now = nullptr;
  };
  // Where a result of the body goes: it is part of a result of the loop, or has two places in turn.
  struct Home {
    size_t root = 0;
    std::optional<size_t> part;
    size_t state = 0;  // without a part: one place is the result of this state
    size_t at = 0;     // and the other one in the workspace
  };
  std::vector<State> states;
  std::vector<Sequence> sliced;
  std::vector<Sequence> parts;
  std::vector<Home> homes;
  int64_t limit = ops::mostIterations();  // of any loop

  void clear() { *this = {}; }
  // Iterations that there are slices and parts for.
  int64_t mostIterations() const;
  // UserError where there are none for iteration k.
  void checkIteration(int64_t k) const;
};

}  // namespace tenon::backends::cuda
