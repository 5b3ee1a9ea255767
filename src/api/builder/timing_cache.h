// ITimingCache over the build stage's cache.
#pragma once

#include <NvInfer.h>

#include <optional>
#include <string>

#include "api/common/reporter.h"
#include "compile/tune/timing_cache.h"

namespace tenon::api {

class TimingCacheObject final : public nv::ITimingCache, public nv::apiv::VTimingCache {
 public:
  explicit TimingCacheObject(Reporter& parent) : reporter_(parent.logger(), parent.recorder()) { mImpl = this; }

  nv::IHostMemory* serialize() const noexcept override;
  bool combine(const nv::ITimingCache& inputCache, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
  // First the keys of the choices that builds with kEDITABLE_TIMING_CACHE made, which their logs name; then the 128-bit
  // hashes of the keys of single times, whose update changes what a candidate is thought to take.
  int64_t queryKeys(nv::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
  nv::TimingCacheValue query(const nv::TimingCacheKey& key) const noexcept override;
  // The next build takes the tactic that is given. A time that is NaN removes the entry.
  bool update(const nv::TimingCacheKey& key, const nv::TimingCacheValue& value) noexcept override;

  // Adds the entries of a serialized cache; a damaged one is reported as a warning and leaves this one empty, because a
  // build without its entries is only slower.
  void read(const void* blob, std::size_t size);
  compile::TimingCache& cache() noexcept { return cache_; }

 private:
  // The cache's own key of a time.
  std::optional<std::string> timed(const nv::TimingCacheKey& key) const;

  mutable Reporter reporter_;
  compile::TimingCache cache_;
};

}  // namespace tenon::api
