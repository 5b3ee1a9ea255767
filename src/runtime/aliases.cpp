// Read off the steps: the plan needs no word about it.
#include "runtime/aliases.h"

#include "ops/op/cache_update.h"

namespace tenon::runtime {

std::vector<std::pair<int, int>> aliasedIo(const plan::Program& program) {
  static const std::string kInPlace = ops::Operator(ops::CacheUpdate{true}).text();
  std::vector<std::pair<int, int>> result;
  for (const auto& step : program.steps) {
    const bool isUpdate = step.kind == plan::StepKind::kLaunch && step.kernel.op == kInPlace;
    if (!isUpdate || step.inputs.empty() || step.outputs.empty() || step.inputs[0] < 0) continue;
    const auto& cache = program.tensors[static_cast<size_t>(step.inputs[0])];
    const auto& updated = program.tensors[static_cast<size_t>(step.outputs[0])];
    if (cache.storage == plan::Storage::kInput && updated.storage == plan::Storage::kOutput)
      result.emplace_back(updated.index, cache.index);
  }
  return result;
}

}  // namespace tenon::runtime
