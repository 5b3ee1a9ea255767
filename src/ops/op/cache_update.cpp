// Cache updates: shape rule and reference.
#include "ops/op/cache_update.h"

#include <algorithm>
#include <cstring>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts CacheUpdate::facts() const {
  Facts facts;
  facts.aliases.push_back({0, 0, false});
  return facts;
}

void CacheUpdate::infer(InferContext& context) const {
  const auto& cache = context.input(0);
  const auto& update = context.input(1);
  const auto& start = context.input(2);
  context.check(cache.rank() == 4 && update.rank() == 4,
                "cache and update have shapes {} and {}, expected [batch, heads, rows, width] each", text(cache.shape),
                text(update.shape));
  checkSameType(context, 0, 1);
  context.check(bits(cache.dtype) % 8 == 0, "a cache of {}, expected a type of whole bytes", name(cache.dtype));
  context.merge(cache.shape[0], update.shape[0], "batches of cache and update");
  context.merge(cache.shape[1], update.shape[1], "heads of cache and update");
  context.merge(cache.shape[3], update.shape[3], "columns of cache and update");
  context.check(isInteger(start.dtype) && start.rank() == 1, "write indices are {} {}, expected a list of integers",
                name(start.dtype), text(start.shape));
  context.merge(cache.shape[0], start.shape[0], "batch and write indices");
  const Extent& capacity = cache.shape[2];
  const Extent& rows = update.shape[2];
  context.check(!capacity.isConstant() || !rows.isConstant() || rows.constant() <= capacity.constant(),
                "an update of {} rows for a cache of {}", rows.text(), capacity.text());
  context.output(cache.dtype, cache.shape);
}

void CacheUpdate::evaluate(const EvalContext& context) const {
  const auto& cache = context.inputs[0];
  const auto& update = context.inputs[1];
  const auto& out = context.outputs[0];
  if (out.data != cache.data) std::memcpy(out.data, cache.data, cache.bytes());
  const size_t rowBytes = static_cast<size_t>(cache.dims[3]) * static_cast<size_t>(bits(cache.dtype) / 8);
  const int64_t heads = cache.dims[1], capacity = cache.dims[2], rows = update.dims[2];
  for (int64_t b = 0; b < cache.dims[0]; ++b) {
    const int64_t start = context.inputs[2].loadInt(b);
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t r = 0; r < rows; ++r) {
        if (start < -r || start >= capacity - r) continue;
        std::memcpy(
            static_cast<std::byte*>(out.data) + static_cast<size_t>((b * heads + h) * capacity + start + r) * rowBytes,
            static_cast<const std::byte*>(update.data) + static_cast<size_t>((b * heads + h) * rows + r) * rowBytes,
            rowBytes);
      }
    }
  }
}

OperatorInfo operatorInfo_cache_update() { return describe<CacheUpdate>(); }

}  // namespace tenon::ops
