// Extents to configured kernels.
#include "runtime/binding.h"

#include <algorithm>

#include "core/error.h"
#include "core/lazy_text.h"
#include "core/storage.h"
#include "memory/layout.h"
#include "ops/op/size.h"
#include "plan/branch_steps.h"
#include "runtime/control.h"
#include "runtime/engine_parts.h"
#include "runtime/host_device.h"

namespace tenon::runtime {

using plan::Storage;

Binding::Binding(std::shared_ptr<const Engine> engine, int profile)
    : engine_(std::move(engine)), program_(engine_->program(profile)), programIndex_(static_cast<size_t>(profile)) {
  const auto& kernels = engine_->parts().programs[programIndex_].kernels;
  const AllocatorScope scope(engine_->allocator());
  for (const auto& [kernel, packed] : kernels)
    instances_.push_back(kernel == nullptr ? nullptr : kernel->instantiate());
  for (const auto& step : program_.steps) others_.emplace_back(step.others.size());
  kernelOf_.assign(program_.steps.size(), plan::kOwnKernel);
  shapes_.resize(program_.tensors.size());
  bytes_.resize(program_.tensors.size());
  viewOffsets_.resize(program_.tensors.size());
  skipped_.resize(program_.steps.size());
  workspaceBytes_.resize(program_.steps.size());
  made_.resize(program_.steps.size());
  readSymbols_.resize(program_.steps.size());
  outgrown_.resize(program_.tensors.size());
  outgrownBytes_.resize(program_.tensors.size());
  outgrownMemory_.resize(program_.cuts.size() + 1);
  const auto& sizes = engine_->plan().sizes;
  isOpen_ = std::any_of(sizes.begin(), sizes.end(), [](const auto& size) { return !ops::Size::isBounded(size.upper); });
  planned_.bytes = program_.arenaBytes;
  for (const auto& tensor : program_.tensors) planned_.tensors.push_back(tensor.offset);
  for (const auto& step : program_.steps) planned_.workspaces.push_back(step.workspaceOffset);
  layHostArena();
}

int32_t Binding::base(int32_t tensor) const {
  return engine_->parts().programs[programIndex_].base[static_cast<size_t>(tensor)];
}

bool Binding::inHostArena(int32_t tensor) const {
  const auto& record = program_.tensors[static_cast<size_t>(tensor)];
  return record.onHost && record.storage == Storage::kArena && !engine_->device().isHost();
}

void Binding::layHostArena() {
  uint64_t bytes = 0;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    hostOffsets_.push_back(bytes);
    if (inHostArena(static_cast<int32_t>(i))) bytes = addBytes(bytes, alignBytes(program_.tensors[i].bytes, 64));
  }
  if (bytes != 0) hostArena_ = DeviceMemory(hostDevice(), nullptr, bytes, "shape tensors of the context");
}

const plan::ProgramPhases& Binding::phases() const { return engine_->parts().programs[programIndex_].phases; }

void Binding::configure(const SymbolValues& symbols) {
  configured_ = false;
  compactKnown_ = false;
  plannedBranches_.known = compactBranches_.known = false;
  symbols_ = symbols;
  values_ = symbols;
  configurePhase(0);
  configured_ = true;
}

bool Binding::configureNext(int32_t phase, const SymbolValues& symbols) {
  // Sizes of later phases may be there still, from the last execution.
  const bool same = std::all_of(symbols.begin(), symbols.end(), [&](const auto& entry) {
    const auto found = values_.find(entry.first);
    return found != values_.end() && found->second == entry.second;
  });
  if (same && readyPhases_ > phase) return false;
  values_ = symbols;
  configurePhase(phase);
  return true;
}

void Binding::configurePhase(int32_t phase) {
  const AllocatorScope scope(engine_->allocator());
  readyPhases_ = phase;
  measureTensors(phase);
  layOutgrown(phase);
  const auto [first, last] = plan::stepsOf(program_, phase);
  valuesNow_ = std::make_shared<const SymbolValues>(values_);
  chooseKernels(first, last);
  prepareSteps(first, last);
  uint64_t extra = 0;
  for (size_t i = first; i < last; ++i) {
    configureStep(i);
    if (workspaceBytes_[i] > program_.steps[i].workspaceBytes) extra = std::max(extra, workspaceBytes_[i]);
  }
  if (extra > extraWorkspace_.bytes()) {
    extraWorkspace_ = DeviceMemory(engine_->device(), engine_->allocator(), extra, "workspace of the context");
  }
  readyPhases_ = phase + 1;
  findControls(last);
}

void Binding::findControls(size_t end) {
  waitingStep_ = -1;
  controls_.clear();
  for (size_t step = 0; step < end; ++step) {
    const auto* const control = skipped(step) ? nullptr : dynamic_cast<const Control*>(instance(step));
    if (control == nullptr) continue;
    controls_.push_back(control);
    if (waitingStep_ < 0 && control->waits()) waitingStep_ = static_cast<int32_t>(step);
  }
}

bool Binding::isDecidedByDevice() const {
  return std::any_of(controls_.begin(), controls_.end(), [](const Control* c) { return c->isDecidedByDevice(); });
}

void Binding::rethrow() const {
  for (const auto* control : controls_) control->rethrow();
}

void Binding::measureTensors(int32_t phase) {
  const auto& known = phases().ofTensor;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    if (known[i] == phase) measureTensor(i);
  }
}

// Where sizes have no bound, tensors of later phases may need more memory than was planned: theirs then stands in
// memory of the context, laid out when the sizes are known.
void Binding::layOutgrown(int32_t phase) {
  const auto& known = phases().ofTensor;
  std::vector<uint64_t> needed(program_.tensors.size(), 0);
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const auto owner = static_cast<size_t>(base(static_cast<int32_t>(i)));
    if (known[owner] == phase && known[i] <= phase) needed[owner] = std::max(needed[owner], reach(i));
  }
  std::vector<memory::Block> blocks;
  std::vector<size_t> tensors;
  for (size_t i = 0; i < needed.size() && phase > 0 && isOpen_; ++i) {
    const auto& record = program_.tensors[i];
    if (known[i] != phase || record.storage != Storage::kArena || inHostArena(static_cast<int32_t>(i))) continue;
    outgrown_[i] = nullptr;
    if (needed[i] <= record.bytes) continue;
    checkUser(needed[i] <= kMostBytes, "tensor '{}' of shape {} exceeds the address space", record.name,
              textOf(shapes_[i].dims));
    blocks.push_back({record.firstStep, record.lastStep, needed[i], kMemoryAlignment});
    tensors.push_back(i);
  }
  if (!blocks.empty()) {
    const auto layout = memory::layout(blocks, memory::Effort::kQuick);
    auto& memory = outgrownMemory_[static_cast<size_t>(phase)];
    if (layout.bytes > memory.bytes()) {
      memory = {};
      memory = DeviceMemory(engine_->device(), engine_->allocator(), layout.bytes, "tensors of computed size");
    }
    for (size_t k = 0; k < tensors.size(); ++k) {
      outgrown_[tensors[k]] = static_cast<std::byte*>(memory.data()) + layout.offsets[k];
      outgrownBytes_[tensors[k]] = needed[tensors[k]];
    }
  }
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const auto owner = static_cast<size_t>(base(static_cast<int32_t>(i)));
    if (std::max(known[i], known[owner]) == phase) checkCapacity(i);
  }
}

void Binding::measureTensor(size_t tensor) {
  const auto& record = program_.tensors[tensor];
  shapes_[tensor] = {record.dtype, evaluate(record.shape, values_), record.layout};
  bytes_[tensor] = storageBytes(record.dtype, shapes_[tensor].dims, record.layout);
  if (bytes_[tensor] > kMostBytes) {
    throw UserError(
        "tensor '{}' would have the shape {} = {}: an extent is negative, or it exceeds the address space. The "
        "inputs are{}; give "
        "them other shapes",
        record.name, textOf(shapes_[tensor].dims), text(record.shape), inputShapes());
  }
  placeView(tensor);
}

void* Binding::addressOf(int32_t tensor, void* arena, const ArenaLayout& layout,
                         std::span<void* const> addresses) const {
  const auto& loaded = engine_->parts().programs[programIndex_];
  const int32_t owner = base(tensor);
  const auto& record = program_.tensors[static_cast<size_t>(owner)];
  void* address = loaded.constants[static_cast<size_t>(tensor)];
  if (record.storage == Storage::kInput || record.storage == Storage::kOutput)
    address = addresses[static_cast<size_t>(record.index)];
  if (record.storage == Storage::kArena) {
    void* const outgrown = outgrown_[static_cast<size_t>(owner)];
    address = inHostArena(owner)    ? hostAddress(owner)
              : outgrown != nullptr ? outgrown
                                    : static_cast<std::byte*>(arena) + layout.tensors[static_cast<size_t>(owner)];
  }
  return address == nullptr ? nullptr : static_cast<std::byte*>(address) + viewOffset(tensor);
}

std::string Binding::inputShapes() const {
  std::string result;
  for (const auto& record : program_.tensors) {
    if (record.storage == Storage::kInput)
      result += fmt::format(" '{}' {}", record.name, evaluate(record.shape, symbols_).text());
  }
  return result;
}

void Binding::placeView(size_t tensor) {
  const auto& record = program_.tensors[tensor];
  const auto value = [&](const Extent& extent) {
    return extent.isConstant() ? extent.constant() : extent.evaluate(values_);
  };
  const int64_t offset = value(record.viewOffset);
  const int64_t pitch = value(record.pitch);
  auto& shape = shapes_[tensor];
  constexpr int64_t kMost = int64_t{1} << 46;
  const bool isRow = pitch == 0 || (pitch <= kMost && pitch >= shape.dims[1]);
  const bool isPlace = offset >= 0 && offset <= kMost && offset * 8 % bits(record.dtype) == 0;
  checkUser(isPlace && isRow, "tensor '{}' of shape {} begins at byte {} of another tensor with a row pitch of {}",
            record.name, textOf(shape.dims), offset, pitch);
  viewOffsets_[tensor] = static_cast<uint64_t>(offset);
  shape.pitch = bytes_[tensor] == 0 ? 0 : pitch;
}

// Bytes from the start of its base to its own end.
uint64_t Binding::reach(size_t tensor) const {
  const auto& shape = shapes_[tensor];
  if (bytes_[tensor] == 0) return 0;
  uint64_t bytes = bytes_[tensor];
  if (shape.pitch != 0) {
    Dims wide = shape.dims;
    wide[1] = shape.pitch;
    bytes = storageBytes(shape.dtype, wide, shape.layout);  // UINT64_MAX where it does not fit
    bytes -= std::min(bytes, static_cast<uint64_t>((shape.pitch - shape.dims[1]) * bits(shape.dtype) / 8));
  }
  return bytes > UINT64_MAX / 2 ? UINT64_MAX : viewOffsets_[tensor] + bytes;
}

// What a tensor may take at most: its place in the arena, or what the tensor that it is a view of has.
void Binding::checkCapacity(size_t tensor) const {
  const auto owner = static_cast<size_t>(base(static_cast<int32_t>(tensor)));
  const auto& record = program_.tensors[owner];
  uint64_t capacity = bytes_[owner];
  if (record.storage == Storage::kArena) capacity = outgrown_[owner] != nullptr ? outgrownBytes_[owner] : record.bytes;
  if (record.storage == Storage::kConstant)
    capacity = engine_->plan().constants[static_cast<size_t>(record.index)].bytes;
  checkUser(reach(tensor) <= capacity, "tensor '{}' of shape {} takes {} bytes, the engine was built for at most {}",
            program_.tensors[tensor].name, textOf(shapes_[tensor].dims), reach(tensor), capacity);
}

Binding::StepShapes Binding::shapesOf(const plan::Step& step) const {
  StepShapes result;
  for (const int32_t input : step.inputs)
    result.inputs.push_back(input < 0 ? TensorShape{} : shapes_[static_cast<size_t>(input)]);
  for (const int32_t output : step.outputs) result.outputs.push_back(shapes_[static_cast<size_t>(output)]);
  return result;
}

const ArenaLayout& Binding::compact() {
  if (compactKnown_) return compact_;
  std::vector<memory::Block> blocks;
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    const auto& record = program_.tensors[i];
    const bool inArena = record.storage == Storage::kArena && !inHostArena(static_cast<int32_t>(i));
    blocks.push_back({record.firstStep, record.lastStep, inArena ? bytes_[i] : 0, kMemoryAlignment});
  }
  // A view may be larger than the tensor whose memory it is: the owner's place must hold both.
  for (size_t i = 0; i < program_.tensors.size(); ++i) {
    auto& owner = blocks[static_cast<size_t>(base(static_cast<int32_t>(i)))];
    if (owner.bytes != 0) owner.bytes = std::max(owner.bytes, reach(i));
  }
  for (size_t i = 0; i < program_.steps.size(); ++i) {
    const auto step = static_cast<int32_t>(i);
    blocks.push_back({step, step, extraWorkspace(i) == nullptr ? workspaceBytes_[i] : 0, kMemoryAlignment});
  }
  auto layout = memory::layout(blocks, memory::Effort::kQuick);
  const auto split = layout.offsets.begin() + static_cast<std::ptrdiff_t>(program_.tensors.size());
  compact_.tensors.assign(layout.offsets.begin(), split);
  compact_.workspaces.assign(split, layout.offsets.end());
  compact_.bytes = layout.bytes;
  compactKnown_ = true;
  return compact_;
}

const memory::Branches* Binding::branches(const ArenaLayout& layout) {
  if (program_.auxStreams == 0 || !phases().isOne()) return nullptr;
  for (size_t i = 0; i < program_.steps.size(); ++i) {
    if (extraWorkspace(i) != nullptr) return nullptr;  // of which there is one for all steps
  }
  auto& known = &layout == &planned_ ? plannedBranches_ : compactBranches_;
  if (!known.known) known.branches = findBranches(layout);
  known.known = true;
  return known.branches.streams > 1 ? &known.branches : nullptr;
}

// From the places themselves, so that steps which share memory keep their order however it was laid out.
memory::Branches Binding::findBranches(const ArenaLayout& layout) const {
  const auto tensorPlace = [&](int32_t tensor, int32_t owner) {
    const auto i = static_cast<size_t>(owner);
    const bool inArena = program_.tensors[i].storage == Storage::kArena && !inHostArena(owner);
    const uint64_t start = inArena ? layout.tensors[i] : 0;
    const auto at = static_cast<size_t>(tensor);
    return plan::Place{inArena ? 0 : owner + 1, start + viewOffset(tensor),
                       start + std::max(viewOffset(tensor), reach(at))};
  };
  const auto workspacePlace = [&](size_t step) {
    return plan::Place{0, layout.workspaces[step], layout.workspaces[step] + workspaceBytes_[step]};
  };
  return memory::branch(plan::branchSteps(program_, tensorPlace, workspacePlace), program_.auxStreams + 1);
}

StepTimer& Binding::timer() {
  if (timer_ == nullptr) timer_ = engine_->device().makeTimer(program_.steps.size() + 1 + program_.cuts.size());
  return *timer_;
}

}  // namespace tenon::runtime
