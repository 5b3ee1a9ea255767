// Execution: the binding for the shapes, the checks before work starts, packets onto the stream.
#include <algorithm>

#include "core/error.h"
#include "core/storage.h"
#include "runtime/context_state.h"
#include "runtime/implementations.h"
#include "runtime/stream_facts.h"

namespace tenon::runtime {
namespace {

// Shapes between which a context may alternate without making kernels ready again.
constexpr size_t kMaxBindings = 4;

// A packet of which nobody else knows yet: it returns to its pool, whatever is thrown.
struct ReleasePacket {
  void operator()(Packet* packet) const { Packet::release(packet); }
};
using OwnPacket = std::unique_ptr<Packet, ReleasePacket>;

}  // namespace

void Context::State::bind() {
  // What is made ready between two phases must not belong to an execution that still goes on.
  const bool isPhasedProgram = isPhased();
  const auto isFree = [&](const Binding& b) { return !isPhasedProgram || b.inFlight == 0; };
  if (binding != nullptr && boundShapes == shapes.version() && isFree(*binding)) return;
  const auto& symbols = shapes.symbols();
  auto found =
      std::find_if(bindings.begin(), bindings.end(), [&](const auto& b) { return b->isFor(symbols) && isFree(*b); });
  if (found == bindings.end()) {
    pool->forget();  // packets at rest must not keep what is replaced now
    const bool reuse = bindings.size() >= kMaxBindings && bindings.back()->inFlight == 0;
    std::shared_ptr<Binding> fresh = reuse ? bindings.back() : std::make_shared<Binding>(engine, profile);
    binding.reset();
    replays.forget(fresh.get());
    fresh->configure(symbols);
    reportImplementations(*fresh, profile, symbols, log);
    if (bindings.size() >= kMaxBindings) {
      replays.forget(bindings.back().get());
      bindings.pop_back();
    }
    found = bindings.insert(bindings.begin(), std::move(fresh));
  }
  std::rotate(bindings.begin(), found, found + 1);
  binding = bindings.front();
  boundShapes = shapes.version();
  changed();
}

const ArenaLayout& Context::State::chooseLayout() {
  const auto& planned = binding->planned();
  checkUser(!isPhased() || strategy != MemoryStrategy::kUserManaged || userArenaBytes >= planned.bytes,
            "the context was given {} bytes of memory, expected at least {}, because shapes are known only during the "
            "execution; setDeviceMemory first",
            userArenaBytes, planned.bytes);
  if (strategy != MemoryStrategy::kUserManaged || userArenaBytes >= planned.bytes) return planned;
  const auto& compact = binding->compact();
  checkUser(compact.bytes <= userArenaBytes,
            "the context was given {} bytes of memory, expected at least {} for these shapes; setDeviceMemory first",
            userArenaBytes, std::min(compact.bytes, planned.bytes));
  return compact;
}

void Context::State::allocateOutputs(StreamHandle stream, int32_t phase) {
  for (size_t i = 0; i < outputAllocators.size(); ++i) {
    auto* const allocator = outputAllocators[i];
    if (allocator == nullptr) continue;
    const auto& x = engine->io()[i];
    const int32_t tensor = binding->program().ioTensors[i];
    if (binding->phases().ofTensor[static_cast<size_t>(tensor)] != phase) continue;
    const uint64_t bytes = std::max<uint64_t>(1, binding->bytes(tensor));
    void* const memory = allocator->reallocate(x.name, addresses[i], bytes, kMemoryAlignment, stream);
    checkUser(memory != nullptr, "output '{}': its allocator cannot allocate {} bytes", x.name, bytes);
    const auto unit = std::max<uint64_t>(1, bits(x.dtype) / 8);
    checkUser(
        reinterpret_cast<uintptr_t>(memory) % unit == 0,
        "output '{}': its allocator gave the address {}; expected a multiple of {}, at least of the {} bytes of an "
        "element",
        x.name, fmt::ptr(memory), kMemoryAlignment, unit);
    if (memory != addresses[i]) changed();
    addresses[i] = memory;
    isAllocated[i] = true;
    allocator->notifyShape(x.name, binding->dims(tensor));
  }
}

void Context::State::checkReady(int32_t phase) {
  std::string missing;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int32_t tensor = binding->program().ioTensors[i];
    const bool isDue = binding->phases().ofTensor[static_cast<size_t>(tensor)] == phase;
    if (addresses[i] != nullptr || !isDue || binding->bytes(tensor) == 0) continue;
    missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", engine->io()[i].name);
  }
  checkUser(missing.empty(), "no address is set for {}; setTensorAddress first", missing);
  for (const auto& [output, input] : aliased) {
    const auto at = static_cast<size_t>(output);
    const auto from = static_cast<size_t>(input);
    checkUser(addresses[at] == addresses[from],
              "output '{}' is input '{}' updated in place, but their addresses are {} and {}; set the same address for "
              "both",
              engine->io()[at].name, engine->io()[from].name, fmt::ptr(addresses[at]), fmt::ptr(addresses[from]));
  }
}

void Context::enqueue(StreamHandle stream) {
  State& s = *state_;
  s.errors->rethrow();
  const bool phased = s.isPhased();
  if (phased) s.shapes.forgetSizes();
  const auto& missing = s.resolve();
  checkUser(missing.empty(), "no shape or shape values are set for '{}'; setInputShape first",
            fmt::join(missing, "', '"));
  s.bind();
  s.binding->rethrow();
  if (phased) s.checkPhased(stream);
  s.checkWaits(stream);
  s.allocateOutputs(stream, 0);
  s.checkReady(0);
  const auto& layout = s.chooseLayout();
  const bool own = s.strategy != MemoryStrategy::kUserManaged;
  void* const arena = own ? s.arena->data() : s.userArena;
  const bool watched = s.profiler != nullptr || s.debugHook != nullptr || s.ranges != nullptr;
  const bool isRecordable = !phased && !watched && s.binding->waitingStep() < 0;
  if (isRecordable && s.replay(arena, layout, stream)) {
    if (s.consumedEvent != nullptr) s.engine->device().recordEvent(s.consumedEvent, stream);
    return;
  }
  if (phased) {
    s.enqueuePhases(arena, layout, stream);
  } else {
    s.launch(0, arena, layout, stream, isRecordable);
  }
  if (s.consumedEvent != nullptr) s.engine->device().recordEvent(s.consumedEvent, stream);
  s.errors->rethrow();
  if (s.profiler == nullptr) return;
  s.timesPending = true;
  s.timedStream = stream;
  s.timedBinding = s.binding;
  if (s.profilerSynchronous) s.reportTimes();
}

void Context::State::checkWaits(StreamHandle stream) const {
  const int32_t step = binding->waitingStep();
  auto* const facts = step < 0 ? nullptr : dynamic_cast<StreamFacts*>(&engine->device());
  if (facts == nullptr || !facts->isCapturing(stream)) return;
  throw Unsupported(
      "the stream is being captured, and what layer '{}' runs is decided by values that the device computes, for which "
      "the host has to wait; enqueue it outside of the capture, or decide by constants",
      binding->program().steps[static_cast<size_t>(step)].name);
}

void Context::State::launch(int32_t phase, void* arenaData, const ArenaLayout& layout, StreamHandle stream,
                            bool isRecordable) {
  OwnPacket own(&pool->acquire({binding, arena, &layout, arenaData, addresses, version}));
  Packet& packet = *own;
  packet.stream = stream;
  packet.phase = phase;
  packet.timed = profiler != nullptr;
  packet.debug = debugHook;
  if (packet.debug != nullptr) packet.debugOn = debugOn;
  packet.ranges = ranges;
  packet.log = &log;
  packet.errors = errors;
  spread(packet, layout, true);
  packet.runs = isRecordable ? replays.runs(packet, binding, arenaData, layout, stream) : nullptr;
  if (packet.timed) (void)binding->timer();  // made here, where allocating is allowed
  engine->device().submit(stream, &Packet::run, &packet, &Packet::release);
  (void)own.release();  // the device gives it back now
}

void Context::State::spread(Packet& packet, const ArenaLayout& layout, bool given) {
  packet.branches = nullptr;
  auto* const device = dynamic_cast<Branching*>(&engine->device());
  if (engine->auxStreams() == 0 || device == nullptr) return;
  packet.branches = binding->branches(layout);
  if (packet.branches == nullptr) return;
  if (streams == nullptr) {
    size_t steps = 0;
    for (const auto& program : engine->plan().programs) steps = std::max(steps, program.steps.size());
    streams = device->makeStreams(static_cast<size_t>(engine->auxStreams()), steps + 1);
  }
  packet.streams = streams.get();
  packet.givenStreams = given ? std::span<const StreamHandle>(auxStreams) : std::span<const StreamHandle>();
}

bool Context::State::replay(void* arenaData, const ArenaLayout& layout, StreamHandle stream) {
  auto [recording, wanted] = replays.look(binding, arenaData, layout, addresses, stream);
  if (wanted) {
    const OwnPacket own(&pool->acquire({binding, arena, &layout, arenaData, addresses, version}));
    Packet& packet = *own;
    packet.phase = 0;
    packet.timed = false;
    packet.debug = nullptr;
    packet.ranges = nullptr;
    packet.runs = nullptr;
    spread(packet, layout, false);
    packet.log = &log;
    packet.errors = errors;
    recording = replays.record(packet);
    if (recording == nullptr)
      log.verbose("this execution cannot be captured as a CUDA graph; its steps are launched one by one");
  }
  if (recording == nullptr) return false;
  recording->replay(stream);
  return true;
}

void Context::State::reportTimes() {
  timesPending = false;
  engine->device().synchronize(timedStream);
  errors->rethrow();
  const auto& program = timedBinding->program();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const size_t mark = i + static_cast<size_t>(plan::phaseOf(program, static_cast<int32_t>(i)));
    profiler->report(program.steps[i].name, static_cast<float>(timedBinding->timer().milliseconds(mark, mark + 1)));
  }
}

bool Context::reportTimes() {
  if (!state_->timesPending || state_->profiler == nullptr) return false;
  state_->reportTimes();
  return true;
}

}  // namespace tenon::runtime
