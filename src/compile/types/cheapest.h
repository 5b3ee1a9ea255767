// The types of least total time: that of the nodes in their types, and of the casts between.
#pragma once

#include <vector>

#include "compile/types/sets.h"

namespace tenon::compile {

// Seconds; infinite where a node has no kernel.
struct TypeTimes {
  std::vector<double> f32;   // by node id, of the node as it is
  std::vector<double> half;  // by node id, of the node in the half; that of a node that may not is not read
  std::vector<double> down;  // by value id, of a cast from f32 to the half
  std::vector<double> up;    // by value id, of a cast back
};

// Exact: a cheapest cut. Halves must gain a little over f32, or the accuracy is worth more.
NodeTypes cheapestTypes(const TypeSets& sets, DataType half, const TypeTimes& times);

// What `types`, of f32 and `half`, come to. A value is cast once for all that read it.
double totalSeconds(const TypeSets& sets, DataType half, const TypeTimes& times, const NodeTypes& types);

}  // namespace tenon::compile
