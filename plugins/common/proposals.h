// What plugins that propose regions share: the best boxes, suppressed.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>

#include "common/boxes.h"

namespace tenon::plugins {

// The best `count` rows, or as many as there are: boxes [N, B, 4] by scores [N, B].
struct Ranked {
  Value scores;
  Value boxes;
};
Ranked best(const Value& scores, const Value& boxes, int64_t count);
// Greedy suppression of one class: boxes [N, keep, 4] and scores [N, keep], zeros behind the last.
Ranked keepBest(const Ranked& ranked, int64_t keep, const std::string& options);

// Throws PluginError for a field below 1.
void checkPositive(const Fields& f, std::initializer_list<const char*> names);

// The score of a box that is never chosen before another.
constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace tenon::plugins
