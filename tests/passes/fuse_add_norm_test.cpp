// Residual sums that become the business of the normalization behind them.
#include "check_pass.h"
#include "ops/op/matmul.h"

namespace tenon::passes {
namespace {

Options onGpu() {
  Options options;
  options.device = "cuda";
  return options;
}

graph::Graph expectJoined(const std::string& body, const std::string& left) {
  return expectPass("fuse_add_norm", body, left, onGpu());
}

const std::string kHead = R"g(input %h : f32[2,3,8]
  input %r : f32[2,3,8]
  const %s : f32[8] = random(1)
  const %b : f32[8] = random(2)
  const %w : f32[8,8] = random(3)
  const %c : f32[8] = random(4)
)g";

std::string sum(const std::string& expr, const std::string& inputs) {
  return "%x : f32[2,3,8] = pointwise{expr=\"" + expr + "\"}(" + inputs + ") \"sum\" from(\"sum\")\n";
}
std::string normalization(const std::string& fields) {
  return "%n : f32[2,3,8] = normalization{" + fields + "}(%x, %s, %b) \"norm\" from(\"norm\")\noutput %n\n";
}
const std::string kNormal = normalization("axes=[-1]");

TEST(JoinSkip, SumOfTwo) {
  const auto after = expectJoined(kHead + sum("add(x0,x1)", "%h, %r") + kNormal, "normalization");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.op.text(), "normalization{axes=[-1] skip=true}");
  EXPECT_EQ(node.name, "sum + norm");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"sum", "norm"}));
  expectJoined(kHead + sum("add(x0,x1)", "%h, %r") + normalization("axes=[2,1] centered=false"), "normalization");
}

// Of many rows a product adds in its epilogue with less loss than the normalization has.
TEST(JoinSkip, ManyRowsBehindAProduct) {
  const auto body = [](int rows) {
    const auto rowsOf = fmt::format("f32[{},8]", rows);
    return fmt::format(
        "input %h : {0}\ninput %r : {0}\nconst %s : f32[8] = random(1)\nconst %b : f32[8] = random(2)\n"
        "const %w : f32[8,8] = random(3)\n%m : {0} = matmul(%h, %w) \"product\"\n"
        "%x : {0} = pointwise{{expr=\"add(x0,x1)\"}}(%m, %r) \"sum\"\n"
        "%n : {0} = normalization{{axes=[-1]}}(%x, %s, %b) \"norm\"\noutput %n\n",
        rowsOf);
  };
  expectJoined(body(2048), "matmul normalization");
  expectJoined(body(2049), "matmul pointwise normalization");
}

TEST(JoinSkip, OtherReadersOfTheSum) {
  // A block that normalizes first: the sum goes on beside what is normalized.
  const std::string more = R"g(%m : f32[2,3,8] = matmul(%n, %w) "product"
    %z : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%m, %x) "second"
    %l : f32[2,3,8] = normalization{axes=[-1]}(%z, %s, %b) "last"
    output %l
)g";
  const auto after =
      expectJoined(kHead + sum("add(x0,x1)", "%h, %r") + kNormal + more, "normalization matmul normalization");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), "normalization{axes=[-1] skip=true keepSum=true}");
  EXPECT_EQ(after.node(after.order()[2]).op.text(), "normalization{axes=[-1] skip=true}");
  // Two normalizations of one sum, and a sum that the network gives out under its name.
  expectJoined(kHead + sum("add(x0,x1)", "%h, %r") + kNormal + R"g(
    %o : f32[2,3,8] = normalization{axes=[-1]}(%x, %b, %s) "other"
    output %o
    output %x
)g",
               "normalization normalization");
}

TEST(JoinSkip, SumsThatAreMoreThanTheirLastAddition) {
  expectJoined(kHead + sum("mul(x0,x1);add(x2,t0)", "%h, %c, %r") + kNormal, "pointwise normalization");
  expectJoined(kHead + sum("relu(x1);add(t0,x0)", "%r, %h") + kNormal, "pointwise normalization");
  const std::string product = "%x : f32[2,3,8] = matmul{epilogue=\"";
  const auto after = expectJoined(kHead + product + "add(x0,x1);add(t0,x2)\"}(%h, %w, %c, %r) \"product\"\n" + kNormal,
                                  "matmul normalization");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), "matmul{epilogue=\"add(x0,x1)\"}");
  for (const char* expr : {"add(x0,x1)", "add(x1,x0)"}) {
    const auto alone = expectJoined(kHead + product + expr + "\"}(%h, %w, %r) \"product\"\n" + kNormal + "output %x\n",
                                    "matmul normalization");
    EXPECT_TRUE(alone.node(alone.order()[0]).op.as<ops::MatMul>()->epilogue.empty());
  }
}

TEST(JoinSkip, WhatStays) {
  const auto stays = [](const std::string& body, const std::string& operators = "pointwise normalization") {
    SCOPED_TRACE(body);
    expectJoined(body, operators);
  };
  const std::string both = sum("add(x0,x1)", "%h, %r");
  stays(kHead + sum("add(x0,x1)", "%h, %c") + kNormal);  // a bias
  stays(kHead + sum("sub(x0,x1)", "%h, %r") + kNormal);
  stays(kHead + sum("add(x0,x0)", "%h") + kNormal);
  stays(kHead + sum("add(x0,x1);relu(t0)", "%h, %r") + kNormal);
  stays(kHead + sum("mul(x0,x1);add(t0,x1)", "%h, %r") + kNormal);  // read twice
  stays(kHead + both + normalization("axes=[1]"));
  stays(kHead + both + normalization("axes=[2] groups=3"));
  // A scale that is computed from the sum.
  stays(kHead + both + R"g(%t : f32[2,3,8] = pointwise{expr="tanh(x0)"}(%x) "t"
    %n : f32[2,3,8] = normalization{axes=[-1]}(%x, %t, %b) "n"
    output %n
)g",
        "pointwise pointwise normalization");
  // Rows that no block keeps.
  stays(R"g(input %h : f32[2,20000]
    input %r : f32[2,20000]
    const %s : f32[1] = {2}
    %x : f32[2,20000] = pointwise{expr="add(x0,x1)"}(%h, %r) "x"
    %n : f32[2,20000] = normalization{axes=[-1]}(%x, %s, %s) "n"
    output %n
)g");
  expectPass("fuse_add_norm", kHead + both + kNormal, "pointwise normalization");  // on the CPU
}

TEST(JoinSkip, OnlyWhatTheDeviceComputes) {
  auto options = onGpu();
  options.computes = [](const ops::Operator& op, std::span<const ops::TensorType> inputs) {
    EXPECT_EQ(op.text(), "normalization{axes=[-1] skip=true}");
    EXPECT_EQ(inputs.size(), 4U);
    return false;
  };
  expectPass("fuse_add_norm", kHead + sum("add(x0,x1)", "%h, %r") + kNormal, "pointwise normalization", options);
}

TEST(JoinSkip, ValuesThatTheUserMarkedStay) {
  const auto before = graph::parse("graph \"g\" {\n" + kHead + sum("add(x0,x1)", "%h, %r") + kNormal + "}\n");
  auto after = before;
  after.value(*after.findValue("x")).constraints.debug = true;
  EXPECT_EQ(runPass("fuse_add_norm", after, onGpu()), 0);
}

TEST(JoinSkip, WholePipeline) {
  // A layer that normalizes behind its sums: the products keep their biases only, whatever stands between.
  const auto before = graph::parse("graph \"g\" {\n" + kHead + R"g(
    const %v : f32[8,8] = random(5)
    %m : f32[2,3,8] = matmul(%h, %w) "m"
    %a : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%c, %m) "a"
    %x : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%a, %h) "x"
    %n : f32[2,3,8] = normalization{axes=[-1]}(%x, %s, %b) "n"
    %f : f32[6,8] = reshape{shape=[6,8]}(%n) "flat"
    %g : f32[6,8] = matmul(%f, %v) "g"
    %i : f32[6,8] = pointwise{expr="add(x0,x1);relu(t0)"}(%g, %b) "i"
    %j : f32[6,8] = matmul(%i, %w) "j"
    %k : f32[6,8] = pointwise{expr="add(x0,x1)"}(%j, %c) "k"
    %l : f32[2,3,8] = reshape{shape=[2,3,8]}(%k) "back"
    %y : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%l, %n) "y"
    %z : f32[2,3,8] = normalization{axes=[-1]}(%y, %s, %b) "z"
    output %z
})g");
  auto after = before;
  run(after, onGpu());
  EXPECT_EQ(operators(after), "matmul normalization matmul matmul normalization");
  for (const auto id : after.order()) {
    const auto* product = after.node(id).op.as<ops::MatMul>();
    if (product == nullptr) continue;
    EXPECT_EQ(text(product->epilogue).find("x2"), std::string::npos) << after.node(id).op.text();
  }
  expectSameValues(before, after);
  auto without = before;
  const ScopedVariable disable("TENON_DISABLE", "fuse_add_norm");
  run(without, onGpu());
  EXPECT_EQ(operators(without), "matmul normalization matmul matmul normalization");
  EXPECT_EQ(graph::text(without).find("skip"), std::string::npos);
}

TEST(JoinSkip, SlicesGoThrough) {
  // The class token: the normalization of the sum and what it adds are of one row.
  expectPass("hoist_slices", kHead + R"g(%m : f32[2,3,8] = matmul(%h, %w) "m"
    %n : f32[2,3,8] = normalization{axes=[-1] skip=true}(%m, %s, %b, %r) "n"
    %y : f32[2,1,8] = slice{start=[0,0,0] size=[2,1,8]}(%n) "y"
    output %y
)g",
             "slice slice matmul normalization");
  // A sum that is kept, where nobody reads other rows of it either.
  const std::string kept = kHead + R"g(%m : f32[2,3,8] = matmul(%h, %w) "m"
    %n : f32[2,3,8], %x : f32[2,3,8] = normalization{axes=[-1] skip=true keepSum=true}(%m, %s, %b, %r) "n"
    %y : f32[2,1,8] = slice{start=[0,1,0] size=[2,1,8]}(%n) "y"
    %f : f32[2,1,8] = matmul(%y, %w) "f"
    %z : f32[2,1,8] = slice{start=[0,1,0] size=[2,1,8]}(%x) "z"
    %l : f32[2,1,8] = pointwise{expr="add(x0,x1)"}(%f, %z) "l"
    output %l
)g";
  expectPass("hoist_slices", kept, "slice slice matmul normalization matmul pointwise");
  expectPass("hoist_slices", kept + "output %x\n", "matmul normalization slice matmul slice pointwise");
}

}  // namespace
}  // namespace tenon::passes
