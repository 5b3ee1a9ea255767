// Aliasing: which values share memory. Views, zero-copy slices within their source, and parts of zero-copy
// concatenations.
#pragma once

#include <map>
#include <vector>

#include "compile/assignment.h"
#include "compile/profiles.h"

namespace tenon::compile {

struct Place {
  graph::ValueId owner = 0;  // the value whose memory it is, from `offset` on; itself where it has its own
  Extent offset = 0;         // bytes
  Extent pitch = 0;          // elements from pixel to pixel; 0: dense
};

// An input of a concatenation that is copied to its place.
struct CopiedPart {
  size_t input = 0;
  Place place;
};

struct Placement {
  std::vector<Place> places;  // by value
  std::map<graph::NodeId, std::vector<CopiedPart>>
      shared;  // slices and concatenations that need no kernel but for these
};

// Where a kernel cannot read or write a place within wider rows, its slower spare takes its turn when that costs less
// than the copy: the choices of the assignment change. TENON_DISABLE=share_memory leaves every slice and concatenation
// its copy.
Placement placeValues(const graph::Graph& graph, Assignment& assignment, const ProfileSymbols& symbols, bool onHost);

}  // namespace tenon::compile
