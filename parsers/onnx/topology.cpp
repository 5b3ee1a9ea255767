// Orders nodes by Kahn's algorithm over the names that they read and write.
#include "topology.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>

#include "common/error.h"

namespace tenon::parsers::onnx {
namespace {

using Names = std::set<std::string>;

void addReads(const pb::NodeProto& node, Names& names);

// The names that a graph within an attribute takes from outside. Nesting is bounded when the model is loaded (wire.h).
Names outerNames(const pb::GraphProto& graph) {
  Names names;
  for (const pb::NodeProto& node : graph.node()) {
    addReads(node, names);
  }
  for (const pb::ValueInfoProto& output : graph.output()) {
    names.insert(output.name());
  }
  for (const pb::ValueInfoProto& input : graph.input()) {
    names.erase(input.name());
  }
  for (const pb::TensorProto& initializer : graph.initializer()) {
    names.erase(initializer.name());
  }
  for (const pb::NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      names.erase(name);
    }
  }
  return names;
}

void addReads(const pb::NodeProto& node, Names& names) {
  names.insert(node.input().begin(), node.input().end());
  for (const pb::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      names.merge(outerNames(attribute.g()));
    }
    for (const pb::GraphProto& graph : attribute.graphs()) {
      names.merge(outerNames(graph));
    }
  }
}

struct Dependencies {
  std::vector<int> waiting;  // producers that each node reads from
  std::vector<std::vector<int>> consumers;
};

Dependencies dependenciesOf(const pb::GraphProto& graph) {
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      if (!name.empty() && !producer.emplace(name, i).second) {
        fail(FaultKind::kInvalidGraph,
             fmt::format("tensor '{}' is an output of node {} and of node {}; names must be unique", name,
                         producer[name], i));
      }
    }
  }
  Dependencies result;
  result.waiting.assign(static_cast<size_t>(graph.node_size()), 0);
  result.consumers.resize(result.waiting.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    Names names;
    addReads(graph.node(i), names);
    for (const std::string& name : names) {
      const auto found = producer.find(name);
      if (found != producer.end()) {
        result.consumers[static_cast<size_t>(found->second)].push_back(i);
        ++result.waiting[static_cast<size_t>(i)];
      }
    }
  }
  return result;
}

using Ready =
    std::priority_queue<int, std::vector<int>, std::greater<>>;  // the lowest index first keeps the file's order

}  // namespace

std::vector<int> topologicalOrder(const pb::GraphProto& graph) {
  Dependencies dependencies = dependenciesOf(graph);
  Ready ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (dependencies.waiting[static_cast<size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int consumer : dependencies.consumers[static_cast<size_t>(order.back())]) {
      if (--dependencies.waiting[static_cast<size_t>(consumer)] == 0) {
        ready.push(consumer);
      }
    }
  }
  if (order.size() != dependencies.waiting.size()) {
    const auto& waiting = dependencies.waiting;
    const auto index =
        static_cast<int>(std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; }) - waiting.begin());
    fail(FaultKind::kInvalidGraph, fmt::format("the graph has a cycle: node {} '{}' ({}) waits for its own output",
                                               index, graph.node(index).name(), graph.node(index).op_type()));
  }
  return order;
}

// Takes all supported nodes that can run, then all others that can, and so on: the groups are intervals of a
// topological order, hence convex, and putting off every change as long as possible makes the fewest of them.
std::vector<std::vector<int64_t>> supportedRuns(const pb::GraphProto& graph, const std::vector<bool>& supported) {
  Dependencies dependencies = dependenciesOf(graph);
  Ready ready[2];  // by whether the node is supported
  const auto push = [&](int node) { ready[supported[static_cast<size_t>(node)] ? 1 : 0].push(node); };
  for (int i = 0; i < graph.node_size(); ++i) {
    if (dependencies.waiting[static_cast<size_t>(i)] == 0) {
      push(i);
    }
  }
  std::vector<std::vector<int64_t>> runs;
  for (size_t kind = 1; !ready[0].empty() || !ready[1].empty(); kind = 1 - kind) {
    if (kind == 1 && !ready[1].empty()) {
      runs.emplace_back();
    }
    while (!ready[kind].empty()) {
      const int node = ready[kind].top();
      ready[kind].pop();
      if (kind == 1) {
        runs.back().push_back(node);
      }
      for (const int consumer : dependencies.consumers[static_cast<size_t>(node)]) {
        if (--dependencies.waiting[static_cast<size_t>(consumer)] == 0) {
          push(consumer);
        }
      }
    }
  }
  return runs;
}

void collectNames(const pb::GraphProto& graph, std::set<std::string>& names) {
  for (const pb::NodeProto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const pb::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        collectNames(attribute.g(), names);
      }
    }
  }
  for (const pb::ValueInfoProto& output : graph.output()) {
    names.insert(output.name());
  }
}

}  // namespace tenon::parsers::onnx
