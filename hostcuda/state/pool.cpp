// Memory pools: creation, the current pool of the device, statistics.
#include "pool.h"

namespace tenon::hostcuda {

void MemoryPool::add(uint64_t bytes) {
  const uint64_t now = used += bytes;
  uint64_t high = usedHigh;
  while (now > high && !usedHigh.compare_exchange_weak(high, now)) {
  }
}

MemoryPools& MemoryPools::instance() {
  static MemoryPools* pools = new MemoryPools;
  return *pools;
}

MemoryPools::MemoryPools() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  default_ = current_ = create(properties);
}

std::shared_ptr<MemoryPool> MemoryPools::create(const cudaMemPoolProps& properties) {
  auto pool = std::make_shared<MemoryPool>();
  pool->properties = properties;
  const std::lock_guard held(mutex_);
  pools_.emplace(pool->handle(), pool);
  return pool;
}

// Memory from the pool stays valid: each allocation holds it.
void MemoryPools::destroy(cudaMemPool_t handle) {
  const std::lock_guard held(mutex_);
  require(handle != default_->handle());
  require(pools_.erase(handle) == 1);
  if (current_->handle() == handle) current_ = default_;
}

std::shared_ptr<MemoryPool> MemoryPools::get(cudaMemPool_t handle) {
  const std::lock_guard held(mutex_);
  const auto found = pools_.find(handle);
  require(found != pools_.end());
  return found->second;
}

std::shared_ptr<MemoryPool> MemoryPools::current() {
  const std::lock_guard held(mutex_);
  return current_;
}

void MemoryPools::setCurrent(cudaMemPool_t handle) {
  const std::shared_ptr<MemoryPool> pool = get(handle);
  const std::lock_guard held(mutex_);
  current_ = pool;
}

}  // namespace tenon::hostcuda
