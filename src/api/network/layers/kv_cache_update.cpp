// IKVCacheUpdateLayer. Where the cache is an input of the network and the result an output, both are one memory of the
// caller, and the update is written in place.
#include <algorithm>

#include "api/network/lower_context.h"
#include "ops/op/cache_update.h"

namespace tenon::api {
namespace {

class KVCacheUpdateLayer final
    : public LayerOf<nv::IKVCacheUpdateLayer, nv::apiv::VKVCacheUpdateLayer, nv::LayerType::kKVCACHE_UPDATE> {
 public:
  using LayerOf::LayerOf;

  bool setCacheMode(nv::KVCacheMode cacheMode) noexcept override {
    return guarded(reporter(), "IKVCacheUpdateLayer::setCacheMode", false, [&] {
      set(mode_, checkedEnum(cacheMode, fmt::format("layer '{}': cache mode", name())));
      return true;
    });
  }
  nv::KVCacheMode getCacheMode() const noexcept override { return mode_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const graph::ValueId cache = context.input(0);
    graph::ValueId update = context.input(1);
    if (!context.stronglyTyped() && isFloating(context.type(cache).dtype) && isFloating(context.type(update).dtype))
      update = context.cast(update, context.type(cache).dtype);
    const bool inPlace = inputs()[0]->isNetworkInput() && outputs()[0]->isNetworkOutput();
    if (inPlace) checkReaders(context);
    return {context.add(ops::CacheUpdate{inPlace}, {cache, update, context.input(2)})};
  }

 private:
  // What is written in place must not be read as it was before.
  void checkReaders(const LowerContext& context) const {
    const Tensor& cache = *inputs()[0];
    for (const LayerBase* reader : cache.consumers()) {
      const bool readsElements = reader != this && reader->getType() != nv::LayerType::kSHAPE;
      context.check(!readsElements,
                    "the cache '{}' is updated in place and layer '{}' reads it too; let it read the result '{}'",
                    cache.name(), reader->name(), outputs()[0]->name());
    }
  }

  nv::KVCacheMode mode_ = nv::KVCacheMode::kLINEAR;
};

}  // namespace

LayerInfo layerInfo_kv_cache_update() { return describeLayer<KVCacheUpdateLayer>(); }

}  // namespace tenon::api
