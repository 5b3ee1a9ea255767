// What the chosen kernels ask for at the shapes of a profile, and whether they take these shapes at all.
#pragma once

#include <string>
#include <vector>

#include "build/assignment.h"
#include "build/profiles.h"
#include "build/schedule/placement.h"

namespace tenon::build {

// A chosen kernel that does not take some shapes of the profile.
struct ShapeRefusal {
  graph::NodeId node = graph::kNone;
  std::string reason;
};

struct Workspaces {
  std::vector<uint64_t> bytes;  // by node: the most at the min, opt and max shapes
  std::vector<ShapeRefusal> refusals;
};

// Kernels are loaded for that, alike ones once.
Workspaces askWorkspaces(const graph::Graph& graph, const Assignment& assignment, const Placement& placement,
                         const ProfileSymbols& symbols, Log& log);

}  // namespace tenon::build
