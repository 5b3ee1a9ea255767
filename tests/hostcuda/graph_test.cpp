// Graphs built node by node: order, structure, clones, updates, user objects.
#include <algorithm>
#include <random>

#include "support.h"

namespace hostcuda_test {
namespace {

class Graph : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(cudaGraphCreate(&graph_, 0)); }
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_OK(cudaGraphExecDestroy(exec_));
    }
    EXPECT_OK(cudaGraphDestroy(graph_));
  }

  cudaGraphNode_t host(int number, const std::vector<cudaGraphNode_t>& after) {
    entries_.push_back(std::make_unique<Log::Entry>(Log::Entry{&log_, number}));
    const cudaHostNodeParams params{&Log::write, entries_.back().get()};
    cudaGraphNode_t node = nullptr;
    EXPECT_OK(cudaGraphAddHostNode(&node, graph_, after.data(), after.size(), &params));
    return node;
  }

  cudaGraphNode_t fill(int* target, unsigned value) {
    cudaMemsetParams params{};
    params.dst = target;
    params.value = value;
    params.elementSize = 4;
    params.width = 1;
    params.height = 1;
    cudaGraphNode_t node = nullptr;
    EXPECT_OK(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &params));
    return node;
  }

  void run() {
    if (exec_ == nullptr) {
      ASSERT_OK(cudaGraphInstantiate(&exec_, graph_, 0));
    }
    ASSERT_OK(cudaGraphLaunch(exec_, stream_));
    ASSERT_OK(cudaStreamSynchronize(stream_));
  }

  Stream stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  Log log_;
  std::vector<std::unique_ptr<Log::Entry>> entries_;
};

TEST_F(Graph, RunsEveryNodeAfterItsDependencies) {
  for (int seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    cudaGraph_t previous = graph_;
    ASSERT_OK(cudaGraphCreate(&graph_, 0));
    const int count = 1 + static_cast<int>(random() % 25);
    std::vector<cudaGraphNode_t> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(host(seed * 1000 + i, {}));
    // Edges that follow a random order of the nodes, so that the order of creation does not help.
    std::vector<int> order(count);
    for (int i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i < count; ++i) {
      for (int j = i + 1; j < count; ++j) {
        if (random() % 4 == 0) edges.emplace_back(order[i], order[j]);
      }
    }
    for (const auto& [from, to] : edges) {
#if CUDART_VERSION >= 13000
      ASSERT_OK(cudaGraphAddDependencies(graph_, &nodes[from], &nodes[to], nullptr, 1));
#else
      ASSERT_OK(cudaGraphAddDependencies(graph_, &nodes[from], &nodes[to], 1));
#endif
    }
    cudaGraphExec_t exec = nullptr;
    ASSERT_OK(cudaGraphInstantiate(&exec, graph_, 0));
    ASSERT_OK(cudaGraphLaunch(exec, stream_));
    ASSERT_OK(cudaStreamSynchronize(stream_));
    for (const auto& [from, to] : edges) {
      EXPECT_LT(log_.position(seed * 1000 + from), log_.position(seed * 1000 + to)) << "seed " << seed;
    }
    ASSERT_OK(cudaGraphExecDestroy(exec));
    ASSERT_OK(cudaGraphDestroy(previous));
  }
}

TEST_F(Graph, TellsItsStructure) {
  const cudaGraphNode_t first = host(1, {});
  const cudaGraphNode_t second = host(2, {first});
  const cudaGraphNode_t third = host(3, {first, second});
  size_t count = 0;
#if CUDART_VERSION >= 13000
  ASSERT_OK(cudaGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(3u, count);
  std::vector<cudaGraphNode_t> found(4, first);
  count = 4;
  ASSERT_OK(cudaGraphNodeGetDependencies(third, found.data(), nullptr, &count));
#else
  ASSERT_OK(cudaGraphGetEdges(graph_, nullptr, nullptr, &count));
  EXPECT_EQ(3u, count);
  std::vector<cudaGraphNode_t> found(4, first);
  count = 4;
  ASSERT_OK(cudaGraphNodeGetDependencies(third, found.data(), &count));
#endif
  EXPECT_EQ(2u, count);
  EXPECT_EQ((std::vector<cudaGraphNode_t>{first, second, nullptr, nullptr}), found);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_OK(cudaGraphNodeGetType(third, &type));
  EXPECT_EQ(cudaGraphNodeTypeHost, type);
  ASSERT_OK(cudaGraphDestroyNode(second));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphNodeGetType(second, &type));
  run();
  EXPECT_EQ((std::vector<int>{1, 3}), log_.numbers());
}

TEST_F(Graph, RefusesACycle) {
  const cudaGraphNode_t first = host(1, {});
  const cudaGraphNode_t second = host(2, {first});
#if CUDART_VERSION >= 13000
  ASSERT_OK(cudaGraphAddDependencies(graph_, &second, &first, nullptr, 1));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddDependencies(graph_, &first, &second, nullptr, 1));
#else
  ASSERT_OK(cudaGraphAddDependencies(graph_, &second, &first, 1));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddDependencies(graph_, &first, &second, 1));
#endif
  cudaGraphExec_t exec = nullptr;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph_, 0));
}

TEST_F(Graph, CopiesAndFills) {
  std::vector<uint16_t> filled(6, 7);
  std::vector<uint16_t> copied(6, 0);
  cudaMemsetParams params{};
  params.dst = filled.data() + 1;
  params.value = 0x1234;
  params.elementSize = 2;
  params.width = 4;
  params.height = 1;
  cudaGraphNode_t node = nullptr;
  cudaGraphNode_t copy = nullptr;
  ASSERT_OK(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &params));
  ASSERT_OK(cudaGraphAddMemcpyNode1D(&copy, graph_, &node, 1, copied.data(), filled.data(), 12, cudaMemcpyDefault));
  run();
  const uint16_t v = 0x1234;
  EXPECT_EQ((std::vector<uint16_t>{7, v, v, v, v, 7}), copied);
  cudaMemsetParams back{};
  ASSERT_OK(cudaGraphMemsetNodeGetParams(node, &back));
  EXPECT_EQ(params.dst, back.dst);
  EXPECT_EQ(0x1234u, back.value);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphMemsetNodeGetParams(copy, &back));
}

TEST_F(Graph, UpdatesAnExecutableGraph) {
  int target = 0;
  int other = 0;
  const cudaGraphNode_t node = fill(&target, 5);
  run();
  EXPECT_EQ(5, target);
  cudaMemsetParams params{};
  ASSERT_OK(cudaGraphMemsetNodeGetParams(node, &params));
  params.value = 6;
  ASSERT_OK(cudaGraphExecMemsetNodeSetParams(exec_, node, &params));
  run();
  EXPECT_EQ(6, target);
  // The graph itself is as it was, and brings the executable graph back.
  cudaGraphExecUpdateResultInfo info{};
  ASSERT_OK(cudaGraphExecUpdate(exec_, graph_, &info));
  EXPECT_EQ(cudaGraphExecUpdateSuccess, info.result);
  run();
  EXPECT_EQ(5, target);
  ASSERT_OK(cudaGraphNodeSetEnabled(exec_, node, 0));
  target = 1;
  run();
  EXPECT_EQ(1, target);
  unsigned enabled = 1;
  ASSERT_OK(cudaGraphNodeGetEnabled(exec_, node, &enabled));
  EXPECT_EQ(0u, enabled);
  fill(&other, 1);
  EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec_, graph_, &info));
  EXPECT_EQ(cudaGraphExecUpdateErrorTopologyChanged, info.result);
}

TEST_F(Graph, UpdateKeepsLaunchesThatAreUnderWay) {
  int target = 0;
  Gate gate;
  const cudaGraphNode_t node = fill(&target, 5);
  ASSERT_OK(cudaGraphInstantiate(&exec_, graph_, 0));
  gate.put(stream_);
  ASSERT_OK(cudaGraphLaunch(exec_, stream_));
  cudaMemsetParams params{};
  ASSERT_OK(cudaGraphMemsetNodeGetParams(node, &params));
  params.value = 6;
  ASSERT_OK(cudaGraphExecMemsetNodeSetParams(exec_, node, &params));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(5, target);
}

TEST_F(Graph, ClonesKeepTheirOwnParameters) {
  int target = 0;
  const cudaGraphNode_t node = fill(&target, 5);
  cudaGraph_t clone = nullptr;
  cudaGraphNode_t twin = nullptr;
  ASSERT_OK(cudaGraphClone(&clone, graph_));
  ASSERT_OK(cudaGraphNodeFindInClone(&twin, node, clone));
  EXPECT_NE(node, twin);
  cudaMemsetParams params{};
  ASSERT_OK(cudaGraphMemsetNodeGetParams(twin, &params));
  params.value = 9;
  ASSERT_OK(cudaGraphMemsetNodeSetParams(twin, &params));
  run();
  EXPECT_EQ(5, target);
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaGraphInstantiate(&exec, clone, 0));
  ASSERT_OK(cudaGraphLaunch(exec, stream_));
  ASSERT_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(9, target);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(clone));
}

TEST_F(Graph, HoldsChildGraphs) {
  int target = 0;
  cudaGraph_t child = nullptr;
  ASSERT_OK(cudaGraphCreate(&child, 0));
  std::swap(child, graph_);
  fill(&target, 5);
  std::swap(child, graph_);
  cudaGraphNode_t node = nullptr;
  ASSERT_OK(cudaGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
  ASSERT_OK(cudaGraphDestroy(child));  // the node has its own copy
  host(1, {node});
  run();
  EXPECT_EQ(5, target);
  cudaGraph_t copy = nullptr;
  ASSERT_OK(cudaGraphChildGraphNodeGetGraph(node, &copy));
  size_t count = 0;
  ASSERT_OK(cudaGraphGetNodes(copy, nullptr, &count));
  EXPECT_EQ(1u, count);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(copy));
}

TEST_F(Graph, RefusesKernels) {
  cudaKernelNodeParams params{};
  cudaGraphNode_t node = nullptr;
  EXPECT_ERROR(cudaErrorNoKernelImageForDevice, cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params));
}

TEST_F(Graph, ReleasesUserObjectsWithTheLastHolder) {
  static int destroyed;
  destroyed = 0;
  cudaUserObject_t object = nullptr;
  ASSERT_OK(cudaUserObjectCreate(
      &object, &destroyed, [](void* arg) { ++*static_cast<int*>(arg); }, 1, cudaUserObjectNoDestructorSync));
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaGraphCreate(&graph, 0));
  ASSERT_OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphExec_t exec = nullptr;
  ASSERT_OK(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_OK(cudaGraphDestroy(graph));
  EXPECT_EQ(0, destroyed);
  ASSERT_OK(cudaGraphExecDestroy(exec));
  EXPECT_EQ(1, destroyed);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
}

TEST_F(Graph, LaunchesOfOneGraphFollowEachOther) {
  Stream first(cudaStreamNonBlocking);
  Stream second(cudaStreamNonBlocking);
  Gate gate;
  host(1, {});
  ASSERT_OK(cudaGraphInstantiate(&exec_, graph_, 0));
  gate.put(first);
  ASSERT_OK(cudaGraphLaunch(exec_, first));
  ASSERT_OK(cudaGraphLaunch(exec_, second));
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(second));
  gate.open();
  ASSERT_OK(cudaStreamSynchronize(second));
  EXPECT_EQ(2u, log_.numbers().size());
}

TEST_F(Graph, RefusesWrongHandles) {
  int number = 0;
  const auto bogus = reinterpret_cast<cudaGraph_t>(&number);
  cudaGraphNode_t node = nullptr;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&node, bogus, nullptr, 0));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(bogus));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(nullptr, nullptr));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphExecDestroy(nullptr));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphAddEmptyNode(nullptr, graph_, nullptr, 0));
}

}  // namespace
}  // namespace hostcuda_test
