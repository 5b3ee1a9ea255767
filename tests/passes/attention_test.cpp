// Attention written out by exporters, the operator's meaning, and the kernel that computes it.
#include <cmath>

#include "check_pass.h"

namespace tenon::passes {
namespace {

// q, k and v [2,S,H*D] split into heads as PyTorch exports them, their attention, and the heads joined again.
std::string exported(const std::string& scores, const std::string& keys = "0,2,3,1", const std::string& after = "") {
  return R"g(input %q : f32[2,7,12]
    input %k : f32[2,5,12]
    input %v : f32[2,5,6]
    input %mask : f32[2,1,1,5]
    %q1 : f32[2,7,3,4] = reshape{shape=[2,7,3,4]}(%q) "q1"
    %q2 : f32[2,3,7,4] = transpose{permutation=[0,2,1,3]}(%q1) "q2"
    %k1 : f32[2,5,3,4] = reshape{shape=[2,5,3,4]}(%k) "k1"
    %k2 : f32[2,3,4,5] = transpose{permutation=[)g" + keys + R"g(]}(%k1) "k2"
    %v1 : f32[2,5,3,2] = reshape{shape=[2,5,3,2]}(%v) "v1"
    %v2 : f32[2,3,5,2] = transpose{permutation=[0,2,1,3]}(%v1) "v2"
    %p : f32[2,3,7,5] = matmul(%q2, %k2) "p" from("p")
    )g" + scores + R"g(
    %w : f32[2,3,7,5] = softmax{axis=3}(%s) "softmax" from("softmax")
    %o : f32[2,3,7,2] = matmul(%w, %v2) "o" from("o")
    %o1 : f32[2,7,3,2] = transpose{permutation=[0,2,1,3]}(%o) "o1"
    %y : f32[2,7,6] = reshape{shape=[2,7,6]}(%o1) "y"
    output %y
)g" + after;
}

TEST(FindAttention, HeadsInColumns) {
  auto graph = expectPass("find_attention", exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s" from("s"))g"),
                          "reshape reshape reshape reshape reshape reshape attention reshape reshape");
  run(graph, {});
  EXPECT_EQ(operators(graph), "attention");
  EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "attention{heads=3 scale=0.5}");
  EXPECT_EQ(graph.node(graph.order()[0]).origins, (std::vector<std::string>{"p", "s", "softmax", "o"}));
}

TEST(FindAttention, MasksAndScales) {
  const char* const kScores[] = {R"g(%a : f32[2,3,7,5] = pointwise{expr="mul(x0,0.5)"}(%p) "a"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%a, %mask) "s")g",
                                 R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,4);add(x1,t0)"}(%p, %mask) "s")g"};
  for (const char* scores : kScores) {
    auto graph = expectPass("find_attention", exported(scores), "reshape reshape reshape reshape reshape reshape attention reshape reshape");
    run(graph, {});
    EXPECT_EQ(operators(graph), "attention");
  }
}

TEST(FindAttention, WhatElseIsReadStays) {
  const std::string plain = R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s")g";
  const std::string all = "reshape transpose reshape transpose reshape transpose matmul pointwise softmax matmul transpose reshape";
  expectPass("find_attention", exported(plain, "0,2,3,1", "output %w\n"), all);
  // A mask that is scaled with the scores; scores that are a polynomial.
  expectPass("find_attention", exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="add(x0,x1);mul(t0,0.5)"}(%p, %mask) "s")g"), all);
  expectPass("find_attention", exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="mul(x0,x0)"}(%p) "s")g"), all);
}

TEST(FindAttention, WithoutHeads) {
  expectPass("find_attention", R"g(input %q : f32[4,7,8]
    input %k : f32[4,5,8]
    input %v : f32[4,5,3]
    %p : f32[4,7,5] = matmul{transposeB=true}(%q, %k) "p"
    %w : f32[4,7,5] = softmax{axis=-1}(%p) "softmax"
    %o : f32[4,7,3] = matmul(%w, %v) "o"
    output %o
)g", "attention");
}

TEST(FindAttention, NotWhereNoKernelComputesIt) {
  const auto before = graph::parse("graph \"g\" {\n" + exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s")g") + "}\n");
  auto after = before;
  Options options;
  options.computes = [](const ops::Operator& op, std::span<const ops::TensorType>) { return op.name() != "attention"; };
  run(after, options);
  EXPECT_EQ(operators(after).find("attention"), std::string::npos);
  expectSameValues(before, after);
}

TEST(PackAttention, OneProductForQueriesKeysAndValues) {
  const auto projections = [](const char* x2, const char* epilogue) {
    std::string body = "input %x : f32[2,5,8]\ninput %z : f32[2,5,8]\n";
    for (const char* name : {"q", "k", "v"}) {
      body += fmt::format("const %w{0} : f32[8,12] = random({1})\nconst %b{0} : f32[1,1,12] = random({2})\n", name, int{name[0]}, name[0] + 1);
      body += fmt::format("%{0} : f32[2,5,12] = matmul{{epilogue=\"{1}\"}}(%{2}, %w{0}, %b{0}) \"{0}\" from(\"{0}\")\n", name, epilogue,
                          name[0] == 'v' ? x2 : "x");
    }
    return body + "%y : f32[2,5,12] = attention{heads=3 scale=0.5}(%q, %k, %v) \"a\"\noutput %y\n";
  };
  const auto after = expectPass("pack_attention", projections("x", "add(x0,x1)"), "matmul attention");
  EXPECT_EQ(after.node(after.order()[0]).name, "q + k + v");
  expectPass("pack_attention", projections("z", "add(x0,x1)"), "matmul matmul matmul attention");
}

TEST(AttentionKernel, PackedOperands) {
  for (const char* mask : {"", ", %m"}) {
    const auto graph = graph::parse(fmt::format("graph \"g\" {{\ninput %x : f32[2,37,90]\ninput %m : f32[37,37]\n%y : f32[2,37,30] = "
                                                "attention{{heads=3 scale=0.3 hasMask={} packed=true}}(%x{}) \"a\"\noutput %y\n}}\n", *mask != 0, mask));
    test::expectMatchesReference(graph, randomInputs(graph, 2, 11), {});
  }
}

TEST(AttentionKernel, RowsWithoutKeys) {
  for (const char* mask : {"[2,1,9,2]", "[2,1,9,1]", "[1,3,9,2]"}) {
    const auto graph = graph::parse(fmt::format(R"g(graph "g" {{
input %q : f32[2,9,12]
input %k : f32[2,2,12]
input %v : f32[2,2,6]
input %m : f32{0}
%closed : f32{0} = pointwise{{expr="greater(x0,0.25);select(t0,0,-inf)"}}(%m) "mask"
%y : f32[2,9,6] = attention{{heads=3 scale=0.5 hasMask=true emptyIsZero=true}}(%q, %k, %v, %closed) "a"
output %y
}})g", mask));
    const auto inputs = randomInputs(graph, 2, 5);
    const auto expected = graph::evaluate(graph, test::views(inputs));
    const auto view = expected[0].view();
    int zeros = 0;
    for (int64_t i = 0; i < view.count(); ++i) {
      EXPECT_FALSE(std::isnan(view.as<float>()[i]));
      zeros += view.as<float>()[i] == 0 ? 1 : 0;
    }
    EXPECT_GE(zeros, 2);
    EXPECT_LT(zeros, view.count());
    test::expectMatchesReference(graph, inputs, {});
  }
}

struct Case {
  int64_t batch, heads, queries, keys, width, columns;
};

void expectKernel(const Case& c, const std::string& mask) {
  const auto text = fmt::format(
      "graph \"g\" {{\ninput %q : f32[{},{},{}]\ninput %k : f32[{},{},{}]\ninput %v : f32[{},{},{}]\n{}%y : f32[{},{},{}] = "
      "attention{{heads={} scale=0.7 hasMask={}}}(%q, %k, %v{}) \"a\"\noutput %y\n}}\n",
      c.batch, c.queries, c.heads * c.width, c.batch, c.keys, c.heads * c.width, c.batch, c.keys, c.heads * c.columns,
      mask.empty() ? "" : "input %m : f32" + mask + "\n", c.batch, c.queries, c.heads * c.columns, c.heads, !mask.empty(), mask.empty() ? "" : ", %m");
  SCOPED_TRACE(text);
  const auto graph = graph::parse(text);
  for (const int level : {0, 1}) {
    build::BuildOptions options;
    options.optimizationLevel = level;
    test::expectMatchesReference(graph, randomInputs(graph, 2, 11), options);
  }
}

TEST(AttentionKernel, MatchesTheReference) {
  for (const Case& c : {Case{1, 1, 1, 1, 1, 1}, Case{2, 3, 7, 5, 4, 2}, Case{1, 3, 17, 17, 16, 16}, Case{2, 2, 33, 65, 64, 64}, Case{1, 4, 40, 31, 19, 37}, Case{1, 12, 128, 128, 64, 64}}) {
    expectKernel(c, "");
    expectKernel(c, fmt::format("[{}]", c.keys));
    expectKernel(c, fmt::format("[{},1,1,{}]", c.batch, c.keys));
    expectKernel(c, fmt::format("[1,{},{},{}]", c.heads, c.queries, c.keys));
    expectKernel(c, fmt::format("[{},1]", c.queries));
  }
}

}  // namespace
}  // namespace tenon::passes
