// ITimingCache: bytes, union, and entries by hashed key.
#include "api/builder/timing_cache.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "api/common/hand_out.h"
#include "api/common/host_memory.h"
#include "core/fields.h"

namespace tenon::api {
namespace {

constexpr float kMillisecondsPerSecond = 1000;

nv::TimingCacheKey toApi(const compile::SelectionKey& key) {
  nv::TimingCacheKey result{};
  static_assert(sizeof(result.data) == sizeof(key));
  std::memcpy(result.data, key.data(), sizeof(key));
  return result;
}

compile::SelectionKey fromApi(const nv::TimingCacheKey& key) {
  compile::SelectionKey result;
  std::memcpy(result.data(), key.data, sizeof(result));
  return result;
}

}  // namespace

nv::IHostMemory* TimingCacheObject::serialize() const noexcept {
  return guarded(reporter_, "ITimingCache::serialize", static_cast<nv::IHostMemory*>(nullptr),
                 [&] { return handOut<nv::IHostMemory, HostMemory>(cache_.serialize()); });
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
    checkUser(other != nullptr && other != this,
              "the other timing cache is this one, or was not created by this library");
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
    auto keys = cache_.selectionKeys();
    for (const auto& text : cache_.keys()) keys.push_back(compile::selectionKey(text));
    for (size_t i = 0; keyBuffer != nullptr && i < keys.size() && static_cast<int64_t>(i) < capacity; ++i)
      keyBuffer[i] = toApi(keys[i]);
    return static_cast<int64_t>(keys.size());
  });
}

std::optional<std::string> TimingCacheObject::timed(const nv::TimingCacheKey& key) const {
  const auto wanted = fromApi(key);
  for (auto& text : cache_.keys()) {
    if (compile::selectionKey(text) == wanted) return std::move(text);
  }
  return std::nullopt;
}

nv::TimingCacheValue TimingCacheObject::query(const nv::TimingCacheKey& key) const noexcept {
  const nv::TimingCacheValue none{nv::TimingCacheValue::kINVALID_TACTIC_HASH, -1.0F};
  return guarded(reporter_, "ITimingCache::query", none, [&] {
    const auto value = [](uint64_t tactic, double seconds) {
      return nv::TimingCacheValue{tactic, static_cast<float>(seconds) * kMillisecondsPerSecond};
    };
    if (const auto selection = cache_.selection(fromApi(key))) return value(selection->candidate, selection->seconds);
    const auto text = timed(key);
    return text ? value(hashBytes(*text), cache_.find(*text).value_or(0)) : none;
  });
}

bool TimingCacheObject::update(const nv::TimingCacheKey& key, const nv::TimingCacheValue& value) noexcept {
  return guarded(reporter_, "ITimingCache::update", false, [&] {
    const auto selection = cache_.selection(fromApi(key));
    const auto text = selection ? std::nullopt : timed(key);
    if (!selection && !text) return false;
    if (std::isnan(value.timingMSec)) return selection ? cache_.deselect(fromApi(key)) : cache_.erase(*text);
    checkUser(std::isfinite(value.timingMSec) && value.timingMSec >= 0,
              "the time of an entry is {} ms, expected a finite number of at least 0, or NaN to remove the entry",
              value.timingMSec);
    checkUser(
        value.tacticHash != nv::TimingCacheValue::kINVALID_TACTIC_HASH,
        "the tactic of an entry is kINVALID_TACTIC_HASH; expected the hash of one of the tactics that the build's log "
        "lists, or a "
        "time that is NaN to remove the entry");
    const double seconds = static_cast<double>(value.timingMSec) / static_cast<double>(kMillisecondsPerSecond);
    if (selection) {
      cache_.select(fromApi(key), {value.tacticHash, seconds});
    } else {
      cache_.insert(*text, seconds);
    }
    return true;
  });
}

}  // namespace tenon::api
