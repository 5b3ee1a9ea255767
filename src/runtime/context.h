// One execution state of an engine: shapes, addresses, working memory, kernels made ready for the shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"
#include "runtime/nvtx.h"

namespace tenon::runtime {

enum class MemoryStrategy : uint8_t {
  kStatic,           // enough for any profile, had once
  kOnProfileChange,  // enough for the chosen profile
  kUserManaged       // given by setMemory()
};

struct ContextOptions {
  MemoryStrategy strategy = MemoryStrategy::kStatic;
  int profile = 0;
};

// Used by one thread at a time. `io` indexes Engine::io(). Setters throw UserError that names the tensor, what was
// given and what is allowed, and change nothing then. The engine is kept alive. Work that is still on a stream when the
// context goes away finishes soundly where the context's own memory was used.
class Context {
 public:
  Context(std::shared_ptr<const Engine> engine, const ContextOptions& options, Log& log);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Engine& engine() const noexcept;
  int profile() const noexcept;
  // Forgets shapes and shape values (addresses stay). The stream orders the change of memory after earlier work.
  void setProfile(int profile, StreamHandle stream);

  // Addresses. The device's memory, host memory for shape tensors. Null unsets.
  void setAddress(int io, void* pointer);
  void* address(int io) const;
  void setInputShape(int io, const Dims& dims);  // within the profile's min and max
  // Values of an input that is a shape tensor, copied; without them they are read from the tensor's address.
  void setShapeValues(int io, std::span<const int64_t> values);

  // Computes all extents; returns the names of inputs whose shape, or whose values for shape tensors, are still
  // missing.
  std::vector<std::string> inferShapes();
  bool allShapesGiven();
  // The values of symbols that follow from the shapes given so far.
  const SymbolValues& symbols();
  // Extents of an input as set, of an output as they follow; -1 where not yet known.
  Dims shape(int io);
  // Bytes of a tensor for the shapes given; with shapes missing, for the largest ones of the profile.
  uint64_t tensorBytes(int io);

  // kUserManaged: memory of the device, aligned to 256 bytes, used by the work enqueued from now on.
  void setMemory(void* pointer, uint64_t bytes);
  // Device memory needed for the shapes given; with shapes missing, for any of the profile.
  uint64_t memoryBytes();

  void setOutputAllocator(int io, OutputAllocatorHook* allocator);  // null unsets
  OutputAllocatorHook* outputAllocator(int io) const;
  // An event of the caller (cudaEvent_t) that is recorded on the stream when the inputs may be written again.
  void setInputConsumedEvent(void* event);
  void* inputConsumedEvent() const noexcept;

  // With a profiler, every step is timed. `synchronous`: enqueue() waits and reports; else reportTimes() does, for the
  // last enqueue.
  void setProfiler(ProfilerHook* profiler);
  ProfilerHook* profiler() const noexcept;
  void setProfilerSynchronous(bool synchronous);
  bool profilerSynchronous() const noexcept;
  bool reportTimes();  // false when nothing was timed

  void setDebugHook(DebugHook* hook);
  DebugHook* debugHook() const noexcept;
  bool setDebugTensor(std::string_view tensor, bool on);  // false when there is no such marked tensor
  bool debugTensor(std::string_view tensor) const;
  void setAllDebugTensors(bool on);
  void setUnfusedDebugTensors(bool on);  // those that the network marked all at once
  bool unfusedDebugTensors() const noexcept;

  // Streams of the user (cudaStream_t) for independent steps, in the place of the context's own; those beyond
  // Engine::auxStreams() are not used, and missing ones are the context's. They stay the user's.
  void setAuxStreams(std::span<const StreamHandle> streams);

  // What tools that watch the program (NVTX) see of executions. With a tool attached and any detail, executions are
  // launched step by step instead of replayed, so that each layer's work stands in its range.
  void setRangeDetail(RangeDetail detail);

  // Puts one execution on the stream. Throws UserError naming inputs without shape or address, and for errors of
  // earlier work of this context that ran elsewhere. After the first call with given shapes, nothing of ours is
  // allocated. In a capturing stream the work becomes part of the graph with the addresses as they are now.
  void enqueue(StreamHandle stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::runtime
