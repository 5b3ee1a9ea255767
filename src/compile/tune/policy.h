// From measurements to a choice: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::compile {

// Only what a timing cache and a new build agree on: a build from the cache chooses the same.
struct Scored {
  double seconds = 0;
  int rank = 0;
  std::string name;  // ties end here, so that the choice never depends on the order of the list
};

// Index of the preferred one: of those within the noise window (2 %) of the fastest the lowest rank, else the name. The
// list is not empty.
size_t choose(const std::vector<Scored>& scored);

}  // namespace tenon::compile
