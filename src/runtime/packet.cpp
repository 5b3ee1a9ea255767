// Resolves addresses, runs steps, returns to the pool.
#include "runtime/packet.h"

#include <chrono>

#include "core/error.h"
#include "core/platform/alone_scope.h"
#include "core/platform/threads.h"
#include "runtime/engine_parts.h"

namespace tenon::runtime {
namespace {

// Tensors without bytes need no memory of the user, but kernels tell absent operands by null.
alignas(64) std::byte emptyTensor[64];
const std::string kNoText;

CopyKind copyKind(const plan::TensorRecord& from, const plan::TensorRecord& to) {
  const auto onHost = [](const plan::TensorRecord& t) { return t.onHost; };
  if (onHost(from)) return CopyKind::kHostToDevice;
  return onHost(to) ? CopyKind::kDeviceToHost : CopyKind::kDeviceToDevice;
}

}  // namespace

void ErrorSlot::set(std::exception_ptr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (present_.load(std::memory_order_relaxed)) return;
  error_ = std::move(error);
  present_.store(true, std::memory_order_release);
}

void ErrorSlot::rethrow() {
  if (!present_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    present_.store(false, std::memory_order_relaxed);
    error.swap(error_);
  }
  std::rethrow_exception(error);
}

void Packet::prepare(const Setup& setup) {
  if (binding_ == setup.binding && version_ == setup.version) return;
  if (binding_ != setup.binding) threads_ = {};
  binding_ = setup.binding;
  memory_ = setup.memory;
  version_ = setup.version;
  const auto& program = binding_->program();
  const auto& loaded = binding_->engine().parts().programs[binding_->programIndex()];
  addresses_.resize(program.tensors.size());
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    void* const address = binding_->addressOf(static_cast<int32_t>(i), setup.arena, *setup.layout, setup.addresses);
    addresses_[i] = address == nullptr ? emptyTensor : address;
  }
  operands_.clear();
  first_.clear();
  workspaces_.clear();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& step = program.steps[i];
    first_.push_back(operands_.size());
    for (const int32_t input : step.inputs)
      operands_.push_back(input < 0 ? nullptr : addresses_[static_cast<size_t>(input)]);
    loaded.placePacked(i, binding_->kernelOf(i), operands_.data() + first_.back());
    for (const int32_t output : step.outputs) operands_.push_back(addresses_[static_cast<size_t>(output)]);
    void* const extra = binding_->extraWorkspace(i);
    workspaces_.push_back(extra != nullptr ? extra
                                           : static_cast<std::byte*>(setup.arena) + setup.layout->workspaces[i]);
  }
}

void Packet::run(void* packet) {
  auto& self = *static_cast<Packet*>(packet);
  try {
    self.execute();
  } catch (const std::exception& error) {
    self.errors->set(std::current_exception());
    self.log->write(Severity::kError, error.what());
  }
}

void Packet::record(void* packet, StreamHandle stream) {
  auto& self = *static_cast<Packet*>(packet);
  self.stream = stream;
  self.execute();
}

void Packet::recordRun(void* run, StreamHandle stream) {
  const auto& [packet, first, last] = *static_cast<RunToRecord*>(run);
  const ops::Draws::Use draws(packet->pool_->draws_);
  for (size_t i = first; i < last; ++i) {
    if (!packet->binding_->skipped(i)) packet->executeStep(i, stream);
  }
}

void Packet::release(void* packet) {
  auto& self = *static_cast<Packet*>(packet);
  --self.binding_->inFlight;
  const auto pool = std::move(self.pool_);  // may be the last owner of the pool, and so of this packet
  pool->giveBack(self);
}

void Packet::execute() {
  const ops::Draws::Use draws(pool_->draws_);
  const platform::RunningThread running;  // its share of the cores sizes the teams of its kernels
  const bool isTimed = timed || debug != nullptr || ranges != nullptr;
  const auto [first, last] = plan::stepsOf(binding_->program(), phase);
  const bool isWhole = last - first == binding_->program().steps.size();  // not one of several phases
  if (!binding_->engine().device().isHost() || platform::teamSize() == 1 || isTimed || !isWhole) return executeAll();
  using Clock = std::chrono::steady_clock;
  const platform::AloneScope scope(threads_.isAlone());
  const auto begin = Clock::now();
  executeAll();
  threads_.note(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

void Packet::executeAll() {
  const auto [first, last] = plan::stepsOf(binding_->program(), phase);
  const auto mark = static_cast<size_t>(phase);  // see Binding::timer()
  StepTimer* const timer = timed ? &binding_->timer() : nullptr;
  if (branches != nullptr && timer == nullptr && debug == nullptr && ranges == nullptr) return executeBranches();
  if (runs != nullptr) return executeRuns();
  const NvtxTool* const tool = ranges != nullptr ? NvtxTool::attached() : nullptr;
  const NvtxRange whole(tool, tool != nullptr ? ranges->execution : kNoText);
  for (size_t i = first; i < last; ++i) {
    const NvtxRange range(tool, tool != nullptr ? ranges->steps[i] : kNoText);
    if (timer != nullptr) timer->mark(i + mark, stream);
    if (!binding_->skipped(i)) executeStep(i, stream);
    if (debug != nullptr) showOutputs(binding_->program().steps[i]);
  }
  if (timer != nullptr) timer->mark(last + mark, stream);
}

void Packet::executeRuns() {
  for (const auto& run : *runs) {
    if (run.recording != nullptr) {
      run.recording->replay(stream);
      continue;
    }
    for (size_t i = run.first; i < run.last; ++i) {
      if (!binding_->skipped(i)) executeStep(i, stream);
    }
  }
}

// The caller's stream goes on when all others have ended.
void Packet::executeBranches() {
  const size_t start = branches->steps.size();  // the event behind those of the steps
  const auto handle = [&](int32_t index) {
    if (index == 0) return stream;
    const auto other = static_cast<size_t>(index) - 1;
    return other < givenStreams.size() ? givenStreams[other] : streams->stream(other);
  };
  streams->signal(start, stream);
  for (size_t i = 0; i < start; ++i) {
    const auto& step = branches->steps[i];
    const StreamHandle on = handle(step.stream);
    if (step.waitsForStart) streams->wait(start, on);
    for (const int32_t other : step.waits) streams->wait(static_cast<size_t>(other), on);
    if (!binding_->skipped(i)) executeStep(i, on);
    if (step.isWaitedFor) streams->signal(i, on);
  }
  for (const int32_t step : branches->joins) streams->wait(static_cast<size_t>(step), stream);
}

void Packet::executeStep(size_t index, StreamHandle on) {
  const auto& program = binding_->program();
  const auto& step = program.steps[index];
  void* const* const inputs = operands_.data() + first_[index];
  void* const* const outputs = inputs + step.inputs.size();
  if (step.kind == plan::StepKind::kLaunch) {
    binding_->instance(index)->launch({inputs, outputs, workspaces_[index], on});
    return;
  }
  const auto& from = program.tensors[static_cast<size_t>(step.inputs[0])];
  const auto& to = program.tensors[static_cast<size_t>(step.outputs[0])];
  binding_->engine().device().copy(outputs[0], inputs[0], binding_->bytes(step.outputs[0]), copyKind(from, to), on);
}

void Packet::showOutputs(const plan::Step& step) {
  for (const int32_t output : step.outputs) {
    const auto i = static_cast<size_t>(output);
    if (i >= debugOn.size() || debugOn[i] == 0) continue;
    const auto& record = binding_->program().tensors[i];
    debug->process(record.name, addresses_[i], record.onHost, record.dtype, binding_->dims(output), stream);
  }
}

Packet& PacketPool::acquire(const Packet::Setup& setup) {
  Packet& packet = takeResting();
  try {
    packet.prepare(setup);
  } catch (...) {
    packet.version_ = 0;
    giveBack(packet);
    throw;
  }
  ++packet.binding_->inFlight;
  packet.pool_ = shared_from_this();
  return packet;
}

Packet& PacketPool::takeResting() {
  const std::lock_guard lock(mutex_);
  if (resting_.empty()) {
    all_.push_back(std::make_unique<Packet>());
    resting_.reserve(all_.size());
    resting_.push_back(all_.back().get());
  }
  Packet& packet = *resting_.back();
  resting_.pop_back();
  return packet;
}

void PacketPool::giveBack(Packet& packet) {
  const std::lock_guard lock(mutex_);
  resting_.push_back(&packet);  // reserved in acquire()
}

void PacketPool::forget() {
  const std::lock_guard lock(mutex_);
  for (Packet* packet : resting_) {
    packet->binding_.reset();
    packet->memory_.reset();
  }
}

}  // namespace tenon::runtime
