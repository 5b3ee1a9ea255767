// Building, cloning, compiling and launching graphs.
#include "graph.h"

#include <algorithm>
#include <map>

namespace tenon::hostcuda {
namespace {

bool contains(const std::vector<Node*>& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

void eraseNode(std::vector<Node*>& nodes, const Node* node) {
  nodes.erase(std::remove(nodes.begin(), nodes.end(), node), nodes.end());
}

// The nodes so that each follows what it depends on; among those that are free, in the order of creation.
std::vector<const Node*> topologicalOrder(const Graph& graph) {
  std::unordered_map<const Node*, size_t> missing;
  std::map<uint64_t, const Node*> ready;
  for (const auto& node : graph.nodes) {
    missing[node.get()] = node->dependencies.size();
    if (node->dependencies.empty()) ready.emplace(node->id, node.get());
  }
  std::vector<const Node*> order;
  while (!ready.empty()) {
    const Node* node = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(node);
    for (const Node* next : node->dependents) {
      if (--missing[next] == 0) ready.emplace(next->id, next);
    }
  }
  require(order.size() == graph.nodes.size());  // else the edges form a cycle
  return order;
}

}  // namespace

void connect(Node& from, Node& to) {
  if (contains(to.dependencies, &from)) return;
  to.dependencies.push_back(&from);
  from.dependents.push_back(&to);
}

void disconnect(Node& from, Node& to) {
  eraseNode(to.dependencies, &from);
  eraseNode(from.dependents, &to);
}

void runProgram(const Program& program) {
  for (const Step& step : program.steps) {
    if (step.isEnabled) execute(step.work);
  }
}

bool programCallsUser(const Program& program) noexcept {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return step.isEnabled && callsUser(step.work); });
}

Graphs& Graphs::instance() {
  static Graphs* graphs = new Graphs;
  return *graphs;
}

std::shared_ptr<Graph> Graphs::create() {
  auto graph = std::make_shared<Graph>();
  registerGraph(graph);
  return graph;
}

void Graphs::registerGraph(const std::shared_ptr<Graph>& graph) { graphs_.emplace(graph->handle(), graph); }

std::shared_ptr<Graph> Graphs::get(cudaGraph_t handle) const {
  const auto found = graphs_.find(handle);
  require(found != graphs_.end());
  return found->second;
}

void Graphs::unregisterNodes(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    nodes_.erase(node.get());
    if (const auto* child = std::get_if<ChildGraph>(&node->work)) {
      graphs_.erase(child->graph.get());
      unregisterNodes(*child->graph);
    }
  }
}

std::shared_ptr<Graph> Graphs::remove(cudaGraph_t handle) {
  std::shared_ptr<Graph> graph = get(handle);
  require(!graph->isChild);
  graphs_.erase(handle);
  unregisterNodes(*graph);
  return graph;
}

Node& Graphs::addNode(Graph& graph, const std::vector<Node*>& dependencies, WorkItem work) {
  auto node = std::make_unique<Node>();
  node->graph = &graph;
  node->id = graph.nextNodeId++;
  node->work = std::move(work);
  for (Node* dependency : dependencies) connect(*dependency, *node);
  nodes_.emplace(node.get(), node.get());
  graph.nodes.push_back(std::move(node));
  return *graph.nodes.back();
}

std::unique_ptr<Node> Graphs::removeNode(cudaGraphNode_t handle) {
  Node& dying = node(handle);
  require(!std::holds_alternative<Allocate>(dying.work) && !std::holds_alternative<Deallocate>(dying.work),
          cudaErrorNotSupported);
  for (Node* other : std::vector<Node*>(dying.dependencies)) disconnect(*other, dying);
  for (Node* other : std::vector<Node*>(dying.dependents)) disconnect(dying, *other);
  nodes_.erase(&dying);
  if (const auto* child = std::get_if<ChildGraph>(&dying.work)) {
    graphs_.erase(child->graph.get());
    unregisterNodes(*child->graph);
  }
  auto& all = dying.graph->nodes;
  const auto place = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.get() == &dying; });
  std::unique_ptr<Node> removed = std::move(*place);
  all.erase(place);
  return removed;
}

Node& Graphs::node(cudaGraphNode_t handle) const {
  const auto found = nodes_.find(handle);
  require(found != nodes_.end());
  return *found->second;
}

std::vector<Node*> Graphs::nodes(const Graph& graph, const cudaGraphNode_t* handles, size_t count) const {
  require(count == 0 || handles != nullptr);
  std::vector<Node*> result;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(&node(handles[i]));
    require(result.back()->graph == &graph);
  }
  return result;
}

std::shared_ptr<Graph> Graphs::clone(const Graph& original) {
  auto copy = std::make_shared<Graph>();
  copy->userObjects = original.userObjects;
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : original.nodes) {
    WorkItem work = node->work;
    if (auto* child = std::get_if<ChildGraph>(&work)) {
      child->graph = clone(*child->graph);
      child->graph->isChild = true;
    }
    Node& added = addNode(*copy, {}, std::move(work));
    added.clonedFrom = node.get();
    copies[node.get()] = &added;
  }
  for (const auto& node : original.nodes) {
    for (const Node* dependency : node->dependencies) connect(*copies[dependency], *copies[node.get()]);
  }
  registerGraph(copy);
  return copy;
}

std::shared_ptr<Program> Graphs::compile(const Graph& graph) const {
  auto program = std::make_shared<Program>();
  std::unordered_map<const Node*, size_t> positions;
  for (const Node* node : topologicalOrder(graph)) {
    Step step{node->work, nodeType(node->work), true, node, {}};
    if (const auto* child = std::get_if<ChildGraph>(&node->work)) step.work = RunProgram{compile(*child->graph)};
    for (const Node* dependency : node->dependencies) step.dependencies.push_back(positions[dependency]);
    std::sort(step.dependencies.begin(), step.dependencies.end());
    positions[node] = program->steps.size();
    program->steps.push_back(std::move(step));
  }
  for (const auto& [object, references] : graph.userObjects) {
    if (!references.empty()) program->userObjects.push_back(references.front());
  }
  return program;
}

std::shared_ptr<GraphExec> Graphs::instantiate(const Graph& graph, unsigned long long flags) {
  require((flags & ~15ULL) == 0);
  require((flags & cudaGraphInstantiateFlagDeviceLaunch) == 0, cudaErrorNotSupported);
  auto exec = std::make_shared<GraphExec>();
  exec->program = compile(graph);
  exec->flags = flags;
  execs_.emplace(exec->handle(), exec);
  return exec;
}

std::shared_ptr<GraphExec> Graphs::exec(cudaGraphExec_t handle) const {
  const auto found = execs_.find(handle);
  require(found != execs_.end());
  return found->second;
}

std::shared_ptr<GraphExec> Graphs::removeExec(cudaGraphExec_t handle) {
  std::shared_ptr<GraphExec> dying = exec(handle);
  execs_.erase(handle);
  return dying;
}

void Graphs::launch(Lock& lock, const std::shared_ptr<GraphExec>& exec, const StreamPtr& stream) {
  std::vector<Point> waits{exec->lastLaunch};
  for (const Step& step : exec->program->steps) {
    if (!step.isEnabled) continue;
    if (const auto* await = std::get_if<AwaitEvent>(&step.work)) {
      if (await->event->recording != nullptr) waits.push_back(await->event->recording->point);
    }
  }
  // An event that the graph records is pending from the launch on.
  const Point place{stream, stream->submitted + 1};
  for (const Step& step : exec->program->steps) {
    if (const auto* record = std::get_if<RecordEvent>(&step.work); record != nullptr && step.isEnabled) {
      record->event->capture = nullptr;
      record->event->recording = std::make_shared<Recording>();
      record->event->recording->point = place;
    }
  }
  // Known before the work runs: another thread may launch the same graph meanwhile.
  exec->lastLaunch = place;
  const Point taken = Scheduler::instance().submit(lock, stream, RunProgram{exec->program}, std::move(waits));
  if (taken.stream == nullptr) exec->lastLaunch = {};  // it ran inside the stream's current work
}

cudaUserObject_t Graphs::addUserObject(void* pointer, cudaHostFn_t destroy, unsigned count) {
  const auto object = std::make_shared<UserObject>(pointer, destroy);
  userObjects_[object->handle()] = {object, std::vector<std::shared_ptr<UserObject>>(count, object)};
  return object->handle();
}

std::vector<std::shared_ptr<UserObject>>& Graphs::userObject(cudaUserObject_t handle) {
  const auto found = userObjects_.find(handle);
  require(found != userObjects_.end() && !found->second.object.expired());
  return found->second.references;
}

std::shared_ptr<UserObject> Graphs::anyReference(cudaUserObject_t handle) const {
  const auto found = userObjects_.find(handle);
  require(found != userObjects_.end());
  std::shared_ptr<UserObject> object = found->second.object.lock();
  require(object != nullptr);
  return object;
}

}  // namespace tenon::hostcuda
