// Settings of a context: shapes, addresses, memory, hooks.
#include "runtime/context.h"

#include <algorithm>

#include "core/error.h"
#include "core/storage.h"
#include "ops/op/unfused_tap.h"
#include "runtime/aliases.h"
#include "runtime/context_state.h"

namespace tenon::runtime {

Context::State::State(std::shared_ptr<const Engine> itsEngine, const ContextOptions& options, Log& itsLog)
    : engine(std::move(itsEngine)),
      strategy(options.strategy),
      log(itsLog),
      profile(options.profile),
      shapes(*engine, options.profile),
      replays(engine->device()) {
  addresses.assign(engine->io().size(), nullptr);
  outputAllocators.assign(engine->io().size(), nullptr);
  isAllocated.assign(engine->io().size(), false);
  if (strategy == MemoryStrategy::kStatic) {
    arena = std::make_shared<const DeviceMemory>(engine->device(), engine->allocator(), engine->arenaBytes(),
                                                 "memory of the execution context");
  }
  useProfile(profile, nullptr);
  log.verbose("context: {} bytes on the device for tensors and workspaces{}",
              arena != nullptr ? arena->bytes() : engine->arenaBytes(profile),
              arena != nullptr ? "" : ", which the user gives");
}

const plan::Io& Context::State::io(int index) const {
  checkUser(index >= 0 && static_cast<size_t>(index) < engine->io().size(),
            "tensor {} does not exist, the engine has {} inputs and outputs", index, engine->io().size());
  return engine->io()[static_cast<size_t>(index)];
}

void Context::State::useProfile(int newProfile, StreamHandle stream) {
  std::shared_ptr<const DeviceMemory> memory = arena;
  if (strategy == MemoryStrategy::kOnProfileChange) {
    memory = std::make_shared<const DeviceMemory>(engine->device(), engine->allocator(), engine->arenaBytes(newProfile),
                                                  "memory of the execution context", stream);
  }
  shapes.reset(newProfile);
  profile = newProfile;
  arena = std::move(memory);
  replays.clear();
  bindings.clear();
  binding.reset();
  boundShapes = 0;
  aliased = aliasedIo(engine->program(profile));
  const auto& tensors = engine->program(profile).tensors;
  debugOn.assign(tensors.size(), 0);
  for (size_t i = 0; i < tensors.size(); ++i) debugOn[i] = tensors[i].debug && debugTensors.count(tensors[i].name) != 0;
  switchUnfused();
  nameRanges();
  changed();
  pool->forget();
  if (resolve().empty()) bind();  // static networks: nothing is left for the first enqueue
}

void Context::State::nameRanges() {
  const bool seen = rangeDetail != RangeDetail::kNone && NvtxTool::attached() != nullptr;
  ranges = seen ? rangeTexts(engine->plan(), engine->program(profile), rangeDetail) : nullptr;
}

Context::Context(std::shared_ptr<const Engine> engine, const ContextOptions& options, Log& log)
    : state_(std::make_unique<State>(std::move(engine), options, log)) {}

Context::~Context() = default;

const Engine& Context::engine() const noexcept { return *state_->engine; }
int Context::profile() const noexcept { return state_->profile; }
void Context::setProfile(int profile, StreamHandle stream) { state_->useProfile(profile, stream); }

void Context::setAddress(int io, void* pointer) {
  (void)state_->io(io);
  void*& address = state_->addresses[static_cast<size_t>(io)];
  state_->isAllocated[static_cast<size_t>(io)] = false;
  if (address == pointer) return;
  address = pointer;
  state_->changed();
}

void* Context::address(int io) const {
  (void)state_->io(io);
  return state_->addresses[static_cast<size_t>(io)];
}

void Context::setInputShape(int io, const Dims& dims) {
  (void)state_->io(io);
  state_->shapes.setShape(io, dims);
}

void Context::setShapeValues(int io, std::span<const int64_t> values) {
  (void)state_->io(io);
  state_->shapes.setValues(io, values);
}

std::vector<std::string> Context::inferShapes() { return state_->resolve(); }
bool Context::allShapesGiven() { return state_->resolve().empty(); }

const SymbolValues& Context::symbols() {
  (void)state_->resolve();
  return state_->shapes.symbols();
}

Dims Context::shape(int io) {
  const auto& x = state_->io(io);
  if (x.isInput) return state_->shapes.inputDims(io);
  (void)state_->resolve();
  return state_->shapes.known(x.shape);
}

uint64_t Context::tensorBytes(int io) {
  const auto& x = state_->io(io);
  if (state_->isPhased() && !x.isInput && state_->resolve().empty())
    return storageBytes(x.dtype, state_->shapes.most(x.shape), x.layout);
  const Dims dims = shape(io);
  if (std::find(dims.begin(), dims.end(), -1) == dims.end()) return storageBytes(x.dtype, dims, x.layout);
  const auto& program = state_->engine->program(state_->profile);
  return program.tensors[static_cast<size_t>(program.ioTensors[static_cast<size_t>(io)])].bytes;
}

void Context::setMemory(void* pointer, uint64_t bytes) {
  checkUser(
      state_->strategy == MemoryStrategy::kUserManaged,
      "the context has its own memory; create it with ExecutionContextAllocationStrategy::kUSER_MANAGED to set its "
      "memory");
  checkUser(reinterpret_cast<uintptr_t>(pointer) % kMemoryAlignment == 0, "the memory at {} is not aligned to {} bytes",
            fmt::ptr(pointer), kMemoryAlignment);
  state_->userArena = pointer;
  state_->userArenaBytes = pointer == nullptr ? 0 : bytes;
  state_->changed();
}

uint64_t Context::memoryBytes() {
  const uint64_t most = state_->engine->arenaBytes(state_->profile);
  if (!state_->resolve().empty() || state_->isPhased()) return most;
  state_->bind();
  return std::min(most, state_->binding->compact().bytes);
}

void Context::setOutputAllocator(int io, OutputAllocatorHook* allocator) {
  checkUser(!state_->io(io).isInput, "'{}' is an input, only outputs have an allocator", state_->io(io).name);
  auto& current = state_->outputAllocators[static_cast<size_t>(io)];
  // Memory goes with the allocator that gave it.
  if (current != allocator && state_->isAllocated[static_cast<size_t>(io)]) setAddress(io, nullptr);
  current = allocator;
}

OutputAllocatorHook* Context::outputAllocator(int io) const {
  (void)state_->io(io);
  return state_->outputAllocators[static_cast<size_t>(io)];
}

void Context::setInputConsumedEvent(void* event) { state_->consumedEvent = event; }
void* Context::inputConsumedEvent() const noexcept { return state_->consumedEvent; }

void Context::setProfiler(ProfilerHook* profiler) { state_->profiler = profiler; }
ProfilerHook* Context::profiler() const noexcept { return state_->profiler; }
void Context::setProfilerSynchronous(bool synchronous) { state_->profilerSynchronous = synchronous; }
bool Context::profilerSynchronous() const noexcept { return state_->profilerSynchronous; }

void Context::setAuxStreams(std::span<const StreamHandle> streams) {
  const auto used = std::min(streams.size(), static_cast<size_t>(state_->engine->auxStreams()));
  state_->auxStreams.assign(streams.begin(), streams.begin() + static_cast<std::ptrdiff_t>(used));
}

void Context::setRangeDetail(RangeDetail detail) {
  state_->rangeDetail = detail;
  state_->nameRanges();
}

void Context::setDebugHook(DebugHook* hook) { state_->debugHook = hook; }
DebugHook* Context::debugHook() const noexcept { return state_->debugHook; }

bool Context::setDebugTensor(std::string_view tensor, bool on) {
  const auto& tensors = state_->engine->program(state_->profile).tensors;
  bool found = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].debug || tensors[i].name != tensor) continue;
    found = true;
    state_->debugOn[i] = on;
  }
  if (found && on) state_->debugTensors.emplace(tensor);
  if (found && !on) state_->debugTensors.erase(std::string(tensor));
  return found;
}

// The tensors of these taps are marked in no other way.
void Context::State::switchUnfused() {
  for (const auto& step : engine->program(profile).steps) {
    if (step.layerType != ops::UnfusedTap::kName) continue;
    for (const int32_t output : step.outputs) debugOn[static_cast<size_t>(output)] = unfusedDebug;
  }
}

void Context::setUnfusedDebugTensors(bool on) {
  state_->unfusedDebug = on;
  state_->switchUnfused();
}

bool Context::unfusedDebugTensors() const noexcept { return state_->unfusedDebug; }

bool Context::debugTensor(std::string_view tensor) const { return state_->debugTensors.count(tensor) != 0; }

void Context::setAllDebugTensors(bool on) {
  for (const auto& tensor : state_->engine->program(state_->profile).tensors) {
    if (tensor.debug) (void)setDebugTensor(tensor.name, on);
  }
}

}  // namespace tenon::runtime
