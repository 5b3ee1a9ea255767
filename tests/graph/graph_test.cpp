// Text form, verifier, patches, hash and evaluation of graphs.
#include <gtest/gtest.h>

#include "core/error.h"
#include "graph/graph.h"
#include "ops/op/pointwise.h"

namespace tenon::graph {
namespace {

constexpr const char* kEverything = R"g(graph "every thing" {
  symbol "N" = extent(%"an input", 0)
  input %"an input" : f32[N,4] layouts([linear,channels_last]) range(-2,2.5)
  input %y : f32[N,4] as(f32)
  const %k : f32[4] = {1,-0.5,3,0.25}
  const %"one two" : i64[2] = {-7,9}
  %s : f32[N,4] = pointwise{expr="add(x0,x1);mul(t0,x2)"}(%"an input", %y, %k) "a sum" from("l 1", "l2") debug
  %"out put" : f32[N,4] = pointwise{expr="relu(x0)"}(%s) "act" from("l3") on("cpu")
  output %"out put" as "the result"
  output %s
  output %"one two"
})g";

constexpr const char* kChain = R"g(graph "chain" {
  input %x : f32[2,3]
  %a : f32[2,3] = pointwise{expr="neg(x0)"}(%x) "neg" from("n")
  %b : f32[2,3] = pointwise{expr="relu(x0)"}(%a) "relu" from("r")
  %c : f32[2,3] = pointwise{expr="add(x0,x1)"}(%a, %b) "sum" from("s")
  output %c as "result"
})g";

ops::Operator pointwise(const char* expr) { return ops::Pointwise{ops::parseScalarExpr(expr)}; }

ops::TensorType f32(Shape shape) { return {DataType::kF32, std::move(shape), std::nullopt}; }

NodeId nodeNamed(const Graph& graph, std::string_view name) {
  for (const NodeId id : graph.order()) {
    if (graph.node(id).name == name) return id;
  }
  return kNone;
}

TEST(Text, PrintsWhatItReads) {
  const Graph graph = parse(kEverything);
  const std::string once = text(graph);
  const Graph again = parse(once);
  EXPECT_EQ(once, text(again));
  EXPECT_EQ(hash(graph), hash(again));
  const auto& input = again.value(*again.findValue("an input"));
  EXPECT_EQ(input.constraints.layouts, (std::vector{Layout::kLinear, Layout::kChannelsLast}));
  EXPECT_EQ(input.constraints.dynamicRange, std::pair(-2.0, 2.5));
  EXPECT_EQ(again.value(*again.findValue("y")).constraints.dtype, DataType::kF32);
  EXPECT_TRUE(again.value(*again.findValue("s")).constraints.debug);
  EXPECT_EQ(again.outputName(0), "the result");
  EXPECT_EQ(again.outputName(1), "s");
  EXPECT_EQ(again.node(nodeNamed(again, "act")).device, "cpu");
  EXPECT_EQ(again.node(nodeNamed(again, "a sum")).origins, (std::vector<std::string>{"l 1", "l2"}));
  EXPECT_EQ(again.value(*again.findValue("one two")).constant->view().loadInt(0), -7);
}

TEST(Text, LargeConstantsBecomeSeeds) {
  const Graph graph = parse(R"g(graph "g" { const %k : f32[5,7] = random(3) output %k })g");
  const std::string shown = text(graph);
  EXPECT_NE(shown.find("random("), std::string::npos);
  EXPECT_NO_THROW(parse(shown));
  EXPECT_EQ(hash(parse(text(graph, 100))), hash(graph));
}

TEST(Text, SeedsAreNumbersOf64Bits) {
  for (const char* seed : {"inf", "-inf", "nan", "-1", "1e20"}) {
    EXPECT_THROW(parse(fmt::format("graph \"g\" {{ const %k : f32[2] = random({}) output %k }}", seed)), UserError)
        << seed;
  }
}

TEST(Text, AnyNameIsReadAgain) {
  for (const char* name :
       {"model/conv:0", "a,b", "a b", "(x)", "x=y", "%", "\"", "\\", "0", "a.b-c_d/e", "\n", "{", "#"}) {
    Graph graph("g");
    const ValueId x = graph.addInput(name, f32({2}));
    graph.addOutput(graph.add(pointwise("relu(x0)"), "r", {x}), name);
    const std::string shown = text(graph);
    EXPECT_EQ(text(parse(shown)), shown) << name;
    EXPECT_EQ(hash(parse(shown)), hash(graph)) << name;
  }
}

TEST(Text, ErrorsNameWhatIsWrong) {
  const auto message = [](const char* source) -> std::string {
    try {
      parse(source);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(R"g(graph "g" { const %k : f32[N] = random(1) output %k })g").find("not symbols"),
            std::string::npos);
  EXPECT_NE(message(R"g(graph "g" { output %nobody })g").find("nobody"), std::string::npos);
  EXPECT_NE(message(R"g(graph "g" { input %x : f32[2] input %x : f32[2] })g").find("another value has this name"),
            std::string::npos);
  EXPECT_NE(message(R"g(graph "g" { input %x : f32[2] %y : i32[2] = pointwise{expr="neg(x0)"}(%x) "n" output %y })g")
                .find("declared"),
            std::string::npos);
  EXPECT_NE(message(R"g(graph "g" { } more)g").find("unexpected"), std::string::npos);
  EXPECT_FALSE(message(R"g(graph "g" { input %x : f32[2] )g").empty());
}

TEST(Verify, AcceptsSoundGraphs) {
  EXPECT_NO_THROW(verify(parse(kChain)));
  EXPECT_NO_THROW(verify(parse(kEverything)));
}

TEST(Verify, FindsDamage) {
  const auto damaged = [](auto&& damage) {
    Graph graph = parse(kChain);
    damage(graph);
    EXPECT_THROW(verify(graph), InternalError);
  };
  damaged([](Graph& g) { g.node(nodeNamed(g, "neg")).inputs[0] = *g.findValue("b"); });
  damaged([](Graph& g) { g.node(nodeNamed(g, "neg")).inputs[0] = 999; });
  damaged([](Graph& g) { g.value(*g.findValue("a")).type.dtype = DataType::kF16; });
  damaged([](Graph& g) { g.value(*g.findValue("c")).type.shape = Shape{2, 4}; });
  damaged([](Graph& g) { g.value(*g.findValue("c")).type.shape = Shape{6}; });
  damaged([](Graph& g) { g.value(*g.findValue("b")).producer = nodeNamed(g, "neg"); });
  damaged([](Graph& g) { g.value(*g.findValue("b")).name = "a"; });
  damaged([](Graph& g) { g.node(nodeNamed(g, "relu")).outputs.clear(); });
  damaged([](Graph& g) { g.node(nodeNamed(g, "relu")).op = pointwise("add(x0,x1)"); });
}

TEST(Patch, ReplaceKeepsNamesOriginsAndConstraints) {
  Graph graph = parse(kChain);
  const ValueId old = *graph.findValue("c");
  graph.value(old).constraints.dynamicRange = std::pair(-1.0, 1.0);
  const NodeId from[] = {nodeNamed(graph, "neg"), nodeNamed(graph, "relu"), nodeNamed(graph, "sum")};
  Patch patch(graph);
  const ValueId fresh = patch.add(pointwise("neg(x0);relu(t0);add(t0,t1)"), "all", {graph.inputs()[0]}, from);
  patch.replace(old, fresh);
  patch.commit();
  verify(graph);
  ASSERT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(graph.outputs(), std::vector<ValueId>{fresh});
  EXPECT_EQ(graph.outputName(0), "result");
  EXPECT_EQ(graph.node(graph.order()[0]).origins, (std::vector<std::string>{"n", "r", "s"}));
  EXPECT_EQ(graph.value(fresh).constraints.dynamicRange, std::pair(-1.0, 1.0));
}

TEST(Patch, ReplaceUseTouchesOneUse) {
  Graph graph = parse(kChain);
  const NodeId sum = nodeNamed(graph, "sum");
  Patch patch(graph);
  patch.replaceUse({sum, 0}, graph.inputs()[0]);
  patch.commit();
  verify(graph);
  EXPECT_EQ(graph.node(sum).inputs[0], graph.inputs()[0]);
  EXPECT_EQ(graph.uses(*graph.findValue("a")).size(), 1u);
}

TEST(Patch, RefusesWhatDoesNotFit) {
  Graph graph = parse(kChain);
  const std::string before = text(graph);
  const NodeId from[] = {nodeNamed(graph, "neg")};
  Patch patch(graph);
  const ValueId wrong = patch.add(pointwise("isnan(x0)"), "wrong", {graph.inputs()[0]}, from);
  patch.replace(*graph.findValue("a"), wrong);
  EXPECT_THROW(patch.commit(), InternalError);
  EXPECT_EQ(text(graph), before);
}

TEST(Patch, DiscardedLeavesNothing) {
  Graph graph = parse(kChain);
  const std::string before = text(graph);
  Patch patch(graph);
  patch.add(pointwise("abs(x0)"), "unused", {graph.inputs()[0]}, {});
  EXPECT_EQ(graph.uses(graph.inputs()[0]).size(), 2u);
  patch.discard();
  EXPECT_EQ(graph.uses(graph.inputs()[0]).size(), 1u);
  EXPECT_EQ(text(graph), before);
  verify(graph);
}

// What is added stands behind everything until its reader asks for it; what that needs comes along.
TEST(Patch, MovesWhatIsReadInFrontOfItsReader) {
  Graph graph = parse(kChain);
  const ValueId a = *graph.findValue("a");
  Patch patch(graph);
  const ValueId first = patch.add(pointwise("abs(x0)"), "first", {a}, {});
  const ValueId second = patch.add(pointwise("exp(x0)"), "second", {first}, {});
  patch.add(pointwise("exp(x0)"), "nobody's", {first}, {});
  patch.replaceUse({nodeNamed(graph, "relu"), 0}, second);
  patch.commit();
  verify(graph);
  std::string names;
  for (const NodeId id : graph.order()) names += graph.node(id).name + " ";
  EXPECT_EQ(names, "neg first second relu sum ");
  ASSERT_EQ(graph.uses(a).size(), 2u);
  EXPECT_EQ(graph.node(graph.uses(a)[0].node).name, "first");
  EXPECT_EQ(graph.node(graph.uses(a)[1].node).name, "sum");
  EXPECT_TRUE(graph.isBefore(nodeNamed(graph, "neg"), nodeNamed(graph, "first")));
}

// A later node is pulled forward where an earlier one comes to read it.
TEST(Patch, MovesOldNodesForward) {
  Graph graph = parse(R"g(graph "g" {
  input %x : f32[2]
  %a : f32[2] = pointwise{expr="neg(x0)"}(%x) "a"
  %b : f32[2] = pointwise{expr="abs(x0)"}(%a) "b"
  %c : f32[2] = pointwise{expr="exp(x0)"}(%x) "c"
  %d : f32[2] = pointwise{expr="add(x0,x1)"}(%b, %c) "d"
  output %d
})g");
  Patch patch(graph);
  patch.replaceUse({nodeNamed(graph, "b"), 0}, *graph.findValue("c"));
  patch.commit();
  verify(graph);
  std::string names;
  for (const NodeId id : graph.order()) names += graph.node(id).name + " ";
  EXPECT_EQ(names, "c b d ");
}

TEST(Patch, ManyEditsAtOnePlaceKeepTheOrder) {
  Graph graph = parse(kChain);
  const NodeId sum = nodeNamed(graph, "sum");
  for (int i = 0; i < 200; ++i) {
    Patch patch(graph);
    const ValueId before = graph.node(sum).inputs[1];
    patch.replaceUse({sum, 1}, patch.add(pointwise("neg(x0)"), fmt::format("n{}", i), {before}, {}));
    patch.commit();
  }
  verify(graph);
  ASSERT_EQ(graph.order().size(), 203u);
  for (size_t i = 0; i < 200; ++i) EXPECT_EQ(graph.node(graph.order()[2 + i]).name, fmt::format("n{}", i));
}

TEST(Names, ThatManyWantAreCounted) {
  Graph graph("g");
  for (int i = 0; i < 50; ++i) graph.addConstant(Constant::scalar(DataType::kF32, i), "k");
  EXPECT_TRUE(graph.findValue("k_49").has_value());
  EXPECT_FALSE(graph.findValue("k_50").has_value());
}

TEST(Patch, RefusesCycles) {
  Graph graph = parse(kChain);
  Patch patch(graph);
  patch.replaceUse({nodeNamed(graph, "neg"), 0}, *graph.findValue("b"));
  EXPECT_THROW(patch.commit(), InternalError);
}

TEST(DeadNodes, GoAndAreCounted) {
  Graph graph = parse(kChain);
  graph.add(pointwise("exp(x0)"), "unused", {graph.inputs()[0]});
  EXPECT_EQ(removeDeadNodes(graph), 1);
  EXPECT_EQ(removeDeadNodes(graph), 0);
  EXPECT_EQ(nodeNamed(graph, "unused"), kNone);
}

TEST(Hash, IgnoresNamesAndSeesTheRest) {
  Graph graph = parse(kChain);
  const uint64_t plain = hash(graph);
  graph.renameValue(*graph.findValue("a"), "another");
  graph.node(nodeNamed(graph, "relu")).name = "renamed";
  EXPECT_EQ(hash(graph), plain);
  graph.node(nodeNamed(graph, "renamed")).op = pointwise("exp(x0)");
  EXPECT_NE(hash(graph), plain);
  const auto constant = [](const char* value) {
    return hash(parse(std::string("graph \"g\" { const %k : f32[1] = {") + value + "} output %k }"));
  };
  EXPECT_NE(constant("1"), constant("2"));
}

TEST(Evaluate, ChecksInputsAndSymbols) {
  const Graph graph = parse(R"g(graph "g" {
    symbol "N" = extent(%x, 0)
    symbol "N" = extent(%y, 0)
    input %x : f32[N,3]
    input %y : f32[N,3]
    %z : f32[N,3] = pointwise{expr="add(x0,x1)"}(%x, %y) "sum"
    output %z
  })g");
  const HostTensor two(DataType::kF32, {2, 3});
  const HostTensor five(DataType::kF32, {5, 3});
  const HostTensor wide(DataType::kF32, {2, 4});
  const HostTensor half(DataType::kF16, {2, 3});
  const auto run = [&](std::vector<TensorView> inputs) { return evaluate(graph, inputs); };
  EXPECT_EQ(run({two.view(), two.view()})[0].view().dims, Dims({2, 3}));
  EXPECT_THROW(run({two.view()}), UserError);
  EXPECT_THROW(run({two.view(), five.view()}), UserError);
  EXPECT_THROW(run({two.view(), wide.view()}), UserError);
  EXPECT_THROW(run({two.view(), half.view()}), UserError);
  const std::vector<TensorView> inputs{five.view(), five.view()};
  EXPECT_EQ(bindSymbols(graph, inputs).at("N"), 5);
}

TEST(Construction, TakenNamesGetASuffix) {
  Graph graph;
  const ValueId x = graph.addInput("x", f32({2}));
  const ValueId y = graph.add(pointwise("neg(x0)"), "n", {x}, {});
  graph.renameValue(y, "y");
  const ValueId k = graph.addConstant(Constant::scalar(DataType::kF32, 1), "y");
  EXPECT_NE(graph.value(k).name, "y");
  EXPECT_THROW(graph.addInput("x", f32({2})), UserError);
  EXPECT_THROW(graph.add(pointwise("add(x0,x1)"), "bad", {x}), UserError);
}

}  // namespace
}  // namespace tenon::graph
