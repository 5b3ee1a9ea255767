// The selection policy: the fastest, within the noise window by rank and name.
#include "compile/tune/policy.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/error.h"

namespace tenon::compile {
namespace {

constexpr double kNoise = 1.02;

}  // namespace

// "Within the noise window" is no transitive relation, so the window is laid around the fastest.
size_t choose(const std::vector<Scored>& scored) {
  checkInternal(!scored.empty(), "policy: no candidate to choose from");
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& s : scored) fastest = std::min(fastest, s.seconds);
  size_t best = scored.size();
  for (size_t i = 0; i < scored.size(); ++i) {
    if (scored[i].seconds > fastest * kNoise) continue;
    if (best == scored.size() ||
        std::tie(scored[i].rank, scored[i].name) < std::tie(scored[best].rank, scored[best].name))
      best = i;
  }
  return best;
}

}  // namespace tenon::compile
