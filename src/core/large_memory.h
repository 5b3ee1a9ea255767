// Memory for weights and plans: aligned, not cleared, on large pages where it is big. Touching fresh pages of four
// kilobytes costs more than copying into them.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace tenon {

// At least 64 bytes aligned; null where there is none. Freed by std::free.
void* allocateLarge(size_t bytes) noexcept;
void freeLarge(void* memory) noexcept;
// As std::memcpy. What is large is copied by several threads: one does not reach what memory can give.
void copyLarge(void* to, const void* from, size_t bytes) noexcept;

// Elements that are made without a value are left as the memory is.
template <typename T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) noexcept {}
  T* allocate(size_t count) {
    void* const memory = count > static_cast<size_t>(-1) / 2 / sizeof(T) ? nullptr : allocateLarge(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { freeLarge(memory); }
  template <typename U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  bool operator==(const LargeAllocator&) const noexcept { return true; }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace tenon
