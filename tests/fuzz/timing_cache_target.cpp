// Bytes of timing caches: the first byte says whether the rest is a whole file or a body that gets a right header. What
// is read must be written and read again without a change.
#include <fmt/format.h>

#include <span>
#include <string>

#include "compile/tune/timing_cache.h"
#include "core/error.h"
#include "core/fields.h"
#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) text = fmt::format("tenon timing cache 1 entries=0 hash={:016x}\n{}", hashBytes(text), text);
  compile::TimingCache cache;
  try {
    cache.deserialize(std::as_bytes(std::span(text)));
  } catch (const UserError&) {
    fuzz::require(cache.size() == 0, "a refused cache leaves nothing behind");
    return 0;
  }
  const auto written = cache.serialize();
  compile::TimingCache again;
  try {
    again.deserialize(written);
  } catch (const UserError& error) {
    fuzz::require(false, "a cache that was read is written so that it can be read", error.what());
  }
  fuzz::require(again.serialize() == written, "a cache that was read is written as it was");
  compile::TimingCache both(cache);
  both.combine(again);
  fuzz::require(both.serialize() == written, "a cache combined with itself is itself");
  for (const auto& key : cache.keys()) fuzz::require(cache.find(key).has_value(), "a key that is listed is found", key);
  return 0;
}
