// A short list, most recently used first.
#include "runtime/replays.h"

#include <algorithm>

#include "core/environment.h"

namespace tenon::runtime {
namespace {

// Double and triple buffering of inputs and outputs, and one more.
constexpr size_t kMostEntries = 4;
// Executions of a set before it is recorded, where sets come and go.
constexpr int kSeenAmongMany = 4;
// Launches that are worth a graph of their own.
constexpr size_t kFewestSteps = 4;

bool touchesCaller(const Binding& binding, const plan::Step& step) {
  const auto isCallers = [&](int32_t tensor) {
    if (tensor < 0) return false;
    const auto storage = binding.program().tensors[static_cast<size_t>(binding.base(tensor))].storage;
    return storage == plan::Storage::kInput || storage == plan::Storage::kOutput;
  };
  return std::any_of(step.inputs.begin(), step.inputs.end(), isCallers) ||
         std::any_of(step.outputs.begin(), step.outputs.end(), isCallers);
}

}  // namespace

Replays::Replays(Device& device)
    : recorder_(switchedOn("TENON_CUDA_GRAPH", true) ? dynamic_cast<Recorder*>(&device) : nullptr) {}

Replays::Decision Replays::look(const std::shared_ptr<Binding>& binding, void* arena, const ArenaLayout& layout,
                                const std::vector<void*>& addresses, StreamHandle stream) {
  if (recorder_ == nullptr || recorder_->isCapturing(stream)) return {};
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.binding == binding && entry.arena == arena && entry.layout == &layout && entry.addresses == addresses;
  });
  if (found == entries_.end()) {
    isCrowded_ = isCrowded_ || entries_.size() == kMostEntries;
    if (entries_.size() < kMostEntries) entries_.emplace_back();
    found = entries_.end() - 1;
    found->binding = binding;
    found->arena = arena;
    found->layout = &layout;
    found->addresses = addresses;
    found->seen = 0;
    found->refused = found->isRecorded = false;  // the recording of the set before it is for reuse only
  }
  std::rotate(entries_.begin(), found, found + 1);
  auto& entry = entries_.front();
  ++entry.seen;
  const int wanted = isCrowded_ ? kSeenAmongMany : 2;
  if (entry.refused || (!entry.isRecorded && entry.seen < wanted)) return {};
  if (entry.isRecorded) return {entry.recording.get(), false};
  return {nullptr, true};
}

Recording* Replays::record(Packet& packet) {
  auto& entry = entries_.front();
  entry.recording = recorder_->record(&Packet::record, &packet, std::move(entry.recording));
  entry.refused = entry.recording == nullptr;
  entry.isRecorded = !entry.refused;
  return entry.recording.get();
}

const std::vector<StepRun>* Replays::runs(Packet& packet, const std::shared_ptr<Binding>& binding, void* arena,
                                          const ArenaLayout& layout, StreamHandle stream) {
  if (!isCrowded_ || recorder_ == nullptr || packet.branches != nullptr || recorder_->isCapturing(stream))
    return nullptr;
  auto found = std::find_if(fixed_.begin(), fixed_.end(), [&](const Fixed& one) {
    return one.binding == binding && one.arena == arena && one.layout == &layout;
  });
  if (found == fixed_.end()) {
    if (fixed_.size() == kMostEntries) fixed_.pop_back();
    found = fixed_.insert(fixed_.end(), Fixed{binding, arena, &layout, {}, 0});
  }
  std::rotate(fixed_.begin(), found, found + 1);
  auto& fixed = fixed_.front();
  if (++fixed.seen == 2) fixed.runs = record(packet, *binding);
  return fixed.runs.empty() ? nullptr : &fixed.runs;
}

// Runs that cannot be recorded are launched as the others; none where there is nothing to gain.
std::vector<StepRun> Replays::record(Packet& packet, const Binding& binding) {
  std::vector<StepRun> runs;
  size_t recorded = 0;
  const auto& steps = binding.program().steps;
  for (size_t first = 0; first < steps.size();) {
    const bool isCallers = touchesCaller(binding, steps[first]);
    size_t last = first + 1;
    while (last < steps.size() && touchesCaller(binding, steps[last]) == isCallers) ++last;
    size_t launches = 0;
    for (size_t i = first; i < last; ++i) launches += binding.skipped(i) ? 0 : 1;
    StepRun run{first, last, nullptr};
    if (!isCallers && launches >= kFewestSteps) {
      Packet::RunToRecord part{&packet, first, last};
      run.recording = recorder_->record(&Packet::recordRun, &part, nullptr);
      recorded += run.recording != nullptr ? 1 : 0;
    }
    runs.push_back(std::move(run));
    first = last;
  }
  if (recorded == 0) runs.clear();
  return runs;
}

void Replays::forget(const Binding* binding) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.binding.get() == binding; });
  std::erase_if(fixed_, [&](const Fixed& fixed) { return fixed.binding.get() == binding; });
}

void Replays::clear() {
  entries_.clear();
  fixed_.clear();
}

}  // namespace tenon::runtime
