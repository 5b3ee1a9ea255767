// A short list, most recently used first.
#include "runtime/replays.h"

#include <algorithm>

#include "core/environment.h"

namespace tenon::runtime {
namespace {

// Double and triple buffering of inputs and outputs, and one more.
constexpr size_t kMostEntries = 4;

}  // namespace

Replays::Replays(Device& device)
    : recorder_(switchedOn("TENON_CUDA_GRAPH", true) ? dynamic_cast<Recorder*>(&device) : nullptr) {}

Replays::Decision Replays::look(const std::shared_ptr<Binding>& binding, void* arena,
                                const std::vector<void*>& addresses, StreamHandle stream) {
  if (recorder_ == nullptr || recorder_->isCapturing(stream)) return {};
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.binding == binding && entry.arena == arena && entry.addresses == addresses;
  });
  if (found == entries_.end()) {
    if (entries_.size() < kMostEntries) entries_.emplace_back();
    found = entries_.end() - 1;
    found->binding = binding;
    found->arena = arena;
    found->addresses = addresses;
    found->seen = 0;
    found->refused = false;
  }
  std::rotate(entries_.begin(), found, found + 1);
  auto& entry = entries_.front();
  ++entry.seen;
  if (entry.refused || entry.seen < 2) return {};
  // An entry that took over an old one's place has its recording for reuse only.
  if (entry.seen > 2) return {entry.recording.get(), false};
  return {nullptr, true};
}

Recording* Replays::record(Packet& packet) {
  auto& entry = entries_.front();
  entry.recording = recorder_->record(&Packet::record, &packet, std::move(entry.recording));
  entry.refused = entry.recording == nullptr;
  return entry.recording.get();
}

void Replays::forget(const Binding* binding) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.binding.get() == binding; });
}

void Replays::clear() { entries_.clear(); }

}  // namespace tenon::runtime
