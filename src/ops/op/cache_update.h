// New rows in a cache of keys or values.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: cache [B,H,C,W], update [B,H,L,W] of its type, start [B] of integers. Output: the cache, with the rows
// start[b] to start[b] + L - 1 of all heads replaced by those of the update; rows outside of the cache are left out.
// The output may be the memory of the cache: then only those rows are written. `inPlace`: where cache and output are an
// input and an output of the engine, the caller must give them one memory.
struct CacheUpdate {
  static constexpr std::string_view kName = "cache_update";
  bool inPlace = false;
  static constexpr auto fields = std::tuple{field("inPlace", &CacheUpdate::inPlace)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
