// When caches are updated.
#include "ops/op/cache_update.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class CacheUpdateTactic final : public SimpleTactic {
 public:
  CacheUpdateTactic() : SimpleTactic("cpu.cache_update", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::CacheUpdate>() == nullptr) return compile::no("it updates a cache");
    const DataType start = problem.inputs[2].dtype;
    if (start != DataType::kI32 && start != DataType::kI64)
      return compile::no("write indices of {}", tenon::name(start));
    return anyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_cache_update() {
  static const CacheUpdateTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
