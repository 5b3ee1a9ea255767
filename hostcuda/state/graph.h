// Graphs of work: nodes and edges, what instantiation makes of them, and the handles to all of these.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "scheduler.h"

namespace tenon::hostcuda {

// A reference-counted object of the user; each graph that holds references releases them when it dies.
struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;

  UserObject(void* object, cudaHostFn_t function) : pointer(object), destroy(function) {}
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() { destroy(pointer); }
  cudaUserObject_t handle() { return reinterpret_cast<cudaUserObject_t>(this); }
};

struct Node {
  Graph* graph = nullptr;
  uint64_t id = 0;
  WorkItem work;
  std::vector<Node*> dependencies;
  std::vector<Node*> dependents;
  const Node* clonedFrom = nullptr;

  cudaGraphNode_t handle() { return reinterpret_cast<cudaGraphNode_t>(this); }
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in the order of creation
  std::unordered_map<UserObject*, std::vector<std::shared_ptr<UserObject>>> userObjects;
  bool isChild = false;  // belongs to a node of another graph
  uint64_t nextNodeId = 0;

  cudaGraph_t handle() { return reinterpret_cast<cudaGraph_t>(this); }
};

// One node of an instantiated graph.
struct Step {
  WorkItem work;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  bool isEnabled = true;
  const Node* node = nullptr;        // names the step in later updates; not followed
  std::vector<size_t> dependencies;  // steps before this one
};

// What a launch runs: the nodes in a topological order. Branches run one after the other.
struct Program {
  std::vector<Step> steps;
  std::vector<std::shared_ptr<UserObject>> userObjects;
};

struct GraphExec {
  std::shared_ptr<const Program> program;
  unsigned long long flags = 0;
  Point lastLaunch;  // launches of one executable graph follow each other

  cudaGraphExec_t handle() { return reinterpret_cast<cudaGraphExec_t>(this); }
};

void runProgram(const Program& program);
bool programCallsUser(const Program& program) noexcept;

// All functions take the scheduler's lock held. What they return to be dropped may call the user's release functions:
// drop it after the lock.
class Graphs {
 public:
  static Graphs& instance();  // never destroyed

  std::shared_ptr<Graph> create();
  std::shared_ptr<Graph> clone(const Graph& original);
  std::shared_ptr<Graph> get(cudaGraph_t handle) const;
  std::shared_ptr<Graph> remove(cudaGraph_t handle);

  Node& addNode(Graph& graph, const std::vector<Node*>& dependencies, WorkItem work);
  std::unique_ptr<Node> removeNode(cudaGraphNode_t handle);
  Node& node(cudaGraphNode_t handle) const;
  std::vector<Node*> nodes(const Graph& graph, const cudaGraphNode_t* handles, size_t count) const;

  std::shared_ptr<Program> compile(const Graph& graph) const;
  std::shared_ptr<GraphExec> instantiate(const Graph& graph, unsigned long long flags);
  std::shared_ptr<GraphExec> exec(cudaGraphExec_t handle) const;
  std::shared_ptr<GraphExec> removeExec(cudaGraphExec_t handle);
  void launch(Lock& lock, const std::shared_ptr<GraphExec>& exec, const StreamPtr& stream);

  // The references that the program itself holds to a user object (those of graphs are kept by the graphs).
  std::vector<std::shared_ptr<UserObject>>& userObject(cudaUserObject_t handle);
  cudaUserObject_t addUserObject(void* pointer, cudaHostFn_t destroy, unsigned count);
  std::shared_ptr<UserObject> anyReference(cudaUserObject_t handle) const;

 private:
  void registerGraph(const std::shared_ptr<Graph>& graph);
  void unregisterNodes(const Graph& graph);

  std::unordered_map<const void*, std::shared_ptr<Graph>> graphs_;
  std::unordered_map<const void*, Node*> nodes_;
  std::unordered_map<const void*, std::shared_ptr<GraphExec>> execs_;
  struct UserObjectEntry {
    std::weak_ptr<UserObject> object;
    std::vector<std::shared_ptr<UserObject>> references;
  };
  std::unordered_map<const void*, UserObjectEntry> userObjects_;
};

// Adds the edge unless it is there already.
void connect(Node& from, Node& to);
void disconnect(Node& from, Node& to);

}  // namespace tenon::hostcuda
