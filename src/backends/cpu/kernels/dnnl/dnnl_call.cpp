// Running calls of oneDNN, slices side by side.
#include "backends/cpu/kernels/dnnl/dnnl_call.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/one_thread.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {

void DnnlCall::add(int argument, const dnnl::memory& memory) {
  held_.push_back(memory);
  arguments_.push_back({argument, memory.get()});
}

void DnnlCall::bind(int argument, const dnnl::memory::desc& desc, int slot, int64_t offset) {
  const dnnl::memory memory(desc, dnnlEngine(), nullptr);
  add(argument, memory);
  places_.push_back({memory, slot, offset, nullptr});
}

void DnnlCall::fix(int argument, const dnnl::memory& memory) { add(argument, memory); }

void DnnlCall::bindScratch(const dnnl::memory::desc& desc) {
  constexpr int kScratchSlot = -1;
  scratchBytes_ = desc.get_size();
  if (scratchBytes_ != 0) bind(DNNL_ARG_SCRATCHPAD, desc, kScratchSlot);
}

void DnnlCall::run(void* const* slots, void* scratch) {
  const OneThread alone;
  // What the library makes when it first executes anything, a child would wait for.
  static std::atomic<bool> hasRun{false};
  std::optional<platform::WithoutFork> noFork;
  if (!hasRun.load(std::memory_order_relaxed)) noFork.emplace();
  for (auto& place : places_) {
    void* const address = place.slot < 0 ? scratch : static_cast<std::byte*>(slots[place.slot]) + place.offset;
    if (address != std::exchange(place.last, address)) place.memory.set_data_handle(address);
  }
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), dnnlStream().get(),
                                                 static_cast<int>(arguments_.size()), arguments_.data()),
                          "oneDNN could not execute a primitive");
  if (noFork) hasRun = true;
  if (finish_) finish_(slots);
}

size_t DnnlCalls::scratchBytes() const {
  constexpr size_t kLine = 64;
  size_t most = 0;
  for (const auto& call : calls_) most = std::max(most, call.scratchBytes());
  return (most + kLine - 1) / kLine * kLine;
}

size_t DnnlCalls::workspaceBytes() const {
  return scratchBytes() * std::min<size_t>(calls_.size(), static_cast<size_t>(platform::coreCount()));
}

void DnnlCalls::run(void* const* slots, void* workspace) {
  if (calls_.size() == 1) return calls_.front().run(slots, workspace);
  const size_t each = scratchBytes();
  const auto count = static_cast<int64_t>(calls_.size());
  const auto body = [&](int64_t begin, int64_t end, int place) {
    void* const scratch = each == 0 ? nullptr : static_cast<std::byte*>(workspace) + static_cast<size_t>(place) * each;
    for (int64_t i = begin; i < end; ++i) calls_[static_cast<size_t>(i)].run(slots, scratch);
  };
  platform::parallelPieces(count, count, count, body);
}

}  // namespace tenon::backends::cpu
