// Launches of the kernels by which a GPU decides about loops and conditionals in a graph (decision.cu).
#pragma once

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/regions/decision_parameters.h"

namespace tenon::backends::cuda {

Code decisionCode();

// Null where no kernels of a GPU can decide here, because the driver has no conditional nodes or refuses the code, or
// because there is no NVRTC.
const Module* decisionModule();

class Decisions {
 public:
  explicit Decisions(const Module& module);
  void begin(LoopBegin parameters, void* stream);
  void decide(LoopDecision parameters, void* stream);
  void decide(BranchDecision parameters, void* stream);
  // Copies that depend on the loop's iteration, collected: launched when told to, or when there are many.
  void add(Turn turn, const LoopState* loop, void* stream);
  void turn(void* stream);

 private:
  CUfunction begin_;
  CUfunction ofLoop_;
  CUfunction ofBranch_;
  CUfunction turn_;
  TurnParameters turns_;
  unsigned count_ = 0;
  int64_t most_ = 0;  // units of a move
};

}  // namespace tenon::backends::cuda
