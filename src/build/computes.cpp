// The tactics of a device asked about an operator that is in no graph yet.
#include "build/computes.h"

#include <algorithm>

#include "build/tactics/tactic.h"
#include "runtime/kernel.h"

namespace tenon::build {
namespace {

constexpr int kReferenceRank = 1000;

std::vector<TensorDesc> bound(std::span<const ops::TensorType> types, const SymbolValues& symbols) {
  std::vector<TensorDesc> result;
  for (const auto& type : types) result.push_back({type.dtype, evaluate(type.shape, symbols), nullptr});
  return result;
}

}  // namespace

bool computes(const runtime::Device& device, const ops::Operator& op, std::span<const ops::TensorType> inputs, const SymbolValues& symbols) {
  const auto outputs = op.infer("question", inputs);
  const Problem problem{op, bound(inputs, symbols), bound(outputs, symbols), symbols};
  const auto sources = tacticSources();
  return std::any_of(sources.begin(), sources.end(), [&](const TacticSource& source) {
    if (runtime::backend(source.backend).device().kind() != device.kind()) return false;
    return std::any_of(source.tactics.begin(), source.tactics.end(), [&](const Tactic* tactic) {
      if (!tactic->supports(problem)) return false;
      const auto candidates = tactic->candidates(problem);
      return !candidates.empty() && tactic->rank(problem, candidates[0]) < kReferenceRank;
    });
  });
}

}  // namespace tenon::build
