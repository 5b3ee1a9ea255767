// Candidates that take turns: each case is run by every one.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "compile/builder.h"
#include "ops/op/reformat.h"

namespace tenon::test {

// TENON_TEST_BY=text: only candidates in whose text that stands.
inline const char* wantedCandidates() {
  static const char* const kBy = std::getenv("TENON_TEST_BY");
  return kBy;
}
inline bool isLeftOut(const compile::Candidate& candidate) {
  return wantedCandidates() != nullptr && candidate.text().find(wantedCandidates()) == std::string::npos;
}

// Takes candidate `turn` of every node (counted around), and remembers the texts and how many turns there are. Where
// candidates have the text `by`, only they take turns.
struct Turn {
  size_t turn = 0;
  size_t turns = 1;
  std::string taken;
  std::string by;

  std::vector<compile::Candidate> operator()(const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Reformat>() != nullptr) return candidates;
    std::erase_if(candidates, isLeftOut);
    const auto isAnother = [this](const compile::Candidate& candidate) {
      return candidate.text().find(by) == std::string::npos;
    };
    if (!std::all_of(candidates.begin(), candidates.end(), isAnother)) std::erase_if(candidates, isAnother);
    if (candidates.empty()) return candidates;
    turns = std::max(turns, candidates.size());
    const auto chosen = candidates[turn % candidates.size()];
    taken += (taken.empty() ? "" : " ") + chosen.text();
    return {chosen};
  }
};

}  // namespace tenon::test
