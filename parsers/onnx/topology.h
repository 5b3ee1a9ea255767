// The order in which the nodes of a graph can run, and the runs of supported nodes within it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tenon_onnx.pb.h"

namespace tenon::parsers::onnx {

namespace pb = tenon::onnx;

// Stable topological order of nodes; fails when the graph has a cycle. What a graph within an attribute (a branch, a
// loop's body) reads from outside counts as read by the node that holds it.
std::vector<int> topologicalOrder(const pb::GraphProto& graph);

// The supported nodes in as few groups as can be. No path from one node of a group to another leaves the group, and the
// groups depend on each other in the order given: each can become one node, and the graph stays free of cycles.
std::vector<std::vector<int64_t>> supportedRuns(const pb::GraphProto& graph, const std::vector<bool>& supported);

// Adds every name that a graph reads, from itself or from outside.
void collectNames(const pb::GraphProto& graph, std::set<std::string>& names);

}  // namespace tenon::parsers::onnx
