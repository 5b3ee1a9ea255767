// Replacements of the global allocation functions; the library's calls come here too.
#include "alloc_failure/counted_memory.h"

#include <link.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

namespace tenon::test {
namespace {

std::atomic<int64_t> live{0};
thread_local bool counting = false;
thread_local bool failsOnwards = false;
thread_local int64_t failing = 0;
thread_local int64_t requests = 0;
thread_local bool failed = false;

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// oneDNN and protobuf lose objects of their own when memory gives out inside them, so their requests are left alone.
constexpr const char* kForeign[] = {"libdnnl.so", "libprotobuf-lite.so"};
using Ranges = std::array<Range, std::size(kForeign)>;

int findForeign(dl_phdr_info* info, std::size_t, void* result) {
  for (std::size_t i = 0; i < std::size(kForeign); ++i) {
    if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, kForeign[i]) == nullptr) continue;
    Range& range = (*static_cast<Ranges*>(result))[i];
    range.begin = info->dlpi_addr;
    for (int p = 0; p < info->dlpi_phnum; ++p) {
      const auto& part = info->dlpi_phdr[p];
      if (part.p_type == PT_LOAD)
        range.end = std::max<uintptr_t>(range.end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
  }
  return 0;
}

bool isForeign(const void* caller) noexcept {
  static const Ranges ranges = [] {
    Ranges found{};
    dl_iterate_phdr(&findForeign, &found);
    return found;
  }();
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return address >= range.begin && address < range.end; });
}

bool refuse(const void* caller) noexcept {
  if (!counting || isForeign(caller)) return false;
  ++requests;
  if (failing == 0 || requests < failing || (requests > failing && !failsOnwards)) return false;
  failed = true;
  return true;
}

void* newObject(std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  if (refuse(caller)) return nullptr;
  void* const memory =
      alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes) : memalign(alignment, bytes);
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* newOrThrow(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* const memory = newObject(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void deleteObject(void* memory) noexcept {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void beginCounting(int64_t number, bool onwards) noexcept {
  requests = 0;
  failing = number;
  failsOnwards = onwards;
  failed = false;
  counting = true;
}

int64_t endCounting() noexcept {
  counting = false;
  return requests;
}

bool hasFailed() noexcept { return failed; }
int64_t liveObjects() noexcept { return live.load(); }

}  // namespace tenon::test

using tenon::test::deleteObject;
using tenon::test::newObject;
using tenon::test::newOrThrow;

void* operator new(std::size_t bytes) { return newOrThrow(bytes, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return newOrThrow(bytes, 0, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return newOrThrow(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return newOrThrow(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return newObject(bytes, 0, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return newObject(bytes, 0, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return newObject(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { deleteObject(memory); }
void operator delete[](void* memory) noexcept { deleteObject(memory); }
void operator delete(void* memory, std::size_t) noexcept { deleteObject(memory); }
void operator delete[](void* memory, std::size_t) noexcept { deleteObject(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { deleteObject(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { deleteObject(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { deleteObject(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { deleteObject(memory); }

// What tensors live in.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return tenon::test::refuse(__builtin_return_address(0)) ? nullptr : memalign(alignment, bytes);
}
