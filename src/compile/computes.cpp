// The tactics of a device asked about an operator that is in no graph yet.
#include "compile/computes.h"

#include <algorithm>

#include "compile/libraries.h"
#include "compile/tactics/tactic.h"
#include "runtime/kernel.h"

namespace tenon::compile {
namespace {

std::vector<TensorDesc> bound(std::span<const ops::TensorType> types, const SymbolValues& symbols) {
  std::vector<TensorDesc> result;
  for (const auto& type : types) result.push_back({type.dtype, evaluate(type.shape, symbols), nullptr});
  return result;
}

}  // namespace

bool computes(const runtime::Device& device, const ops::Operator& op, std::span<const ops::TensorType> inputs,
              const SymbolValues& symbols, std::span<const std::string> excludedLibraries) {
  const auto outputs = op.infer("question", inputs);
  const Problem problem{op, bound(inputs, symbols), bound(outputs, symbols), symbols};
  const Candidate rows = rowMajor("", problem);
  std::vector<std::pair<int, const Tactic*>> supporting;
  for (const auto* tactic : tacticsOf(device.kind())) {
    if (isAllowed(*tactic, excludedLibraries) && tactic->supports(problem))
      supporting.emplace_back(tactic->rank(problem, rows), tactic);
  }
  // Plain code answers at once, and has the highest ranks below the reference's; libraries ask their heuristics.
  std::stable_sort(supporting.begin(), supporting.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return std::any_of(supporting.begin(), supporting.end(), [&](const auto& entry) {
    if (entry.first >= kSlowRank) return false;
    const auto candidates = entry.second->candidates(problem);
    return !candidates.empty() && entry.second->rank(problem, candidates[0]) < kSlowRank;
  });
}

}  // namespace tenon::compile
