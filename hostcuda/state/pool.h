// Memory pools of the stream-ordered allocator: handles, attributes and statistics over the one registry.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "failure.h"

namespace tenon::hostcuda {

struct MemoryPool {
  cudaMemPoolProps properties{};
  std::atomic<uint64_t> releaseThreshold{0};
  std::atomic<uint64_t> used{0};
  std::atomic<uint64_t> usedHigh{0};
  std::atomic<int> followEvents{1};
  std::atomic<int> allowOpportunistic{1};
  std::atomic<int> allowInternal{1};
  std::atomic<int> access{cudaMemAccessFlagsProtReadWrite};

  void add(uint64_t bytes);
  void remove(uint64_t bytes) { used -= bytes; }
  cudaMemPool_t handle() { return reinterpret_cast<cudaMemPool_t>(this); }
};

class MemoryPools {
 public:
  static MemoryPools& instance();  // never destroyed

  std::shared_ptr<MemoryPool> create(const cudaMemPoolProps& properties);
  void destroy(cudaMemPool_t handle);
  std::shared_ptr<MemoryPool> get(cudaMemPool_t handle);
  std::shared_ptr<MemoryPool> defaultPool() { return default_; }
  std::shared_ptr<MemoryPool> current();
  void setCurrent(cudaMemPool_t handle);

  void beforeFork() { mutex_.lock(); }
  void afterFork() { mutex_.unlock(); }

 private:
  MemoryPools();
  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<MemoryPool>> pools_;
  std::shared_ptr<MemoryPool> default_;
  std::shared_ptr<MemoryPool> current_;
};

}  // namespace tenon::hostcuda
