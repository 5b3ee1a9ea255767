// Host memory and hostcuda behind the interface of a device.
#include "runtime/host_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/platform/measured_call.h"
#include "core/platform/memory.h"
#include "core/platform/processor.h"
#include "core/platform/threads.h"
#include "runtime/device_capacity.h"
#include "runtime/disturbance.h"
#include "runtime/stream_facts.h"
#include "tenon/hostcuda.h"

namespace tenon::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using platform::Isa;

thread_local bool disturbed = false;  // the last measure() of the thread

constexpr size_t kLargePage = size_t{2} << 20;

hostcuda::StreamHandle streamOf(StreamHandle stream) { return static_cast<hostcuda::StreamHandle>(stream); }

void check(hostcuda::Status status, const char* what) {
  if (status == hostcuda::Status::kSuccess) return;
  if (status == hostcuda::Status::kInvalidResourceHandle)
    throw UserError("{}: the stream or event does not exist", what);
  if (status == hostcuda::Status::kStreamCaptureInvalidated)
    throw UserError("{}: the stream's capture was invalidated before", what);
  if (status == hostcuda::Status::kMemoryAllocation) throw OutOfMemory("{}: no memory", what);
  throw UserError("{}: failed with CUDA error {}", what, static_cast<int>(status));
}

class HostTimer final : public StepTimer {
 public:
  explicit HostTimer(size_t marks) : times_(marks) {}
  void mark(size_t index, StreamHandle) override { times_.at(index) = Clock::now(); }
  double milliseconds(size_t from, size_t to) override {
    return std::chrono::duration<double, std::milli>(times_.at(to) - times_.at(from)).count();
  }

 private:
  std::vector<Clock::time_point> times_;
};

class HostDevice final : public Device, public DeviceCapacity, public StreamFacts, public Disturbance {
 public:
  std::string kind() const override { return "cpu"; }
  std::string name() const override { return name_; }

  bool meets(const std::string& requirement) const override {
    const auto offered = properties();
    return std::find(offered.begin(), offered.end(), requirement) != offered.end();
  }

  std::vector<std::string> properties() const override {
    std::vector<std::string> result;
    for (const Isa isa : {Isa::kSse4, Isa::kAvx2, Isa::kAvx512}) {
      if (isa <= platform::bestIsa()) result.push_back(fmt::format("isa:{}", platform::name(isa)));
    }
    return result;
  }

  bool isHost() const override { return true; }
  uint64_t memoryBytes() const override { return platform::memoryBytes(); }

  // Not hostcuda's allocator: its free waits for all streams, and memory of finished work is freed on a stream's
  // thread.
  void* allocate(size_t bytes, size_t alignment) override {
    const bool large = bytes >= 2 * kLargePage;
    alignment = std::max(alignment, large ? kLargePage : size_t{64});
    void* memory =
        bytes > SIZE_MAX / 2
            ? nullptr
            : std::aligned_alloc(alignment, (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw OutOfMemory("cannot allocate {} bytes of host memory", bytes);
    if (large) platform::preferLargePages(memory, bytes);
    return memory;
  }
  void free(void* pointer) noexcept override { std::free(pointer); }

  void submit(StreamHandle stream, void (*work)(void*), void* argument, void (*release)(void*)) override {
    if (hostcuda::isHostMode()) {
      check(hostcuda::enqueue(streamOf(stream), work, argument, release, hostcuda::Kind::kOwn), "enqueue");
      return;
    }
    work(argument);
    if (release != nullptr) release(argument);
  }

  void copy(void* to, const void* from, size_t bytes, CopyKind, StreamHandle) override {
    if (bytes != 0) std::memmove(to, from, bytes);
  }

  void synchronize(StreamHandle stream) override {
    if (hostcuda::isHostMode()) check(hostcuda::streamSynchronize(streamOf(stream)), "synchronize");
  }

  void recordEvent(void* event, StreamHandle stream) override {
    if (hostcuda::isHostMode())
      check(hostcuda::eventRecord(static_cast<hostcuda::EventHandle>(event), streamOf(stream)), "record event");
  }

  bool isCapturing(StreamHandle stream) override {
    return hostcuda::isHostMode() && hostcuda::isCapturing(streamOf(stream));
  }
  uint64_t bytesBehind(const void* address) override {
    if (!hostcuda::isHostMode()) return UINT64_MAX;
    const auto info = hostcuda::pointerInfo(address);
    if (info.base == nullptr) return UINT64_MAX;  // memory of the program's own
    const auto* const base = static_cast<const std::byte*>(info.base);
    return info.size - static_cast<uint64_t>(static_cast<const std::byte*>(address) - base);
  }

  std::unique_ptr<StepTimer> makeTimer(size_t marks) override { return std::make_unique<HostTimer>(marks); }

  double measure(void (*work)(void* argument, StreamHandle stream), void* argument) override {
    const platform::RunningThread running;  // as many threads as an execution would have
    struct Call {
      void (*work)(void* argument, StreamHandle stream);
      void* argument;
    } call{work, argument};
    const auto time = platform::measureCall(
        [](void* given) {
          const auto* const c = static_cast<const Call*>(given);
          c->work(c->argument, nullptr);
        },
        &call);
    disturbed = time.isDisturbed;
    return time.seconds;
  }
  bool wasDisturbed() const override { return disturbed; }

 private:
  const std::string name_ = platform::processorName();
};

}  // namespace

Device& hostDevice() {
  static auto* const kDevice = new HostDevice;  // outlives everything that exit handlers destroy
  return *kDevice;
}

}  // namespace tenon::runtime
