// One enqueued execution: addresses as they were at the time of the call. A packet may run on another thread, later, or
// many times (a captured graph); it keeps alive all that it uses and returns to its context's pool when released.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ops/random_draws.h"
#include "runtime/binding.h"
#include "runtime/branching.h"
#include "runtime/nvtx.h"
#include "runtime/recording.h"
#include "runtime/thread_choice.h"

namespace tenon::runtime {

// The first error of work that ran away from the call that enqueued it.
class ErrorSlot {
 public:
  void set(std::exception_ptr error) noexcept;
  void rethrow();  // throws it, if there is one, and forgets it

 private:
  std::atomic<bool> present_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

class PacketPool;

// Steps from `first` to before `last`: replayed, or launched one by one where nothing is recorded.
struct StepRun {
  size_t first = 0, last = 0;
  std::unique_ptr<Recording> recording;
};

class Packet {
 public:
  // What an execution uses. `memory` is null when the user manages it.
  struct Setup {
    std::shared_ptr<Binding> binding;
    std::shared_ptr<const DeviceMemory> memory;
    const ArenaLayout* layout = nullptr;
    void* arena = nullptr;
    std::span<void* const> addresses;  // by io
    uint64_t version = 0;              // changes with any of the above
  };

  static void run(void* packet);                          // for Device::submit
  static void record(void* packet, StreamHandle stream);  // for Device::record; throws what goes wrong
  struct RunToRecord {
    Packet* packet;
    size_t first, last;
  };
  static void recordRun(void* run, StreamHandle stream);  // the same of some of its steps
  static void release(void* packet);

  StreamHandle stream = nullptr;
  int32_t phase = 0;  // of the program: its steps are executed
  bool timed = false;
  DebugHook* debug = nullptr;
  std::vector<uint8_t> debugOn;                // by tensor; read when debug is set
  const memory::Branches* branches = nullptr;  // of the binding; null: all on one stream
  const std::vector<StepRun>* runs = nullptr;  // all its steps; null: they are launched one by one
  StreamSet* streams = nullptr;  // of the context, beside `stream`; outlives what is recorded or submitted at once
  std::span<const StreamHandle> givenStreams;  // the caller's in the place of the first ones of those
  std::shared_ptr<const RangeTexts> ranges;    // for the tool that is attached; null: no ranges
  Log* log = nullptr;
  std::shared_ptr<ErrorSlot> errors;

 private:
  friend class PacketPool;
  void prepare(const Setup& setup);  // cheap when the version is the one of the last time
  void execute();
  void executeAll();
  void executeBranches();
  void executeRuns();
  void executeStep(size_t step, StreamHandle on);
  void showOutputs(const plan::Step& step);

  std::shared_ptr<PacketPool> pool_;  // while in flight
  std::shared_ptr<Binding> binding_;
  std::shared_ptr<const DeviceMemory> memory_;
  uint64_t version_ = 0;
  std::vector<void*> addresses_;   // by tensor
  std::vector<void*> operands_;    // inputs, then outputs of each step
  std::vector<size_t> first_;      // where a step's operands begin
  std::vector<void*> workspaces_;  // by step
  ThreadChoice threads_;           // of a host's executions
};

// Packets of one context. Thread-safe.
class PacketPool : public std::enable_shared_from_this<PacketPool> {
 public:
  Packet& acquire(const Packet::Setup& setup);  // in flight until released
  // Lets go of what packets that rest remember of earlier shapes and memory.
  void forget();

 private:
  friend class Packet;
  Packet& takeResting();
  void giveBack(Packet& packet);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Packet>> all_;
  std::vector<Packet*> resting_;
  ops::Draws draws_;  // of the context's random operators
};

}  // namespace tenon::runtime
