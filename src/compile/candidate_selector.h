// What the caller of a build may decide about the candidates of each node: which of them are considered. Algorithm
// selectors of the public interface stand behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/tactics/tactic.h"
#include "graph/graph.h"

namespace tenon::compile {

// A node at the shapes of one optimization profile.
struct NodeQuestion {
  const graph::Node& node;
  Problem min;
  Problem opt;  // what candidates are proposed and measured for
  Problem max;
};

struct Choice {
  const Candidate& candidate;
  double seconds = 0;           // 0 where it was not measured
  uint64_t workspaceBytes = 0;  // 0 also where it is not known before a measurement
};

// What a node takes.
struct Taken {
  NodeQuestion question;
  Choice choice;
};

// Called by the building thread. What it throws ends the build.
class CandidateSelector {
 public:
  virtual ~CandidateSelector() = default;
  // Once for each node and profile that has candidates, after they were measured: the indices of those that may be
  // taken, each once, at least one. Once more for a node whose choice turned out not to take every shape of it.
  virtual std::vector<size_t> select(const NodeQuestion& question, std::span<const Choice> choices) = 0;
  // What all nodes of a profile take, in their order.
  virtual void report(std::span<const Taken> taken) = 0;
};

}  // namespace tenon::compile
