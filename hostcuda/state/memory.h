// Every piece of memory that the runtime gave out or was told of, by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "failure.h"

namespace tenon::hostcuda {

struct MemoryPool;

enum class Origin { kMalloc, kHostAlloc, kRegistered, kManaged, kPool, kGraph };

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  Origin origin = Origin::kMalloc;
  unsigned flags = 0;
  bool isFreeing = false;            // cudaFreeAsync was called and its stream is not there yet
  std::shared_ptr<MemoryPool> pool;  // kPool only

  cudaMemoryType type() const;
};

class MemoryRegistry {
 public:
  static MemoryRegistry& instance();  // never destroyed

  // Throws MemoryAllocation when the device's memory (the machine's, or its control group's) would be exceeded.
  void* allocate(size_t size, Origin origin, unsigned flags = 0, std::shared_ptr<MemoryPool> pool = nullptr);
  // Gives back the allocation that begins at `pointer`; throws InvalidValue for any other pointer or origin.
  void release(void* pointer, Origin origin, Origin alternative);
  void release(void* pointer, Origin origin) { release(pointer, origin, origin); }
  void beginAsyncRelease(void* pointer);
  void finishAsyncRelease(void* pointer) noexcept;

  void registerRange(void* pointer, size_t size, unsigned flags);
  void unregisterRange(void* pointer);

  bool find(const void* pointer, Allocation& found) const;
  // Throws InvalidValue when [pointer, pointer + size) starts inside a known allocation and leaves it.
  void checkRange(const void* pointer, size_t size) const;
  void info(size_t& free, size_t& total) const;

  void beforeFork() { mutex_.lock(); }
  void afterFork() { mutex_.unlock(); }

 private:
  using Map = std::map<uintptr_t, Allocation>;
  Map::const_iterator containing(uintptr_t address) const;
  Allocation remove(Map::iterator entry);

  mutable std::mutex mutex_;
  Map allocations_;
  size_t used_ = 0;  // bytes given out; registered ranges excepted
};

// Memory of a graph's allocation node; lives as long as the graph and all graphs made from it.
struct GraphAllocation {
  explicit GraphAllocation(size_t size)
      : bytes(size), pointer(MemoryRegistry::instance().allocate(size, Origin::kGraph)) {}
  GraphAllocation(const GraphAllocation&) = delete;
  GraphAllocation& operator=(const GraphAllocation&) = delete;
  ~GraphAllocation() { MemoryRegistry::instance().release(pointer, Origin::kGraph); }
  size_t bytes;
  void* pointer;
};

}  // namespace tenon::hostcuda
