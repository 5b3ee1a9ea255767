// What a context holds; its functions are in context.cpp (settings) and context_enqueue.cpp (execution).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/binding.h"
#include "runtime/context.h"
#include "runtime/packet.h"
#include "runtime/replays.h"
#include "runtime/shapes.h"

namespace tenon::runtime {

struct Context::State {
  State(std::shared_ptr<const Engine> itsEngine, const ContextOptions& options, Log& itsLog);

  const plan::Io& io(int index) const;  // UserError when there is none
  void changed() noexcept { ++version; }
  void useProfile(int newProfile, StreamHandle stream);
  const std::vector<std::string>& resolve() { return shapes.resolve(addresses); }
  // The binding for the symbols as they are now; they must be complete.
  void bind();
  const ArenaLayout& chooseLayout();
  void nameRanges();
  void switchUnfused();                                      // as unfusedDebug says
  void allocateOutputs(StreamHandle stream, int32_t phase);  // of outputs whose shapes are known from then on
  void checkReady(int32_t phase);
  // Puts the steps of one phase on the stream. `isRecordable`: some of them may be replays.
  void launch(int32_t phase, void* arenaData, const ArenaLayout& layout, StreamHandle stream,
              bool isRecordable = false);
  // Programs with sizes that the device computes.
  bool isPhased() const;
  void checkWaits(StreamHandle stream) const;
  void checkPhased(StreamHandle stream) const;
  void enqueuePhases(void* arenaData, const ArenaLayout& layout, StreamHandle stream);
  void readSizes(int32_t phase, void* arenaData, const ArenaLayout& layout, StreamHandle stream);
  void checkRoom(int32_t phase) const;
  void reportTimes();
  // Replays the execution when it is known, or records and then replays it; false: it is to be launched.
  // Tells the packet which streams it may use; `given`: with those of the user.
  void spread(Packet& packet, const ArenaLayout& layout, bool given);
  bool replay(void* arenaData, const ArenaLayout& layout, StreamHandle stream);

  const std::shared_ptr<const Engine> engine;
  const MemoryStrategy strategy;
  Log& log;
  int profile = 0;
  ShapeState shapes;
  std::vector<void*> addresses;  // by io
  std::vector<OutputAllocatorHook*> outputAllocators;
  std::vector<bool> isAllocated;             // by io: whether its address is an allocator's
  std::vector<std::pair<int, int>> aliased;  // of the profile: outputs and the inputs that they update in place
  void* consumedEvent = nullptr;

  std::shared_ptr<const DeviceMemory> arena;  // null when the user manages it
  void* userArena = nullptr;
  uint64_t userArenaBytes = 0;

  std::vector<StreamHandle> auxStreams;  // the user's
  std::unique_ptr<StreamSet> streams;    // made at the first use

  RangeDetail rangeDetail = RangeDetail::kNone;
  std::shared_ptr<const RangeTexts> ranges;  // of the profile's program; null where nobody sees them

  ProfilerHook* profiler = nullptr;
  bool profilerSynchronous = true;
  bool timesPending = false;
  StreamHandle timedStream = nullptr;
  std::shared_ptr<Binding> timedBinding;

  DebugHook* debugHook = nullptr;
  std::set<std::string, std::less<>> debugTensors;  // marked in the plan and switched on
  bool unfusedDebug = false;                        // the group that the network marked at once
  std::vector<uint8_t> debugOn;                     // by tensor of the program

  std::vector<std::shared_ptr<Binding>> bindings;  // most recently used first
  std::shared_ptr<Binding> binding;                // null before the first
  uint64_t boundShapes = 0;                        // version of the shapes that it is for
  uint64_t version = 1;                            // of everything that packets depend on
  Replays replays;
  std::shared_ptr<PacketPool> pool = std::make_shared<PacketPool>();
  std::shared_ptr<ErrorSlot> errors = std::make_shared<ErrorSlot>();
};

}  // namespace tenon::runtime
