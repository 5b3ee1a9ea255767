// From measurements to a choice: a pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::build {

struct Scored {
  double seconds = 0;
  uint64_t workspaceBytes = 0;
  int rank = 0;
  std::string name;  // ties end here, so that the choice never depends on the order of the list
};

// Whether a is to be preferred over b: faster by more than the noise window (2 %), else less workspace, else the lower
// rank, else the name.
bool better(const Scored& a, const Scored& b);

// Index of the preferred one; the list is not empty.
size_t choose(const std::vector<Scored>& scored);

}  // namespace tenon::build
