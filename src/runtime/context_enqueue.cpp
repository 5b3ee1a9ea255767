// Execution: the binding for the shapes, the checks before work starts, packets onto the stream.
#include <algorithm>

#include "core/error.h"
#include "core/storage.h"
#include "runtime/context_state.h"
#include "runtime/implementations.h"

namespace tenon::runtime {
namespace {

// Shapes between which a context may alternate without making kernels ready again.
constexpr size_t kMaxBindings = 4;

}  // namespace

void Context::State::bind() {
  if (binding != nullptr && boundShapes == shapes.version()) return;
  const auto& symbols = shapes.symbols();
  auto found = std::find_if(bindings.begin(), bindings.end(), [&](const auto& b) { return b->isFor(symbols); });
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
  if (strategy != MemoryStrategy::kUserManaged || userArenaBytes >= planned.bytes) return planned;
  const auto& compact = binding->compact();
  checkUser(compact.bytes <= userArenaBytes,
            "the context was given {} bytes of memory, expected at least {} for these shapes; setDeviceMemory first",
            userArenaBytes, std::min(compact.bytes, planned.bytes));
  return compact;
}

void Context::State::allocateOutputs(StreamHandle stream) {
  for (size_t i = 0; i < outputAllocators.size(); ++i) {
    auto* const allocator = outputAllocators[i];
    if (allocator == nullptr) continue;
    const auto& x = engine->io()[i];
    const int32_t tensor = binding->program().ioTensors[i];
    const uint64_t bytes = std::max<uint64_t>(1, binding->bytes(tensor));
    void* const memory = allocator->reallocate(x.name, addresses[i], bytes, kMemoryAlignment, stream);
    checkUser(memory != nullptr, "output '{}': its allocator returned cannot allocate {} bytes", x.name, bytes);
    if (memory != addresses[i]) changed();
    addresses[i] = memory;
    allocator->notifyShape(x.name, binding->dims(tensor));
  }
}

void Context::State::checkReady() {
  std::string missing;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] != nullptr || binding->bytes(binding->program().ioTensors[i]) == 0) continue;
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
  const auto& missing = s.resolve();
  checkUser(missing.empty(), "no shape or shape values are set for '{}'; setInputShape first",
            fmt::join(missing, "', '"));
  s.bind();
  s.allocateOutputs(stream);
  s.checkReady();
  const auto& layout = s.chooseLayout();
  const bool own = s.strategy != MemoryStrategy::kUserManaged;
  void* const arena = own ? s.arena->data() : s.userArena;
  if (s.profiler == nullptr && s.debugHook == nullptr && s.ranges == nullptr && s.replay(arena, layout, stream)) {
    if (s.consumedEvent != nullptr) s.engine->device().recordEvent(s.consumedEvent, stream);
    return;
  }
  Packet& packet = s.pool->acquire({s.binding, s.arena, &layout, arena, s.addresses, s.version});
  packet.stream = stream;
  packet.timed = s.profiler != nullptr;
  packet.debug = s.debugHook;
  if (packet.debug != nullptr) packet.debugOn = s.debugOn;
  packet.ranges = s.ranges;
  packet.log = &s.log;
  packet.errors = s.errors;
  s.spread(packet, layout, true);
  if (packet.timed) (void)s.binding->timer();  // made here, where allocating is allowed
  try {
    s.engine->device().submit(stream, &Packet::run, &packet, &Packet::release);
  } catch (...) {
    Packet::release(&packet);
    throw;
  }
  if (s.consumedEvent != nullptr) s.engine->device().recordEvent(s.consumedEvent, stream);
  s.errors->rethrow();
  if (s.profiler == nullptr) return;
  s.timesPending = true;
  s.timedStream = stream;
  s.timedBinding = s.binding;
  if (s.profilerSynchronous) s.reportTimes();
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
  auto [recording, wanted] = replays.look(binding, arenaData, addresses, stream);
  if (wanted) {
    Packet& packet = pool->acquire({binding, arena, &layout, arenaData, addresses, version});
    packet.timed = false;
    packet.debug = nullptr;
    packet.ranges = nullptr;
    spread(packet, layout, false);
    packet.log = &log;
    packet.errors = errors;
    recording = replays.record(packet);
    Packet::release(&packet);
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
  const auto& steps = timedBinding->program().steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    profiler->report(steps[i].name, static_cast<float>(timedBinding->timer().milliseconds(i, i + 1)));
  }
}

bool Context::reportTimes() {
  if (!state_->timesPending || state_->profiler == nullptr) return false;
  state_->reportTimes();
  return true;
}

}  // namespace tenon::runtime
