// The registry of memory: allocation within the machine's limit, lookup by address, asynchronous release.
#include "memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pool.h"

namespace tenon::hostcuda {
namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{4} << 20;  // large tensors gain from huge pages, small ones would waste them

size_t physicalMemory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return size_t{1} << 32;
  return static_cast<size_t>(info.totalram) * info.mem_unit;
}

// The limit of the control group the process runs in (containers), or no limit.
size_t controlGroupLimit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) continue;
    unsigned long long bytes = 0;
    const bool isNumber = std::fscanf(file, "%llu", &bytes) == 1;
    std::fclose(file);
    if (isNumber && bytes > 0) return bytes;
  }
  return ~size_t{0};
}

size_t totalMemory() {
  static const size_t total = std::min(physicalMemory(), controlGroupLimit());
  return total;
}

// Bytes that could be used now without swapping, from /proc/meminfo.
size_t availableMemory() {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return totalMemory();
  char line[128];
  unsigned long long kibibytes = 0;
  bool isFound = false;
  while (!isFound && std::fgets(line, sizeof line, file) != nullptr) {
    isFound = std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1;
  }
  std::fclose(file);
  return isFound ? static_cast<size_t>(kibibytes) * 1024 : totalMemory();
}

void* allocateAligned(size_t size) {
  const bool isHuge = size >= kHugeFrom;
  void* pointer = nullptr;
  if (posix_memalign(&pointer, isHuge ? kHugePage : kAlignment, size) != 0) fail(cudaErrorMemoryAllocation);
  if (isHuge) madvise(pointer, size, MADV_HUGEPAGE);  // advice: where the kernel refuses, nothing is lost
  return pointer;
}

}  // namespace

cudaMemoryType Allocation::type() const {
  switch (origin) {
    case Origin::kHostAlloc:
    case Origin::kRegistered: return cudaMemoryTypeHost;
    case Origin::kManaged: return cudaMemoryTypeManaged;
    case Origin::kMalloc:
    case Origin::kPool:
    case Origin::kGraph: break;
  }
  return cudaMemoryTypeDevice;
}

MemoryRegistry& MemoryRegistry::instance() {
  static MemoryRegistry* registry = new MemoryRegistry;
  return *registry;
}

void* MemoryRegistry::allocate(size_t size, Origin origin, unsigned flags, std::shared_ptr<MemoryPool> pool) {
  const std::lock_guard held(mutex_);
  require(size <= totalMemory() - std::min(used_, totalMemory()), cudaErrorMemoryAllocation);
  void* pointer = allocateAligned(size);
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  if (pool != nullptr) pool->add(size);
  allocations_.emplace(base, Allocation{base, size, origin, flags, false, std::move(pool)});
  used_ += size;
  return pointer;
}

Allocation MemoryRegistry::remove(Map::iterator entry) {
  Allocation allocation = std::move(entry->second);
  allocations_.erase(entry);
  used_ -= allocation.size;
  if (allocation.pool != nullptr) allocation.pool->remove(allocation.size);
  return allocation;
}

void MemoryRegistry::release(void* pointer, Origin origin, Origin alternative) {
  {
    const std::lock_guard held(mutex_);
    const auto entry = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
    require(entry != allocations_.end() && !entry->second.isFreeing);
    require(entry->second.origin == origin || entry->second.origin == alternative);
    remove(entry);
  }
  std::free(pointer);
}

void MemoryRegistry::beginAsyncRelease(void* pointer) {
  const std::lock_guard held(mutex_);
  const auto entry = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
  require(entry != allocations_.end() && !entry->second.isFreeing);
  require(entry->second.origin == Origin::kPool || entry->second.origin == Origin::kMalloc);
  entry->second.isFreeing = true;
}

void MemoryRegistry::finishAsyncRelease(void* pointer) noexcept {
  {
    const std::lock_guard held(mutex_);
    const auto entry = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
    if (entry == allocations_.end() || !entry->second.isFreeing) return;
    remove(entry);
  }
  std::free(pointer);
}

MemoryRegistry::Map::const_iterator MemoryRegistry::containing(uintptr_t address) const {
  auto entry = allocations_.upper_bound(address);
  if (entry == allocations_.begin()) return allocations_.end();
  --entry;
  return address - entry->second.base < entry->second.size ? entry : allocations_.end();
}

void MemoryRegistry::registerRange(void* pointer, size_t size, unsigned flags) {
  require(pointer != nullptr && size > 0);
  const std::lock_guard held(mutex_);
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  require(base + size > base);
  const auto next = allocations_.lower_bound(base);
  const bool overlapsNext = next != allocations_.end() && next->first < base + size;
  require(!overlapsNext && containing(base) == allocations_.end(), cudaErrorHostMemoryAlreadyRegistered);
  allocations_.emplace(base, Allocation{base, size, Origin::kRegistered, flags, false, nullptr});
}

void MemoryRegistry::unregisterRange(void* pointer) {
  const std::lock_guard held(mutex_);
  const auto entry = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
  require(entry != allocations_.end() && entry->second.origin == Origin::kRegistered, cudaErrorHostMemoryNotRegistered);
  allocations_.erase(entry);
}

bool MemoryRegistry::find(const void* pointer, Allocation& found) const {
  const std::lock_guard held(mutex_);
  const auto entry = containing(reinterpret_cast<uintptr_t>(pointer));
  if (entry == allocations_.end()) return false;
  found = entry->second;
  return true;
}

void MemoryRegistry::checkRange(const void* pointer, size_t size) const {
  if (size == 0) return;
  require(pointer != nullptr);
  const std::lock_guard held(mutex_);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto entry = containing(address);
  if (entry == allocations_.end()) return;  // the program's own memory
  // A registered range may be a part of a larger buffer; only what was allocated here has a known end.
  if (entry->second.origin == Origin::kRegistered) return;
  require(size <= entry->second.size - (address - entry->second.base));
}

void MemoryRegistry::info(size_t& free, size_t& total) const {
  const std::lock_guard held(mutex_);
  total = totalMemory();
  free = std::min(availableMemory(), total - std::min(used_, total));
}

}  // namespace tenon::hostcuda
