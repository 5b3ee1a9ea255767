// ITimingCache: bytes, union, and entries by hashed key.
#include "api/builder/timing_cache.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "api/common/host_memory.h"
#include "core/fields.h"

namespace tenon::api {
namespace {

constexpr float kMillisecondsPerSecond = 1000;

nv::TimingCacheKey hashed(const std::string& key) {
  const std::array<uint64_t, 2> halves{hashBytes(key), hashBytes(key, 1)};
  nv::TimingCacheKey result{};
  static_assert(sizeof(result.data) == sizeof(halves));
  std::memcpy(result.data, halves.data(), sizeof(halves));
  return result;
}

bool equal(const nv::TimingCacheKey& a, const nv::TimingCacheKey& b) {
  return std::memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

}  // namespace

nv::IHostMemory* TimingCacheObject::serialize() const noexcept {
  return guarded(reporter_, "ITimingCache::serialize", static_cast<nv::IHostMemory*>(nullptr),
                 [&] { return static_cast<nv::IHostMemory*>(new HostMemory(cache_.serialize())); });
}

void TimingCacheObject::read(const void* blob, std::size_t size) {
  if (size == 0) return;
  try {
    cache_.deserialize({static_cast<const std::byte*>(blob), size});
  } catch (const UserError& error) {
    reporter_.warning("IBuilderConfig::createTimingCache: {}; none of its entries are used", error.what());
    cache_.clear();
  }
}

bool TimingCacheObject::combine(const nv::ITimingCache& inputCache, bool) noexcept {
  return guarded(reporter_, "ITimingCache::combine", false, [&] {
    const auto* other = dynamic_cast<const TimingCacheObject*>(&inputCache);
    checkUser(other != nullptr && other != this, "the other timing cache is none of this library, or the same one");
    cache_.combine(other->cache_);
    return true;
  });
}

bool TimingCacheObject::reset() noexcept {
  cache_.clear();
  return true;
}

int64_t TimingCacheObject::queryKeys(nv::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept {
  return guarded(reporter_, "ITimingCache::queryKeys", int64_t{-1}, [&] {
    const auto keys = cache_.keys();
    for (size_t i = 0; keyBuffer != nullptr && i < keys.size() && static_cast<int64_t>(i) < capacity; ++i) {
      keyBuffer[i] = hashed(keys[i]);
    }
    return static_cast<int64_t>(keys.size());
  });
}

nv::TimingCacheValue TimingCacheObject::query(const nv::TimingCacheKey& key) const noexcept {
  const nv::TimingCacheValue none{nv::TimingCacheValue::kINVALID_TACTIC_HASH, -1.0F};
  return guarded(reporter_, "ITimingCache::query", none, [&] {
    for (const auto& text : cache_.keys()) {
      if (!equal(hashed(text), key)) continue;
      const auto seconds = static_cast<float>(cache_.find(text).value_or(0));
      return nv::TimingCacheValue{hashBytes(text), seconds * kMillisecondsPerSecond};
    }
    return none;
  });
}

bool TimingCacheObject::update(const nv::TimingCacheKey& key, const nv::TimingCacheValue& value) noexcept {
  return guarded(reporter_, "ITimingCache::update", false, [&] {
    const bool removes = value.tacticHash == nv::TimingCacheValue::kINVALID_TACTIC_HASH;
    checkUser(removes || (std::isfinite(value.timingMSec) && value.timingMSec >= 0),
              "the time of an entry is {} ms, expected a finite number of at least 0", value.timingMSec);
    for (const auto& text : cache_.keys()) {
      if (!equal(hashed(text), key)) continue;
      cache_.erase(text);
      // An invalid tactic takes the entry out, so that the next build measures again.
      if (!removes) {
        cache_.insert(text, static_cast<double>(value.timingMSec) / static_cast<double>(kMillisecondsPerSecond));
      }
      return true;
    }
    return false;
  });
}

}  // namespace tenon::api
