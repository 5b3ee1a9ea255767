// A device as the runtime sees it: memory, streams, submission of work. Implemented by the half of a backend that has
// its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon::runtime {

// The cudaStream_t of the caller, opaque; null is the default stream.
using StreamHandle = void*;

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// Points in time on a stream, marked without waiting.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  virtual void mark(size_t index, StreamHandle stream) = 0;  // index below the count asked for; allocates nothing
  // Of two marks of work that is done.
  virtual double milliseconds(size_t from, size_t to) = 0;
};

// Thread-safe. Failures throw Error (allocation failure: OutOfMemory of core/error.h with the bytes asked for).
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string kind() const = 0;  // "cpu", "cuda"
  virtual std::string name() const = 0;
  // `requirement` as in plan::Target; false when it does not hold here.
  virtual bool meets(const std::string& requirement) const = 0;
  virtual std::vector<std::string> properties() const = 0;  // what this machine offers, in the form of requirements

  // Whether kernels work on host addresses: constants are then used where they are, and shape tensors need no memory
  // apart.
  virtual bool isHost() const = 0;

  virtual void* allocate(size_t bytes, size_t alignment) = 0;
  virtual void free(void* pointer) noexcept = 0;

  // Runs work(argument) so that its effects stand in the stream's order. A host device queues it on the stream (inline
  // when the stream is idle); `release(argument)`, if any, is called once when it will never run again (a captured
  // stream may run it many times). A device whose launches are asynchronous calls it at once. No allocation of ours.
  virtual void submit(StreamHandle stream, void (*work)(void*), void* argument, void (*release)(void*)) = 0;
  virtual void copy(void* to, const void* from, size_t bytes, CopyKind kind, StreamHandle stream) = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  virtual void recordEvent(void* event, StreamHandle stream) = 0;  // the caller's cudaEvent_t
  virtual std::unique_ptr<StepTimer> makeTimer(size_t marks) = 0;
  // Seconds that `work` takes on the device, measured once around one call on a private stream; for profilers.
  virtual double measure(void (*work)(void* argument, StreamHandle stream), void* argument) = 0;
};

}  // namespace tenon::runtime
