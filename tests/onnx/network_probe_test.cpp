// What supportsModelV2 answers, and that a client that asks again for each subgraph comes to an end.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "network_bench.h"
#include "topology.h"

namespace tenon::parsers::onnx {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

ModelMaker chain(const std::vector<std::string>& types, bool infos = false) {
  ModelMaker maker;
  maker.input("t0", {2, 3});
  for (size_t i = 0; i < types.size(); ++i) {
    maker.node(types[i], {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}, "n" + std::to_string(i));
    if (infos) {
      maker.valueInfo("t" + std::to_string(i + 1), {2, 3});
    }
  }
  maker.output("t" + std::to_string(types.size()));
  return maker;
}

struct Answer {
  bool whole = false;
  Groups groups;
  std::string log;  // warnings and worse
  std::string errors;
};

Answer ask(const std::string& bytes) {
  NetworkBench bench;
  Answer answer;
  answer.whole = bench.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr);
  for (int64_t i = 0; i < bench.parser->getNbSubgraphs(); ++i) {
    int64_t length = 0;
    const int64_t* nodes = bench.parser->getSubgraphNodes(i, length);
    answer.groups.emplace_back(nodes, nodes + length);
    EXPECT_EQ(bench.parser->isSubgraphSupported(i), answer.whole);
  }
  answer.log = bench.logger.text;
  answer.errors = bench.errors();
  SubGraphCollection_t parts;
  EXPECT_EQ(bench.parser->supportsModel(bytes.data(), bytes.size(), parts, nullptr), answer.whole);
  EXPECT_EQ(parts.size(), answer.groups.size());
  for (size_t i = 0; i < std::min(parts.size(), answer.groups.size()); ++i) {
    EXPECT_EQ(std::vector<int64_t>(parts[i].first.begin(), parts[i].first.end()), answer.groups[i]);
    EXPECT_EQ(parts[i].second, answer.whole);
  }
  EXPECT_EQ(bench.network->getNbLayers(), 0) << "the caller's network must stay as it was";
  EXPECT_EQ(bench.network->getNbInputs(), 0);
  return answer;
}

// A client such as an execution provider: what is not supported as a whole becomes models of the groups, and each is
// asked again. Shapes of what crosses a cut are known where value_info declares them.
class Client {
 public:
  explicit Client(const pb::ModelProto& model) : model_(model) {
    std::vector<int64_t> all(static_cast<size_t>(model.graph().node_size()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    run(all, model, 1);
  }
  Groups taken;
  int asked = 0;
  int rounds = 0;
  std::string log;

 private:
  static constexpr int kTooMany = 50;

  void run(const std::vector<int64_t>& nodes, const pb::ModelProto& part, int round) {
    ++asked;
    rounds = std::max(rounds, round);
    if (round > kTooMany) return;
    const Answer answer = ask(part.SerializeAsString());
    log += answer.log;
    if (answer.whole) {
      if (!nodes.empty()) taken.push_back(nodes);
      return;
    }
    for (const auto& group : answer.groups) {
      std::vector<int64_t> original;
      for (const int64_t node : group) original.push_back(nodes.at(static_cast<size_t>(node)));
      run(original, cut(original), round + 1);
    }
  }

  pb::ModelProto cut(const std::vector<int64_t>& nodes) const {
    const pb::GraphProto& whole = model_.graph();
    pb::ModelProto part = model_;
    pb::GraphProto& graph = *part.mutable_graph();
    graph.clear_node();
    graph.clear_input();
    graph.clear_output();
    std::set<std::string> made, initializers;
    std::map<std::string, const pb::ValueInfoProto*> known;
    for (const auto& info : whole.value_info()) known[info.name()] = &info;
    for (const auto& info : whole.input()) known[info.name()] = &info;
    for (const auto& tensor : whole.initializer()) initializers.insert(tensor.name());
    for (const int64_t node : nodes) {
      *graph.add_node() = whole.node(static_cast<int>(node));
      for (const auto& name : whole.node(static_cast<int>(node)).output()) made.insert(name);
    }
    std::set<std::string> read;
    for (const auto& node : graph.node()) {
      for (const auto& name : node.input()) {
        if (name.empty() || made.count(name) != 0 || initializers.count(name) != 0 || !read.insert(name).second)
          continue;
        pb::ValueInfoProto& input = *graph.add_input();
        input.set_name(name);
        input.mutable_type()->mutable_tensor_type()->set_elem_type(1);  // no shape: the client does not know it
        if (const auto found = known.find(name); found != known.end()) input = *found->second;
      }
    }
    for (const auto& name : made) graph.add_output()->set_name(name);
    return part;
  }

  const pb::ModelProto& model_;
};

TEST(Probe, AnUnsupportedNodeStandsInNoSubgraph) {
  for (const bool infos : {false, true}) {
    const Answer answer = ask(chain({"Relu", "Neg", "Nonsense", "Abs", "StringNormalizer"}, infos).bytes());
    EXPECT_FALSE(answer.whole);
    EXPECT_EQ(answer.groups, (Groups{{0, 1}, {3}})) << answer.errors;
    EXPECT_NE(answer.errors.find("Nonsense"), std::string::npos) << answer.errors;
    EXPECT_EQ(answer.log, "") << "a question is no error";
  }
  for (const auto& types : {std::vector<std::string>{"Nonsense"}, {"Nonsense", "StringNormalizer"}}) {
    EXPECT_TRUE(ask(chain(types).bytes()).groups.empty());
  }
}

TEST(Probe, ASupportedModelIsOneSubgraph) {
  const Answer answer = ask(chain({"Relu", "Neg"}).bytes());
  EXPECT_TRUE(answer.whole) << answer.errors;
  EXPECT_EQ(answer.groups, (Groups{{0, 1}}));
  NetworkBench bench;
  EXPECT_TRUE(bench.parser->supportsOperator("Conv"));
  EXPECT_FALSE(bench.parser->supportsOperator("Nonsense"));
  EXPECT_FALSE(bench.parser->supportsOperator(nullptr));
}

TEST(Probe, WrongIndices) {
  NetworkBench bench;
  const std::string bytes = chain({"Relu"}).bytes();
  int64_t length = 7;
  EXPECT_EQ(bench.parser->getSubgraphNodes(0, length), nullptr);
  EXPECT_EQ(length, 0);
  EXPECT_NE(bench.errors().find("there are no subgraphs"), std::string::npos) << bench.errors();
  ASSERT_TRUE(bench.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr));
  for (const int64_t index : {int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN}) {
    bench.parser->clearErrors();
    EXPECT_FALSE(bench.parser->isSubgraphSupported(index));
    EXPECT_EQ(bench.parser->getSubgraphNodes(index, length), nullptr);
    EXPECT_NE(bench.errors().find("expected 0 to 0"), std::string::npos) << bench.errors();
  }
  EXPECT_FALSE(bench.parser->supportsModelV2(nullptr, 0, nullptr));
  EXPECT_EQ(bench.parser->getNbSubgraphs(), 0) << "the answer before is gone";
}

// What the network itself refuses is a verbose line as well, and the reason is in the error.
TEST(Probe, TheNetworksReasonIsKept) {
  ModelMaker maker;
  maker.input("a", {2, 3});
  maker.input("b", {4, 5});
  maker.node("Relu", {"a"}, {"c"});
  maker.node("Add", {"c", "b"}, {"d"});
  maker.output("d");
  const Answer answer = ask(maker.bytes());
  EXPECT_FALSE(answer.whole);
  EXPECT_EQ(answer.groups, (Groups{{0}}));
  EXPECT_EQ(answer.log, "");
  EXPECT_NE(answer.errors.find("(Add"), std::string::npos) << answer.errors;
  EXPECT_EQ(answer.errors.find("in the log"), std::string::npos) << answer.errors;
}

TEST(Probe, InputsWithoutRankDoNotStopTheRest) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.input("y", {2, 3});
  maker.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  maker.input("s", {2}, 8);  // strings
  maker.floats("bad", {5}, {1, 2});
  maker.node("Relu", {"y"}, {"a"});        // 0: no rank
  maker.node("Neg", {"a"}, {"b"});         // 1: behind it
  maker.node("Abs", {"x"}, {"c"});         // 2
  maker.node("Add", {"b", "c"}, {"d"});    // 3: behind it
  maker.node("Sqrt", {"c"}, {"e"});        // 4
  maker.node("Identity", {"s"}, {"f"});    // 5: no such type
  maker.node("Add", {"c", "bad"}, {"g"});  // 6: a damaged initializer
  maker.node("Exp", {"h"}, {"i"});         // 7: reads what is not there
  maker.node("Relu", {"a2"}, {"j"});       // 8: behind node 9, whose shape is declared
  maker.node("Relu", {"y"}, {"a2"});       // 9: no rank
  maker.valueInfo("a2", {2, 3});
  maker.output("d");
  maker.output("e");
  const Answer answer = ask(maker.bytes());
  EXPECT_FALSE(answer.whole);
  EXPECT_EQ(answer.log, "");
  EXPECT_EQ(answer.groups, (Groups{{2, 4}, {8}})) << answer.errors;
  EXPECT_NE(answer.errors.find("'y' has no declared rank"), std::string::npos) << answer.errors;
  const Client client(maker.proto());
  EXPECT_LE(client.rounds, 2);
}

TEST(Probe, AFaultOfTheWholeModelHasNoSubgraphs) {
  ModelMaker maker = chain({"Relu", "Neg"});
  maker.output("ghost");
  const Answer answer = ask(maker.bytes());
  EXPECT_FALSE(answer.whole);
  EXPECT_TRUE(answer.groups.empty()) << "a client would ask for the same nodes again";
  ModelMaker cycle;
  cycle.input("x", {2});
  cycle.node("Add", {"x", "b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"});
  EXPECT_TRUE(ask(cycle.bytes()).groups.empty());
  EXPECT_TRUE(ask("no model").groups.empty());
}

TEST(Probe, AClientThatAsksAgainEnds) {
  for (const bool infos : {false, true}) {
    const ModelMaker maker = chain({"Relu", "Nonsense", "Neg", "Abs", "StringNormalizer", "Exp", "If", "Sqrt"}, infos);
    ModelMaker copy = maker;
    const Client client(copy.proto());
    EXPECT_EQ(client.taken, infos ? (Groups{{0}, {2, 3}, {5}, {7}}) : (Groups{{0}}));
    EXPECT_LE(client.rounds, 2);
    EXPECT_LE(client.asked, 5);
    EXPECT_EQ(client.log, "");
  }
}

// An If reads what is made outside of it: no group may hold both the maker of that and what follows the If.
TEST(Probe, GraphsWithinNodesReadFromOutside) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.input("condition", {}, 9);
  auto& branch = maker.node("If", {"condition"}, {"b"});
  auto* attribute = branch.add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(5);
  auto* outer = attribute->mutable_g()->add_node();  // an If within the branch, whose own branch reads "a"
  outer->set_op_type("If");
  outer->add_input("condition");
  outer->add_output("b");  // of the branch, not of the graph outside
  auto* nested = outer->add_attribute();
  nested->set_name("then_branch");
  auto* inner = nested->mutable_g()->add_node();
  inner->set_op_type("Neg");
  inner->add_input("a");
  inner->add_output("c");
  nested->mutable_g()->add_output()->set_name("c");
  attribute->mutable_g()->add_output()->set_name("b");
  maker.node("Relu", {"x"}, {"a"});
  maker.node("Add", {"b", "a"}, {"d"});
  maker.valueInfo("b", {2, 3});
  maker.output("d");
  EXPECT_EQ(topologicalOrder(maker.graph()), (std::vector<int>{1, 0, 2}));
  const Answer answer = ask(maker.bytes());
  EXPECT_EQ(answer.groups, (Groups{{1}, {2}})) << answer.errors;
}

TEST(Probe, CallsOfAFunctionWithAnUnsupportedNode) {
  ModelMaker maker;
  for (const auto& [name, type] :
       {std::pair{"Inner", "Nonsense"}, std::pair{"Outer", "Inner"}, std::pair{"Good", "Relu"}}) {
    auto* function = maker.proto().add_functions();
    function->set_name(name);
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("b");
    auto* node = function->add_node();
    node->set_op_type(type);
    if (std::string(type) == "Inner") node->set_domain("mine");
    node->add_input("a");
    node->add_output("b");
  }
  maker.input("x", {2});
  const char* calls[] = {"Good", "Outer", "Good", "Inner", "Outer", "Good"};
  for (int i = 0; i < 6; ++i) {
    maker.node(calls[i], {i == 0 ? "x" : "t" + std::to_string(i - 1)}, {"t" + std::to_string(i)}).set_domain("mine");
    maker.valueInfo("t" + std::to_string(i), {2});
  }
  maker.output("t5");
  EXPECT_EQ(ask(maker.bytes()).groups, (Groups{{0}, {2}, {5}}));
  const Client client(maker.proto());
  EXPECT_EQ(client.taken, (Groups{{0}, {2}, {5}}));
}

// Random graphs: every supported node stands in one group; none that is not; the groups in their order, with the other
// nodes between, are free of cycles; and a client takes all of them.
TEST(Probe, RandomGraphs) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    ModelMaker maker;
    maker.input("t0", {2});
    const int count = 1 + static_cast<int>(random() % 14);
    std::set<int64_t> expected;
    std::vector<std::set<int64_t>> before(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      const bool good = random() % 4 != 0;
      std::vector<std::string> inputs;
      for (int k = 0; k < 2; ++k) {
        const auto from = static_cast<int64_t>(random() % static_cast<unsigned>(i + 1));
        inputs.push_back("t" + std::to_string(from));
        if (from == 0) continue;
        auto& all = before[static_cast<size_t>(i)];
        all.insert(from - 1);
        all.insert(before[static_cast<size_t>(from - 1)].begin(), before[static_cast<size_t>(from - 1)].end());
      }
      maker.node(good ? "Add" : "Nonsense", inputs, {"t" + std::to_string(i + 1)});
      maker.valueInfo("t" + std::to_string(i + 1), {2});
      if (good) expected.insert(i);
    }
    maker.output("t" + std::to_string(count));
    const Answer answer = ask(maker.bytes());
    EXPECT_EQ(answer.whole, expected.size() == static_cast<size_t>(count));
    std::set<int64_t> found;
    for (const auto& group : answer.groups) {
      for (const int64_t node : group) {
        EXPECT_TRUE(found.insert(node).second);
        // Whatever lies between two nodes of a group is of the group.
        for (const int64_t earlier : group) {
          for (const int64_t between : before[static_cast<size_t>(node)]) {
            const bool onPath = before[static_cast<size_t>(between)].count(earlier) != 0;
            EXPECT_TRUE(!onPath || std::count(group.begin(), group.end(), between) == 1)
                << earlier << " " << between << " " << node;
          }
        }
        for (const int64_t earlier : before[static_cast<size_t>(node)]) {
          const bool made = found.count(earlier) != 0 || expected.count(earlier) == 0;
          EXPECT_TRUE(made) << "node " << node << " stands before node " << earlier;
        }
      }
    }
    EXPECT_EQ(found, expected);
    const Client client(maker.proto());
    std::set<int64_t> taken;
    for (const auto& group : client.taken) taken.insert(group.begin(), group.end());
    EXPECT_EQ(taken, expected);
    EXPECT_LE(client.rounds, 2);
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx
