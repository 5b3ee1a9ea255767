// Loops: places, iterations, what is known and when.
#include "backends/cuda/kernels/regions/loop_instance.h"

#include <algorithm>
#include <bit>

#include "backends/cuda/driver/cuda_device.h"
#include "core/error.h"
#include "ops/slice_copy.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kMostRecorded = 8192;

// In place of a condition that there is not.
ops::Region unasked(const ops::Loop& loop) {
  ops::RegionBody body;
  body.inputs = loop.next->inputs;
  return ops::Region(std::move(body));
}

void fillWithZeros(void* from, size_t bytes, void* stream) {
  if (bytes == 0) return;
  check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(from), 0, bytes, static_cast<CUstream>(stream)),
        "cuMemsetD8Async");
}

}  // namespace

LoopKernel::LoopKernel(const ops::Loop& loop, const runtime::KernelLoad& load)
    : RegionKernel(std::vector{loop.next, loop.tested() ? loop.test : unasked(loop)}, loop.counted ? 1 : 0,
                   static_cast<size_t>(loop.states) + loop.slices.size(), load),
      loop_(loop) {
  if (loop.counted && !load.constants.empty()) count_ = constantInteger(load.constants[0]);
}

std::unique_ptr<runtime::KernelInstance> LoopKernel::instantiate() const {
  return std::make_unique<LoopInstance>(*this, loop_, count_);
}

LoopInstance::LoopInstance(const RegionKernel& kernel, const ops::Loop& loop, std::optional<int64_t> count)
    : loop_(loop),
      op_(loop),
      first_(loop.counted ? 1 : 0),
      constantCount_(count),
      body_(kernel.steps(0)),
      test_(kernel.steps(1)),
      moves_(kernel.module()) {}

size_t LoopInstance::take(size_t bytes) {
  const size_t at = bytes_;
  bytes_ += alignBytes(bytes, kRegionAlignment);
  return at;
}

// Slices of a tensor are taken where they lie if each begins where a tensor may begin, and stand apart else.
LoopInstance::Sequence LoopInstance::sequence(const runtime::TensorShape& shape, const ops::LoopAxis& axis,
                                              bool knowsIndex) {
  constexpr size_t kLeast = 16;  // bytes that kernels read at once
  Sequence result{shape, Slices(shape.dtype, shape.dims, axis.axis), axis.reverse, false, 0, 0};
  const size_t bytes = result.slices.sliceBytes();
  result.pitch = bytes;
  const bool fits = result.slices.outer == 1 && bytes % kRegionAlignment == 0 && knowsIndex;
  if (fits || result.slices.count <= 1 || bytes == 0) return result;
  result.apart = true;
  result.pitch = alignBytes(bytes, std::clamp(std::bit_ceil(bytes), kLeast, kRegionAlignment));
  result.at = take(result.pitch * static_cast<size_t>(result.slices.count));
  return result;
}

size_t LoopInstance::configure(const runtime::Shapes& shapes) {
  makeCurrent();
  checkOperands(op_, shapes);
  if (loop_.counted) countType_ = shapes.inputs[0].dtype;
  const auto stateCount = static_cast<size_t>(loop_.states);
  std::vector<runtime::TensorShape> inputs(shapes.inputs.begin() + static_cast<std::ptrdiff_t>(first_),
                                           shapes.inputs.end());
  bytes_ = 0;
  places_.clear();
  for (size_t i = 0; i < loop_.slices.size(); ++i) {
    auto& shape = inputs[stateCount + i];
    places_.sliced.push_back(sequence(shape, loop_.slices[i], true));
    shape.dims = ops::withoutAxis(shape.dims, loop_.slices[i].axis);
  }
  for (size_t i = 0; i < loop_.stacks.size(); ++i) {
    const auto& axis = loop_.stacks[i];
    places_.parts.push_back(sequence(shapes.outputs[stateCount + i], axis, !axis.reverse || !loop_.tested()));
  }
  const size_t body = body_.configure(inputs, *shapes.symbols, true);
  const size_t test = test_.configure(inputs, *shapes.symbols);
  findStates(inputs);
  addresses_.assign(inputs.size(), nullptr);
  known_ = constantCount_;
  if (const int64_t trips = loop_.trips.evaluate(*shapes.symbols); loop_.counted && !known_ && trips >= 0)
    known_ = trips;
  count();
  chooseWay();
  regionsAt_ = bytes_;
  return bytes_ + std::max(body, test);
}

// What the host would have to wait for, or to launch too often, is left to the device where a stream is captured.
void LoopInstance::chooseWay() {
  const bool isWanted = (isDecided_ || launches_ > kMostRecorded) && !callsHost();
  const auto* const module = isWanted ? decisionModule() : nullptr;
  if (module == nullptr) {
    capture_.reset();
    return;
  }
  if (capture_ == nullptr) capture_ = std::make_unique<LoopCapture>(*module, loop_, places_, body_, test_);
  bytes_ = capture_->configure(bytes_);
  launches_ = cuda::launches(body_) + cuda::launches(test_) + 4;
}

void LoopInstance::findStates(std::span<const runtime::TensorShape> inputs) {
  const auto stateCount = static_cast<size_t>(loop_.states);
  places_.states.resize(stateCount);
  for (size_t i = 0; i < places_.parts.size(); ++i) addHome(stateCount + i, i);
  for (size_t i = 0; i < stateCount; ++i) {
    auto& state = places_.states[i];
    state.bytes = bytesOfShape(inputs[i]);
    addHome(i, std::nullopt);
    const size_t root = body_.rootOf(i);
    state.copies = root < stateCount && root != i;
    if (state.copies) state.at = take(state.bytes);
  }
}

void LoopInstance::addHome(size_t output, std::optional<size_t> part) {
  const size_t root = body_.rootOf(output);
  const auto isIt = [&](const LoopPlaces::Home& home) { return home.root == root; };
  if (!body_.isComputed(output) || std::any_of(places_.homes.begin(), places_.homes.end(), isIt)) return;
  places_.homes.push_back({root, part, output, 0});
  if (!part) places_.homes.back().at = take(bytesOfShape(body_.outputs()[output]));
}

void LoopInstance::count() {
  constexpr size_t kMost = 1000000000;
  const bool isKnown = loop_.counted ? known_.has_value() : true;
  isDecided_ = !isKnown || loop_.tested() || cuda::isDecidedByDevice(body_) || cuda::isDecidedByDevice(test_);
  launches_ = cuda::launches(body_) + 1;
  if (loop_.tested()) launches_ += cuda::launches(test_) + 1;
  if (known_ && !loop_.tested()) {
    const auto trips = static_cast<size_t>(std::clamp<int64_t>(*known_, 1, static_cast<int64_t>(kMost)));
    launches_ = std::min(kMost, launches_) * trips + 2;
  }
  launches_ = std::min(kMost, launches_);
}

char* LoopInstance::workspace(size_t at, const runtime::LaunchArguments& arguments) const {
  return static_cast<char*>(arguments.workspace) + at;
}

// Of iteration k: the result of a state, or a place in the workspace. Where the number of iterations is known, the last
// one gives the result.
void* LoopInstance::place(size_t at, size_t state, int64_t k, const runtime::LaunchArguments& arguments) const {
  const int64_t turn = loop_.tested() ? k : limit_ - 1 - k;
  return turn % 2 == 0 ? arguments.outputs[state] : workspace(at, arguments);
}

// The condition is asked once more than the body runs: then a slice may be missing, and the last one stands for it.
void* LoopInstance::slice(size_t i, int64_t k, const runtime::LaunchArguments& arguments) const {
  const auto& from = places_.sliced[i];
  const int64_t last = std::max<int64_t>(from.slices.count - 1, 0);
  const int64_t index = from.reverse ? last - std::min(k, last) : std::min(k, last);
  auto* const whole = static_cast<char*>(arguments.inputs[first_ + places_.states.size() + i]);
  return (from.apart ? workspace(from.at, arguments) : whole) + static_cast<size_t>(index) * from.pitch;
}

void* LoopInstance::part(size_t i, int64_t k, const runtime::LaunchArguments& arguments) const {
  const auto& to = places_.parts[i];
  if (to.apart) return workspace(to.at, arguments) + static_cast<size_t>(k) * to.pitch;
  const int64_t index = to.slices.count <= 1 ? 0 : (to.reverse ? limit_ - 1 - k : k);
  return static_cast<char*>(arguments.outputs[places_.states.size() + i]) + static_cast<size_t>(index) * to.pitch;
}

void LoopInstance::launch(const runtime::LaunchArguments& arguments) {
  if (capture_ != nullptr && isCapturing(arguments.stream)) {
    capture_->capture(arguments, {known_, countType_}, regionsAt_);
    return;
  }
  if (isRecording() && (isDecided_ || launches_ > kMostRecorded))
    throw Unsupported("a loop that waits for the device or launches more than {} kernels is not recorded",
                      kMostRecorded);
  begin(arguments);
  int64_t done = 0;
  for (; done < limit_ && goesOn(done, arguments); ++done) iterate(done, arguments);
  finish(done, arguments);
}

void LoopInstance::begin(const runtime::LaunchArguments& arguments) {
  limit_ = INT64_MAX;
  if (loop_.counted) {
    limit_ =
        std::max<int64_t>(0, known_ ? *known_ : readBack_.integer(countType_, arguments.inputs[0], arguments.stream));
  }
  if (!loop_.tested()) {
    // Before any work: the first iteration that there is no slice for.
    const int64_t most = places_.mostIterations();
    if (limit_ > most) places_.checkIteration(most);
  }
  void* const* const operands = arguments.inputs + first_;
  std::copy_n(operands, addresses_.size(), addresses_.begin());
  for (size_t i = 0; i < places_.states.size(); ++i) places_.states[i].now = operands[i];
  for (size_t i = 0; i < places_.sliced.size(); ++i) {
    const auto& from = places_.sliced[i];
    if (from.apart && limit_ > 0)
      moves_.split(from.slices, operands[places_.states.size() + i], workspace(from.at, arguments), from.pitch,
                   arguments.stream);
  }
  moves_.launch(arguments.stream);
}

bool LoopInstance::goesOn(int64_t k, const runtime::LaunchArguments& arguments) {
  for (size_t i = 0; i < places_.states.size(); ++i) addresses_[i] = places_.states[i].now;
  for (size_t i = 0; i < places_.sliced.size(); ++i) addresses_[places_.states.size() + i] = slice(i, k, arguments);
  if (!loop_.tested()) return true;
  const auto answer = test_.run(addresses_, workspace(regionsAt_, arguments), arguments.stream);
  if (readBack_.integer(DataType::kBool, answer[0], arguments.stream) == 0) return false;
  places_.checkIteration(k);
  return true;
}

void LoopInstance::iterate(int64_t k, const runtime::LaunchArguments& arguments) {
  for (const auto& home : places_.homes)
    body_.place(home.root, home.part ? part(*home.part, k, arguments) : place(home.at, home.state, k, arguments));
  const auto results = body_.run(addresses_, workspace(regionsAt_, arguments), arguments.stream);
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    moves_.add(results[places_.states.size() + i], part(i, k, arguments), places_.parts[i].slices.sliceBytes(),
               arguments.stream);
  }
  for (size_t i = 0; i < places_.states.size(); ++i) {
    auto& state = places_.states[i];
    state.now = state.copies ? place(state.at, i, k, arguments) : results[i];
    moves_.add(results[i], state.now, state.bytes, arguments.stream);
  }
  moves_.launch(arguments.stream);
}

void LoopInstance::finish(int64_t done, const runtime::LaunchArguments& arguments) {
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    const auto& to = places_.parts[i];
    auto* const whole = static_cast<char*>(arguments.outputs[places_.states.size() + i]);
    const size_t written = to.apart ? 0 : static_cast<size_t>(done) * to.pitch;
    if (done < to.slices.count) fillWithZeros(whole + written, bytesOfShape(to.shape) - written, arguments.stream);
  }
  for (size_t i = 0; i < places_.parts.size(); ++i) {
    const auto& to = places_.parts[i];
    if (to.apart)
      moves_.join(to.slices, workspace(to.at, arguments), to.pitch, arguments.outputs[places_.states.size() + i], done,
                  to.reverse, arguments.stream);
  }
  for (size_t i = 0; i < places_.states.size(); ++i)
    moves_.add(places_.states[i].now, arguments.outputs[i], places_.states[i].bytes, arguments.stream);
  moves_.launch(arguments.stream);
}

void LoopInstance::rethrow() const {
  if (capture_ != nullptr) capture_->rethrow();
  cuda::rethrow(body_);
  cuda::rethrow(test_);
}

}  // namespace tenon::backends::cuda
