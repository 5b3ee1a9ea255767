// What a stream or a graph node can do: one value type for both, so that capturing is keeping the value.
#pragma once

#include <memory>
#include <variant>

#include "driver_types.h"

namespace tenon::hostcuda {

struct Event;
struct Graph;
struct Program;
struct GraphAllocation;

// A function with its argument; gives the argument back when the last holder is gone.
struct Task {
  void (*run)(void*) = nullptr;
  void* arg = nullptr;
  void (*release)(void*) = nullptr;
  bool isUser = false;

  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (release != nullptr) release(arg);
  }
};

struct Nothing {};
struct Copy {
  cudaMemcpy3DParms params;
};
struct Fill {
  cudaMemsetParams params;
  size_t depth = 1;       // slices
  size_t slicePitch = 0;  // bytes from one slice to the next
};
struct HostCall {
  cudaHostNodeParams params;
};
struct OwnCall {
  std::shared_ptr<Task> task;
};
struct ChildGraph {
  std::shared_ptr<Graph> graph;
};
struct RunProgram {
  std::shared_ptr<const Program> program;
};
struct RecordEvent {
  std::shared_ptr<Event> event;
};
struct AwaitEvent {
  std::shared_ptr<Event> event;
};
struct Allocate {
  std::shared_ptr<GraphAllocation> allocation;
};
struct Deallocate {
  void* pointer;
};
struct ReleaseMemory {  // the stream's half of cudaFreeAsync
  void* pointer;
};

using WorkItem = std::variant<Nothing, Copy, Fill, HostCall, OwnCall, ChildGraph, RunProgram, RecordEvent, AwaitEvent,
                              Allocate, Deallocate, ReleaseMemory>;

// Called without any lock held.
void execute(const WorkItem& item) noexcept;
// Whether the item calls a function of the user, which must never run inside the enqueuing call.
bool callsUser(const WorkItem& item) noexcept;
cudaGraphNodeType nodeType(const WorkItem& item) noexcept;

// A copy of `size` bytes as the general three-dimensional description of it.
Copy linearCopy(void* destination, const void* source, size_t size, cudaMemcpyKind kind) noexcept;
Fill linearFill(void* pointer, int value, size_t size) noexcept;

}  // namespace tenon::hostcuda
