// Rarer forms of attention that is written out: soft caps, masks in turn, one head of keys, results in columns.
#include "check_pass.h"
#include "ops/op/attention.h"

namespace tenon::passes {
namespace {

// Queries [2,3,7,4], keys [2,3,5,4], values [2,3,5,6]; `scores` makes %s of the product %p.
std::string written(const std::string& scores) {
  return R"g(input %q : f32[2,3,7,4]
    input %k : f32[2,3,5,4]
    input %v : f32[2,3,5,6]
    input %mask : f32[2,1,1,5]
    input %bias : f32[1,3,7,5]
    %late : bool[2,1,1,5] = pointwise{expr="greater(x0,0.5)"}(%mask) "late"
    %open : bool[1,3,7,5] = pointwise{expr="less(x0,0.9)"}(%bias) "open"
    const %causal : bool[7,5] = {1,0,0,0,0, 1,1,0,0,0, 1,1,1,0,0, 1,1,1,1,0, 1,1,1,1,1, 1,1,1,1,1, 1,1,1,1,1}
    const %blind : bool[7,5] = {0,0,0,0,0, 1,1,0,0,0, 1,1,1,0,0, 1,1,1,1,0, 1,1,1,1,1, 1,1,1,1,1, 1,1,1,1,1}
    %p : f32[2,3,7,5] = matmul{transposeB=true}(%q, %k) "p"
    )g" + scores +
         R"g(
    %w : f32[2,3,7,5] = softmax{axis=-1}(%s) "softmax"
    %o : f32[2,3,7,6] = matmul(%w, %v) "o"
    output %o
)g";
}

ops::Attention attentionOf(const graph::Graph& graph) {
  for (const auto id : graph.order()) {
    if (const auto* op = graph.node(id).op.as<ops::Attention>()) return *op;
  }
  ADD_FAILURE() << "there is no attention in\n" << graph::text(graph);
  return {};
}

graph::Graph found(const std::string& body) {
  auto graph = graph::parse("graph \"g\" {\n" + body + "}\n");
  const auto before = graph;
  EXPECT_GE(runPass("find_attention", graph), 1) << body;
  graph::verify(graph);
  expectSameValues(before, graph);
  EXPECT_EQ(operators(graph).find("softmax"), std::string::npos);
  return graph;
}

bool isFound(const std::string& body) {
  auto graph = graph::parse("graph \"g\" {\n" + body + "}\n");
  return runPass("find_attention", graph) > 0;
}

TEST(AttentionForms, SoftCaps) {
  // ONNX's operator, Gemma's layers, and a cap that is scaled afterwards.
  auto op =
      attentionOf(found(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="mul(x0,0.1);tanh(t0);mul(t1,5)"}(%p) "s")g")));
  EXPECT_DOUBLE_EQ(op.softcap, 5);
  EXPECT_DOUBLE_EQ(op.scale, 0.5);
  op = attentionOf(found(written(R"g(%a : f32[2,3,7,5] = pointwise{expr="div(x0,3);tanh(t0)"}(%p) "a"
    %b : f32[2,3,7,5] = pointwise{expr="mul(x0,-2);div(t0,4)"}(%a) "b"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%b, %bias) "s")g")));
  EXPECT_DOUBLE_EQ(op.softcap, 0.5);
  EXPECT_TRUE(op.hasMask);
  // Masks within the cap, and a cap of a cap.
  EXPECT_FALSE(isFound(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="add(x0,x1);tanh(t0)"}(%p, %bias) "s")g")));
  EXPECT_FALSE(isFound(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="tanh(x0);mul(t0,2);tanh(t1)"}(%p) "s")g")));
}

TEST(AttentionForms, MasksThatAreScaledWithTheScores) {
  const auto op =
      attentionOf(found(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="add(x0,x1);mul(t0,0.5)"}(%p, %mask) "s")g")));
  EXPECT_DOUBLE_EQ(op.scale, 0.5);
  found(written(R"g(%a : f32[2,3,7,5] = pointwise{expr="div(x0,2);add(t0,x1);mul(t1,0.5)"}(%p, %mask) "a"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%a, %bias) "s")g"));
  found(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="select(x1,-inf,x0);mul(t0,0.5)"}(%p, %late) "s")g"));
  // The number would no longer be the lowest.
  EXPECT_FALSE(
      isFound(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="select(x1,-2e30,x0);mul(t0,0.01)"}(%p, %late) "s")g")));
}

// Swin's second version: a factor of its own for each head.
TEST(AttentionForms, FactorsOfRows) {
  const auto graph = found(written(R"g(const %t : f32[3,1,1] = random(4)
    %a : f32[2,3,7,5] = pointwise{expr="mul(x0,x1)"}(%p, %t) "a"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%a, %bias) "s")g"));
  EXPECT_TRUE(attentionOf(graph).hasMask);
  found(written(R"g(input %t : f32[2,1,7,1]
    %s : f32[2,3,7,5] = pointwise{expr="mul(x1,x0)"}(%p, %t) "s")g"));
  // Of keys, and behind a mask.
  EXPECT_FALSE(isFound(written(R"g(%s : f32[2,3,7,5] = pointwise{expr="mul(x0,x1)"}(%p, %mask) "s")g")));
  EXPECT_FALSE(isFound(written(R"g(const %t : f32[3,1,1] = random(4)
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x2);mul(t0,x1)"}(%p, %t, %bias) "s")g")));
}

TEST(AttentionForms, ConditionsAndMasksInTurn) {
  for (const char* scores :
       {R"g(%s : f32[2,3,7,5] = pointwise{expr="select(x1,x0,-3.4e38);add(t0,x2)"}(%p, %open, %mask) "s")g",
        R"g(%s : f32[2,3,7,5] = pointwise{expr="add(x0,x2);select(x1,t0,-inf)"}(%p, %open, %mask) "s")g",
        R"g(%s : f32[2,3,7,5] = pointwise{expr="select(x1,x0,-3e38);select(x2,-2e38,t0)"}(%p, %open, %late) "s")g",
        R"g(%a : f32[2,3,7,5] = pointwise{expr="select(x1,x0,-inf)"}(%p, %causal) "a"
        %s : f32[2,3,7,5] = pointwise{expr="select(x1,-inf,x0);add(t0,x2)"}(%a, %late, %bias) "s")g"}) {
    found(written(scores));
  }
  // Behind a bias, which leaves no key out.
  found(written(R"g(const %t : f32[1,3,7,5] = random(4)
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x2);select(x1,t0,-3e38)"}(%p, %open, %t) "s")g"));
  // A finite number in the place of what was masked before: a row without an open key would be another.
  EXPECT_FALSE(isFound(
      written(R"g(%s : f32[2,3,7,5] = pointwise{expr="add(x0,x2);select(x1,t0,-3e38)"}(%p, %open, %mask) "s")g")));
}

// Small numbers that stand for -infinity do so where each row has an open key.
TEST(AttentionForms, SmallNumbersInConstantConditions) {
  const auto scores = [](const std::string& condition, const std::string& number) {
    return written("%s : f32[2,3,7,5] = pointwise{expr=\"select(x1,x0," + number + ")\"}(%p, %" + condition +
                   ") \"s\"");
  };
  found(scores("causal", "-10000"));
  found(scores("causal", "-65504"));
  EXPECT_FALSE(isFound(scores("causal", "-100")));
  EXPECT_FALSE(isFound(scores("blind", "-65504")));
  EXPECT_FALSE(isFound(scores("open", "-65504")));
}

TEST(AttentionForms, OneHeadOfKeysForAllQueries) {
  const auto body = [](const std::string& heads, const std::string& values) {
    return R"g(input %q : f32[2,)g" + heads + R"g(,7,4]
    input %k : f32[2,1,5,4]
    input %v : f32[2,)g" +
           values + R"g(,5,6]
    input %mask : f32[2,1,1,5]
    %p : f32[2,)g" +
           heads + R"g(,7,5] = matmul{transposeB=true}(%q, %k) "p"
    %s : f32[2,)g" +
           heads + R"g(,7,5] = pointwise{expr="mul(x0,0.5);add(t0,x1)"}(%p, %mask) "s"
    %w : f32[2,)g" +
           heads + R"g(,7,5] = softmax{axis=-1}(%s) "softmax"
    %o : f32[2,)g" +
           heads + R"g(,7,6] = matmul(%w, %v) "o"
    output %o
)g";
  };
  const auto graph = found(body("3", "1"));
  EXPECT_EQ(operators(graph), "attention");
  EXPECT_FALSE(isFound(body("3", "3")));
  // Grouped queries as five axes.
  const auto grouped = found(R"g(input %q : f32[2,2,3,7,4]
    input %k : f32[2,2,1,5,4]
    input %v : f32[2,2,1,5,6]
    %p : f32[2,2,3,7,5] = matmul{transposeB=true}(%q, %k) "p"
    %w : f32[2,2,3,7,5] = softmax{axis=-1}(%p) "softmax"
    %o : f32[2,2,3,7,6] = matmul(%w, %v) "o"
    output %o
)g");
  EXPECT_EQ(operators(grouped), "attention");
}

// The weights cut or joined along their leading axes behind the softmax, too.
TEST(AttentionForms, ReshapesBehindTheSoftmax) {
  const auto graph = found(R"g(input %q : f32[6,7,4]
    input %k : f32[6,4,5]
    input %v : f32[6,5,6]
    input %mask : f32[2,1,7,5]
    %p : f32[6,7,5] = matmul(%q, %k) "p"
    %a : f32[2,3,7,5] = reshape{shape=[2,3,7,5]}(%p) "a"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%a, %mask) "s"
    %w : f32[2,3,7,5] = softmax{axis=-1}(%s) "softmax"
    %b : f32[6,7,5] = reshape{shape=[6,7,5]}(%w) "b"
    %o : f32[6,7,6] = matmul(%b, %v) "o"
    output %o
)g");
  EXPECT_EQ(attentionOf(graph).hasMask, true);
}

// Images as columns: attention of autoencoders and of self-attention in generators.
TEST(AttentionForms, ResultsInColumns) {
  for (const char* outer :
       {"%t : f32[2,7,7] = transpose{permutation=[0,2,1]}(%w) \"t\"\n%o : f32[2,6,7] = matmul(%v, %t) \"o\"\n",
        "%o : f32[2,6,7] = matmul{transposeB=true}(%v, %w) \"o\"\n"}) {
    const auto graph = found(std::string(R"g(input %q : f32[2,4,7]
    input %k : f32[2,4,7]
    input %v : f32[2,6,7]
    %p : f32[2,7,7] = matmul{transposeA=true}(%q, %k) "p"
    %s : f32[2,7,7] = pointwise{expr="mul(x0,0.5)"}(%p) "s"
    %w : f32[2,7,7] = softmax{axis=2}(%s) "softmax"
)g") + outer + "output %o\n");
    EXPECT_EQ(operators(graph), "transpose transpose transpose attention transpose");
  }
  // The weights themselves, and not their transpose.
  EXPECT_FALSE(isFound(R"g(input %q : f32[2,4,7]
    input %k : f32[2,4,7]
    input %v : f32[2,6,7]
    %p : f32[2,7,7] = matmul{transposeA=true}(%q, %k) "p"
    %w : f32[2,7,7] = softmax{axis=2}(%p) "softmax"
    %o : f32[2,6,7] = matmul(%v, %w) "o"
    output %o
)g"));
}

}  // namespace
}  // namespace tenon::passes
