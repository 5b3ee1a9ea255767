// Runs one item of work: copies, fills, functions, graphs.
#include "work.h"

#include <cstring>
#include <mutex>

#include "graph.h"
#include "memory.h"
#include "scheduler.h"

namespace tenon::hostcuda {
namespace {

unsigned char* at(const cudaPitchedPtr& pointer, const cudaPos& position) {
  return static_cast<unsigned char*>(pointer.ptr) + position.x +
         pointer.pitch * (position.y + pointer.ysize * position.z);
}

void run(const Copy& copy) {
  const cudaMemcpy3DParms& p = copy.params;
  const cudaExtent& extent = p.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return;
  unsigned char* destination = at(p.dstPtr, p.dstPos);
  const unsigned char* source = at(p.srcPtr, p.srcPos);
  const size_t destinationSlice = p.dstPtr.pitch * p.dstPtr.ysize;
  const size_t sourceSlice = p.srcPtr.pitch * p.srcPtr.ysize;
  for (size_t z = 0; z < extent.depth; ++z) {
    for (size_t y = 0; y < extent.height; ++y) {
      // Overlap is undefined in CUDA; memmove keeps the copy of a buffer onto itself harmless.
      std::memmove(destination + z * destinationSlice + y * p.dstPtr.pitch,
                   source + z * sourceSlice + y * p.srcPtr.pitch, extent.width);
    }
  }
}

template <class Element>
void fillRow(unsigned char* row, unsigned value, size_t count) {
  const auto element = static_cast<Element>(value);
  for (size_t i = 0; i < count; ++i) std::memcpy(row + i * sizeof(Element), &element, sizeof(Element));
}

void run(const Fill& fill) {
  const cudaMemsetParams& p = fill.params;
  for (size_t z = 0; z < fill.depth; ++z) {
    for (size_t y = 0; y < p.height; ++y) {
      unsigned char* row = static_cast<unsigned char*>(p.dst) + z * fill.slicePitch + y * p.pitch;
      if (p.elementSize == 1) std::memset(row, static_cast<int>(p.value), p.width);
      if (p.elementSize == 2) fillRow<uint16_t>(row, p.value, p.width);
      if (p.elementSize == 4) fillRow<uint32_t>(row, p.value, p.width);
    }
  }
}

void run(const Nothing&) {}
void run(const HostCall& call) { call.params.fn(call.params.userData); }
void run(const OwnCall& call) { call.task->run(call.task->arg); }
void run(const ChildGraph&) {}  // instantiation turns it into RunProgram
void run(const RunProgram& item) { runProgram(*item.program); }
void run(const AwaitEvent&) {}  // the launch waited for it
void run(const Allocate&) {}    // the memory lives as long as the graph
void run(const Deallocate&) {}
void run(const ReleaseMemory& item) { MemoryRegistry::instance().finishAsyncRelease(item.pointer); }

void run(const RecordEvent& item) {
  const Lock lock = Scheduler::instance().lock();
  if (item.event->recording == nullptr) return;
  item.event->recording->done = true;
  item.event->recording->time = Clock::now();
}

}  // namespace

void execute(const WorkItem& item) noexcept {
  std::visit([](const auto& work) { run(work); }, item);
}

bool callsUser(const WorkItem& item) noexcept {
  if (std::holds_alternative<HostCall>(item)) return true;
  if (const auto* own = std::get_if<OwnCall>(&item)) return own->task->isUser;
  if (const auto* program = std::get_if<RunProgram>(&item)) return programCallsUser(*program->program);
  return false;
}

cudaGraphNodeType nodeType(const WorkItem& item) noexcept {
  struct Visitor {
    cudaGraphNodeType operator()(const Nothing&) const { return cudaGraphNodeTypeEmpty; }
    cudaGraphNodeType operator()(const Copy&) const { return cudaGraphNodeTypeMemcpy; }
    cudaGraphNodeType operator()(const Fill&) const { return cudaGraphNodeTypeMemset; }
    cudaGraphNodeType operator()(const HostCall&) const { return cudaGraphNodeTypeHost; }
    cudaGraphNodeType operator()(const OwnCall&) const { return cudaGraphNodeTypeKernel; }
    cudaGraphNodeType operator()(const ChildGraph&) const { return cudaGraphNodeTypeGraph; }
    cudaGraphNodeType operator()(const RunProgram&) const { return cudaGraphNodeTypeGraph; }
    cudaGraphNodeType operator()(const RecordEvent&) const { return cudaGraphNodeTypeEventRecord; }
    cudaGraphNodeType operator()(const AwaitEvent&) const { return cudaGraphNodeTypeWaitEvent; }
    cudaGraphNodeType operator()(const Allocate&) const { return cudaGraphNodeTypeMemAlloc; }
    cudaGraphNodeType operator()(const Deallocate&) const { return cudaGraphNodeTypeMemFree; }
    cudaGraphNodeType operator()(const ReleaseMemory&) const { return cudaGraphNodeTypeMemFree; }
  };
  return std::visit(Visitor{}, item);
}

Copy linearCopy(void* destination, const void* source, size_t size, cudaMemcpyKind kind) noexcept {
  Copy copy{};
  copy.params.dstPtr = {destination, size, size, 1};
  copy.params.srcPtr = {const_cast<void*>(source), size, size, 1};
  copy.params.extent = {size, 1, 1};
  copy.params.kind = kind;
  return copy;
}

Fill linearFill(void* pointer, int value, size_t size) noexcept {
  return Fill{{pointer, size, static_cast<unsigned>(value), 1, size, 1}, 1, 0};
}

}  // namespace tenon::hostcuda
