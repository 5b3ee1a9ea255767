// Joins the parts of the flag table and finds rows by name, or by nearness for mistyped ones.
#include "flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tenon::trtexec {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

//! Fewest insertions, deletions, replacements and swaps of neighbours between the two; case counts nothing.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view withoutDashes(std::string_view name) {
  const size_t start = name.find_first_not_of('-');
  return start == std::string_view::npos ? std::string_view() : name.substr(start);
}

}  // namespace

const std::vector<Flag>& flagTable() {
  static const std::vector<Flag> table = [] {
    std::vector<Flag> rows;
    for (const auto part : {buildFlags, inferenceFlags, reportingFlags, refusedFlags}) {
      const std::vector<Flag> more = part();
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return table;
}

const std::vector<std::pair<FlagGroup, std::string_view>>& flagGroups() {
  static const std::vector<std::pair<FlagGroup, std::string_view>> groups{
      {FlagGroup::kModel, "Model Options"},         {FlagGroup::kBuild, "Build Options"},
      {FlagGroup::kInference, "Inference Options"}, {FlagGroup::kReporting, "Reporting Options"},
      {FlagGroup::kSystem, "System Options"},       {FlagGroup::kHelp, "Help"},
  };
  return groups;
}

std::string describe(const Flag& flag) {
  switch (flag.status) {
    case FlagStatus::kSupported: return std::string(flag.text);
    case FlagStatus::kDeprecated: return fmt::format("old name of {}", flag.text);
    case FlagStatus::kNoEffect: return fmt::format("accepted without effect: {}", flag.text);
    case FlagStatus::kRefused: return fmt::format("not supported by Tenon yet: {}", flag.text);
    case FlagStatus::kRemoved: return fmt::format("no longer a flag: {}", flag.text);
  }
  return {};
}

const Flag* findFlag(std::string_view name) {
  const auto& rows = flagTable();
  const auto found = std::find_if(rows.begin(), rows.end(), [name](const Flag& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::string_view nearestFlag(std::string_view name) {
  const std::string_view typed = withoutDashes(name);
  // A name that shares less than about two thirds with a flag helps nobody.
  size_t best = std::max<size_t>(1, typed.size() / 3) + 1;
  std::string_view nearest;
  for (const Flag& row : flagTable()) {
    const size_t distance = editDistance(typed, withoutDashes(row.name));
    if (distance < best) {
      best = distance;
      nearest = row.name;
    }
  }
  return nearest;
}

}  // namespace tenon::trtexec
