// A program made ready for concrete extents: sizes of all tensors, configured kernel instances, memory layout.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "memory/branches.h"
#include "plan/phases.h"
#include "runtime/device_memory.h"
#include "runtime/engine.h"

namespace tenon::runtime {

// Where tensors and workspaces stand in the arena.
struct ArenaLayout {
  std::vector<uint64_t> tensors;     // offset by tensor; meaningful for arena storage
  std::vector<uint64_t> workspaces;  // offset by step
  uint64_t bytes = 0;
};

class Control;

// Used by packets that may run on other threads: changed only while none is in flight.
class Binding {
 public:
  Binding(std::shared_ptr<const Engine> engine, int profile);

  // Throws UserError when extents are impossible or exceed what the plan was built for. Of a program of several phases
  // the first one is made ready.
  void configure(const SymbolValues& symbols);
  // A later phase, with the sizes that are known then. False: it was ready for them.
  bool configureNext(int32_t phase, const SymbolValues& symbols);
  const plan::ProgramPhases& phases() const;
  bool isFor(const SymbolValues& symbols) const { return configured_ && symbols_ == symbols; }

  const Engine& engine() const noexcept { return *engine_; }
  const plan::Program& program() const noexcept { return program_; }
  size_t programIndex() const noexcept { return programIndex_; }
  const Dims& dims(int32_t tensor) const { return shapes_[static_cast<size_t>(tensor)].dims; }
  uint64_t bytes(int32_t tensor) const { return bytes_[static_cast<size_t>(tensor)]; }
  // Which of a step's kernels the extents ask for: as plan::kernelFor() says it.
  int32_t kernelOf(size_t step) const { return kernelOf_[step]; }
  KernelInstance* instance(size_t step) const {
    const int32_t which = kernelOf_[step];
    return which < 0 ? instances_[step].get() : others_[step][static_cast<size_t>(which)].get();
  }
  // What a step's kernel is configured for.
  struct StepShapes {
    std::vector<TensorShape> inputs;
    std::vector<TensorShape> outputs;
  };
  StepShapes shapesOf(const plan::Step& step) const;
  bool skipped(size_t step) const { return skipped_[step] != 0; }
  // The first step of those that are ready whose kernel waits for the stream (control.h); -1: none.
  int32_t waitingStep() const noexcept { return waitingStep_; }
  // Whether values that the device computes decide what a step runs.
  bool isDecidedByDevice() const;
  // Throws what captured work of an execution before found wrong (control.h).
  void rethrow() const;
  int32_t base(int32_t tensor) const;
  uint64_t viewOffset(int32_t tensor) const { return viewOffsets_[static_cast<size_t>(tensor)]; }  // within its base
  // Where a tensor stands; null where the user has given no address. `addresses`: by io.
  void* addressOf(int32_t tensor, void* arena, const ArenaLayout& layout, std::span<void* const> addresses) const;

  const ArenaLayout& planned() const noexcept { return planned_; }
  const ArenaLayout& compact();  // laid out anew for these extents; of programs with one phase
  // Which streams the steps run on with one of the two layouts; null: all on the caller's.
  const memory::Branches* branches(const ArenaLayout& layout);
  // Workspace beyond the arena's, where a kernel needs more here than when the plan was built; null elsewhere.
  void* extraWorkspace(size_t step) const {
    return workspaceBytes_[step] > program_.steps[step].workspaceBytes ? extraWorkspace_.data() : nullptr;
  }
  uint64_t workspaceBytes(size_t step) const { return workspaceBytes_[step]; }
  // Host memory of a shape tensor of a device that is not the host.
  void* hostAddress(int32_t tensor) const {
    return static_cast<std::byte*>(hostArena_.data()) + hostOffsets_[static_cast<size_t>(tensor)];
  }
  bool inHostArena(int32_t tensor) const;

  StepTimer& timer();  // marks: before each step and at the end of each phase, so that step i of phase p has mark i + p

  std::atomic<int> inFlight{0};

 private:
  void configurePhase(int32_t phase);
  void measureTensors(int32_t phase);
  void measureTensor(size_t tensor);
  void layOutgrown(int32_t phase);
  std::string inputShapes() const;  // for messages
  void placeView(size_t tensor);
  uint64_t reach(size_t tensor) const;
  void checkCapacity(size_t tensor) const;
  void chooseKernels(size_t first, size_t last);
  void prepareSteps(size_t first, size_t last);
  void configureStep(size_t step);
  bool isMade(size_t step, const StepShapes& shapes) const;
  void findControls(size_t end);
  void layHostArena();
  memory::Branches findBranches(const ArenaLayout& layout) const;

  std::shared_ptr<const Engine> engine_;
  const plan::Program& program_;
  const size_t programIndex_;
  bool configured_ = false;
  SymbolValues symbols_;  // given by the inputs
  SymbolValues values_;   // these and the sizes of the phases that are ready
  int32_t readyPhases_ = 0;
  int32_t waitingStep_ = -1;
  std::vector<const Control*> controls_;
  std::vector<TensorShape> shapes_;  // by tensor
  std::vector<uint64_t> bytes_;
  std::vector<uint64_t> viewOffsets_;
  std::vector<std::unique_ptr<KernelInstance>> instances_;            // by step
  std::vector<std::vector<std::unique_ptr<KernelInstance>>> others_;  // by step, made when they are chosen first
  std::vector<int32_t> kernelOf_;                                     // by step
  // What an instance was made ready for; no values where it was not, or failed.
  struct Made {
    StepShapes shapes;
    std::shared_ptr<const SymbolValues> values;
  };
  std::vector<Made> made_;  // by step
  std::shared_ptr<const SymbolValues> valuesNow_;
  mutable std::vector<std::optional<std::set<std::string>>> readSymbols_;  // by step: those of its operator, once asked
  std::vector<uint8_t> skipped_;
  std::vector<uint64_t> workspaceBytes_;
  DeviceMemory extraWorkspace_;
  std::vector<void*> outgrown_;  // by tensor: where it stands instead of the arena; null elsewhere
  std::vector<uint64_t> outgrownBytes_;
  std::vector<DeviceMemory> outgrownMemory_;  // by phase
  bool isOpen_ = false;                       // whether a size has no bound
  DeviceMemory hostArena_;
  std::vector<uint64_t> hostOffsets_;
  ArenaLayout planned_;
  ArenaLayout compact_;
  bool compactKnown_ = false;
  struct KnownBranches {
    bool known = false;
    memory::Branches branches;
  };
  KnownBranches plannedBranches_;
  KnownBranches compactBranches_;
  std::unique_ptr<StepTimer> timer_;
};

}  // namespace tenon::runtime
