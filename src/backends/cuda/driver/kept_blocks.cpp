// Sizes are rounded, so that those of one problem serve the next.
#include "backends/cuda/driver/kept_blocks.h"

#include <algorithm>
#include <new>

namespace tenon::backends::cuda {
namespace {

constexpr size_t kMostKept = size_t{4} << 30;  // bytes
constexpr size_t kLeast = 512;                 // of a block

thread_local int keepersHere = 0;  // of this thread, among those of all

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// At most an eighth more.
size_t roundedSize(size_t bytes) {
  size_t step = kLeast;
  while (step * 16 < bytes) step *= 2;
  return std::max(kLeast, (bytes + step - 1) / step * step);
}

void* fromDriver(size_t bytes) {
  CUdeviceptr pointer = 0;
  return driver().memAlloc(&pointer, bytes) == CUDA_SUCCESS ? reinterpret_cast<void*>(pointer) : nullptr;
}

}  // namespace

void KeptBlocks::keep() {
  const std::lock_guard lock(mutex_);
  ++keepers_;
  ++keepersHere;
}

void KeptBlocks::letGo() noexcept {
  const std::lock_guard lock(mutex_);
  --keepersHere;
  if (--keepers_ == 0) drop(0);
}

void* KeptBlocks::allocate(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  if (keepersHere == 0) {
    void* const pointer = fromDriver(bytes);
    if (pointer != nullptr) return pointer;
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return nullptr;
    drop(0);  // what builds beside keep is not lacking here
    return fromDriver(bytes);
  }
  const std::lock_guard lock(mutex_);
  const size_t rounded = roundedSize(bytes);
  void* pointer = take(rounded);
  if (pointer != nullptr) return pointer;
  pointer = fromDriver(rounded);
  if (pointer == nullptr) {
    drop(0);
    return fromDriver(bytes);
  }
  try {
    sizes_.emplace(pointer, rounded);
  } catch (const std::bad_alloc&) {
    // The driver takes back what is not known here.
  }
  return pointer;
}

void KeptBlocks::free(void* pointer) noexcept {
  std::unique_lock lock(mutex_);
  const auto known = sizes_.find(pointer);
  if (known == sizes_.end() || keepersHere == 0) {
    if (known != sizes_.end()) sizes_.erase(known);
    lock.unlock();
    driver().memFree(address(pointer));  // waits for what still uses it
    return;
  }
  try {
    kept_.emplace(known->second, pointer);
    bytes_ += known->second;
  } catch (const std::exception&) {
    sizes_.erase(known);
    driver().memFree(address(pointer));
  }
  drop(kMostKept);
}

void* KeptBlocks::take(size_t bytes) {
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first > bytes + bytes / 2) return nullptr;
  void* const pointer = found->second;
  bytes_ -= found->first;
  kept_.erase(found);
  return pointer;
}

// The largest first.
void KeptBlocks::drop(size_t most) noexcept {
  while (bytes_ > most) {
    const auto last = std::prev(kept_.end());
    bytes_ -= last->first;
    sizes_.erase(last->second);
    driver().memFree(address(last->second));
    kept_.erase(last);
  }
}

}  // namespace tenon::backends::cuda
