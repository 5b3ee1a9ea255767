// The best boxes of two-stage detectors.
#include "common/proposals.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::plugins {

Ranked best(const Value& scores, const Value& boxes, int64_t count) {
  const auto top = scores.topk(std::min(count, scores.dim(1).number()), 1);
  return {top[0], boxes.gather(top[1], 1, 1)};
}

Ranked keepBest(const Ranked& ranked, int64_t keep, const std::string& options) {
  const Kept kept =
      suppress(ranked.boxes.unsqueeze(2), ranked.scores.unsqueeze(2), fmt::format("keep={} {}", keep, options));
  return {kept.scores, keptBoxes(ranked.boxes.unsqueeze(2), kept)};
}

void checkPositive(const Fields& f, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (f.integer(name) < 1) throw PluginError(fmt::format("{} is {}; expected 1 or more", name, f.integer(name)));
  }
}

}  // namespace tenon::plugins
