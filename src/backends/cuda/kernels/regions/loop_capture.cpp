// One iteration at fixed places, captured as the body of a node.
#include "backends/cuda/kernels/regions/loop_capture.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/regions/region_kernel.h"
#include "core/error.h"

namespace tenon::backends::cuda {

LoopCapture::LoopCapture(const Module& module, const ops::Loop& loop, const LoopPlaces& places,
                         runtime::RegionRun& body, runtime::RegionRun& test)
    : loop_(loop), places_(places), body_(body), test_(test), decisions_(module) {
  fault_.reserve(sizeof(int64_t));
  *reinterpret_cast<int64_t*>(fault_.data()) = 0;
}

LoopCapture::~LoopCapture() {
  if (captured_) driver().contextSynchronize();
}

size_t LoopCapture::configure(size_t at) {
  const auto take = [&at](size_t bytes) {
    const size_t place = at;
    at += alignBytes(bytes, kRegionAlignment);
    return place;
  };
  loopAt_ = take(sizeof(LoopState));
  homesAt_.clear();
  slicesAt_.clear();
  copiesAt_.clear();
  for (const auto& home : places_.homes)
    homesAt_.push_back(home.part ? take(places_.parts[*home.part].slices.sliceBytes()) : home.at);
  for (const auto& sequence : places_.sliced) slicesAt_.push_back(take(sequence.slices.sliceBytes()));
  const size_t first = places_.states.size();
  for (size_t i = 0; i < places_.states.size(); ++i) {
    const auto& state = places_.states[i];
    const size_t root = body_.rootOf(i);
    const bool isSlice = root >= first && root < first + places_.sliced.size();
    copiesAt_.emplace_back();
    if (state.copies) copiesAt_.back() = state.at;
    if (isSlice) copiesAt_.back() = take(state.bytes);
  }
  return at;
}

void LoopCapture::capture(const runtime::LaunchArguments& arguments, const Count& count, size_t regionsAt) {
  captured_ = true;
  const size_t states = places_.states.size();
  void* const* const operands = arguments.inputs + (loop_.counted ? 1 : 0);
  Run run{arguments, operands, nullptr, {}, nullptr};
  run.regions = run.at(regionsAt);
  run.loop = reinterpret_cast<LoopState*>(run.at(loopAt_));
  run.inputs.assign(operands, operands + loop_.next->inputs);
  for (size_t i = 0; i < states; ++i) run.inputs[i] = arguments.outputs[i];
  for (size_t i = 0; i < slicesAt_.size(); ++i) run.inputs[states + i] = run.at(slicesAt_[i]);

  Condition condition(arguments.stream);
  begin(run, count);
  decide(run, condition.handle(), true, arguments.stream);
  condition.whileItHolds(inner_, [&](void* stream) { iterate(run, stream, condition.handle()); });
  finish(run);
}

void LoopCapture::begin(const Run& run, const Count& count) {
  auto* const stream = run.arguments.stream;
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    const auto& part = places_.parts[i];
    const size_t bytes = bytesOfShape(part.shape);
    const bool isFilled = count.known && !loop_.tested() && *count.known >= part.slices.count;
    if (!isFilled && bytes != 0)
      check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(run.arguments.outputs[places_.states.size() + i]), 0,
                                 bytes, static_cast<CUstream>(stream)),
            "cuMemsetD8Async");
  }
  LoopBegin parameters;
  parameters.loop = run.loop;
  parameters.limit = count.known.value_or(INT64_MAX);
  parameters.countBytes = static_cast<int32_t>(bytesOf(count.type, 1));
  if (loop_.counted && !count.known) parameters.count = run.arguments.inputs[0];
  decisions_.begin(parameters, stream);
  for (size_t i = 0; i < places_.states.size(); ++i)
    copy(run, run.operands[i], run.inputs[i], places_.states[i].bytes, stream);
  for (size_t i = 0; i < places_.sliced.size(); ++i) addSlice(run, i, true, stream);
  decisions_.turn(stream);
}

void LoopCapture::decide(const Run& run, uint64_t handle, bool isFirst, void* stream) {
  LoopDecision parameters;
  parameters.loop = run.loop;
  parameters.most = places_.mostIterations();
  parameters.fault = reinterpret_cast<int64_t*>(fault_.data());
  parameters.handle = handle;
  parameters.isFirst = isFirst ? 1 : 0;
  if (loop_.tested())
    parameters.answer = static_cast<const unsigned char*>(test_.run(run.inputs, run.regions, stream)[0]);
  decisions_.decide(parameters, stream);
}

void LoopCapture::iterate(const Run& run, void* stream, uint64_t handle) {
  for (size_t i = 0; i < places_.homes.size(); ++i) body_.place(places_.homes[i].root, run.at(homesAt_[i]));
  handOn(run, body_.run(run.inputs, run.regions, stream), stream);
  decide(run, handle, false, stream);
}

// First what reads places that the next iteration is given.
void LoopCapture::handOn(const Run& run, std::span<void* const> results, void* stream) {
  const size_t states = places_.states.size();
  for (size_t i = 0; i < states; ++i) {
    if (copiesAt_[i]) copy(run, results[i], run.at(*copiesAt_[i]), places_.states[i].bytes, stream);
  }
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    if (!body_.isComputed(states + i)) addPart(run, i, results[states + i], stream);
  }
  decisions_.turn(stream);
  for (size_t i = 0; i < states; ++i)
    copy(run, copiesAt_[i] ? run.at(*copiesAt_[i]) : results[i], run.inputs[i], places_.states[i].bytes, stream);
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    if (body_.isComputed(states + i)) addPart(run, i, results[states + i], stream);
  }
  for (size_t i = 0; i < places_.sliced.size(); ++i) addSlice(run, i, false, stream);
  decisions_.turn(stream);
}

void LoopCapture::finish(const Run& run) {
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    if (!isTurned(i)) continue;
    const auto& part = places_.parts[i];
    const auto& slices = part.slices;
    Turn turn;
    turn.move.to = run.arguments.outputs[places_.states.size() + i];
    turn.move.from = run.at(part.at);
    turn.move.outer = slices.outer;
    turn.move.bytes = slices.bytes;
    turn.move.toOuter = slices.count * slices.bytes;
    turn.move.toRow = -slices.bytes;
    turn.move.fromOuter = slices.bytes;
    turn.move.fromRow = static_cast<int64_t>(part.pitch);
    turn.toStep = slices.bytes;
    turn.count = slices.count;
    turn.by = TurnBy::kAll;
    decisions_.add(turn, run.loop, run.arguments.stream);
  }
  decisions_.turn(run.arguments.stream);
}

void LoopCapture::copy(const Run& run, const void* from, void* to, size_t bytes, void* stream) {
  if (from == to) return;
  Turn turn;
  turn.move.to = to;
  turn.move.from = from;
  turn.move.bytes = static_cast<int64_t>(bytes);
  decisions_.add(turn, run.loop, stream);
}

bool LoopCapture::isTurned(size_t part) const {
  const auto& to = places_.parts[part];
  return loop_.tested() && to.reverse && to.apart;
}

void LoopCapture::addPart(const Run& run, size_t part, const void* from, void* stream) {
  const auto& to = places_.parts[part];
  const auto& slices = to.slices;
  Turn turn;
  turn.move.from = from;
  turn.by = TurnBy::kIteration;
  if (isTurned(part)) {
    turn.move.to = run.at(to.at);
    turn.move.bytes = static_cast<int64_t>(slices.sliceBytes());
    turn.toStep = static_cast<int64_t>(to.pitch);
  } else {
    turn.move.to = run.arguments.outputs[places_.states.size() + part];
    turn.move.outer = slices.outer;
    turn.move.bytes = slices.bytes;
    turn.move.toOuter = slices.count * slices.bytes;
    turn.move.fromOuter = slices.bytes;
    turn.toStep = slices.bytes;
    if (to.reverse) turn.by = TurnBy::kIterationsLeft;
    if (slices.count <= 1) turn.by = TurnBy::kNothing;
  }
  if (slices.count > 0) decisions_.add(turn, run.loop, stream);
}

void LoopCapture::addSlice(const Run& run, size_t slice, bool isFirst, void* stream) {
  const auto& from = places_.sliced[slice];
  const auto& slices = from.slices;
  if (slices.count == 0 || (slices.count == 1 && !isFirst)) return;
  const size_t input = places_.states.size() + slice;
  Turn turn;
  turn.move.to = run.inputs[input];
  turn.move.from = run.operands[input];
  turn.move.outer = slices.outer;
  turn.move.bytes = slices.bytes;
  turn.move.toOuter = slices.bytes;
  turn.move.fromOuter = slices.count * slices.bytes;
  turn.fromStep = slices.bytes;
  turn.count = slices.count;
  turn.by = from.reverse ? TurnBy::kNextFromEnd : TurnBy::kNext;
  if (isFirst) {
    turn.by = TurnBy::kNothing;
    if (from.reverse) turn.move.from = static_cast<const char*>(turn.move.from) + (slices.count - 1) * slices.bytes;
  }
  decisions_.add(turn, run.loop, stream);
}

void LoopCapture::rethrow() const {
  auto* const fault = reinterpret_cast<volatile int64_t*>(fault_.data());
  const int64_t found = *fault;
  if (found == 0) return;
  *fault = 0;
  places_.checkIteration(found - 1);
}

}  // namespace tenon::backends::cuda
