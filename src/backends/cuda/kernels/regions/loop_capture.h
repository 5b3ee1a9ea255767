// A loop as a conditional node of the graph that a stream is captured to. All iterations are the same work at the same
// places: the device counts them, decides whether there is a next one, and moves what goes from one to the next.
#pragma once

#include "backends/cuda/driver/conditional_nodes.h"
#include "backends/cuda/driver/pinned_memory.h"
#include "backends/cuda/kernels/regions/decisions.h"
#include "backends/cuda/kernels/regions/loop_places.h"
#include "ops/op/loop.h"
#include "runtime/region_steps.h"

namespace tenon::backends::cuda {

class LoopCapture {
 public:
  // All of the instance that captures; `body` and `test` are configured with places.
  LoopCapture(const Module& module, const ops::Loop& loop, const LoopPlaces& places, runtime::RegionRun& body,
              runtime::RegionRun& test);
  ~LoopCapture();  // waits: work on some stream may still say what it found
  LoopCapture(const LoopCapture&) = delete;
  LoopCapture& operator=(const LoopCapture&) = delete;

  // Takes workspace from `at` on for what stands there beside the places; returns its end.
  size_t configure(size_t at);
  struct Count {
    std::optional<int64_t> known;  // else the loop's first operand says it, where there is a count
    DataType type = DataType::kI64;
  };
  // `regionsAt`: workspace of body and condition.
  void capture(const runtime::LaunchArguments& arguments, const Count& count, size_t regionsAt);
  void rethrow() const;

 private:
  // Workspace of one capture, and the operands of the regions.
  struct Run {
    const runtime::LaunchArguments& arguments;
    void* const* operands;  // of the regions, as the loop is given them
    void* regions;          // their workspace
    std::vector<void*> inputs;
    LoopState* loop;
    char* at(size_t offset) const { return static_cast<char*>(arguments.workspace) + offset; }
  };
  void begin(const Run& run, const Count& count);
  void iterate(const Run& run, void* stream, uint64_t handle);
  void handOn(const Run& run, std::span<void* const> results, void* stream);
  void decide(const Run& run, uint64_t handle, bool isFirst, void* stream);
  void finish(const Run& run);
  void copy(const Run& run, const void* from, void* to, size_t bytes, void* stream);
  void addPart(const Run& run, size_t part, const void* from, void* stream);
  void addSlice(const Run& run, size_t slice, bool isFirst, void* stream);
  // Parts that are put together behind the loop, because the first one's place is known then only.
  bool isTurned(size_t part) const;

  const ops::Loop& loop_;
  const LoopPlaces& places_;
  runtime::RegionRun& body_;
  runtime::RegionRun& test_;
  Decisions decisions_;
  BodyStream inner_;
  PinnedMemory fault_;
  bool captured_ = false;
  size_t loopAt_ = 0;
  std::vector<size_t> homesAt_;
  std::vector<size_t> slicesAt_;
  std::vector<std::optional<size_t>> copiesAt_;  // of states that become another state or a slice
};

}  // namespace tenon::backends::cuda
