// Attention written out by exporters, and what its operator takes from the nodes around it.
#include "ops/op/attention.h"
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
    %k2 : f32[2,3,4,5] = transpose{permutation=[)g" +
         keys + R"g(]}(%k1) "k2"
    %v1 : f32[2,5,3,2] = reshape{shape=[2,5,3,2]}(%v) "v1"
    %v2 : f32[2,3,5,2] = transpose{permutation=[0,2,1,3]}(%v1) "v2"
    %p : f32[2,3,7,5] = matmul(%q2, %k2) "p" from("p")
    )g" + scores +
         R"g(
    %w : f32[2,3,7,5] = softmax{axis=3}(%s) "softmax" from("softmax")
    %o : f32[2,3,7,2] = matmul(%w, %v2) "o" from("o")
    %o1 : f32[2,7,3,2] = transpose{permutation=[0,2,1,3]}(%o) "o1"
    %y : f32[2,7,6] = reshape{shape=[2,7,6]}(%o1) "y"
    output %y
)g" + after;
}

TEST(FindAttention, HeadsInColumns) {
  auto graph =
      expectPass("find_attention", exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s" from("s"))g"),
                 "reshape transpose reshape transpose reshape transpose transpose attention transpose reshape");
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
    auto graph =
        expectPass("find_attention", exported(scores),
                   "reshape transpose reshape transpose reshape transpose transpose attention transpose reshape");
    run(graph, {});
    EXPECT_EQ(operators(graph), "attention");
  }
}

// Windows of pictures: the scores of all windows of all pictures, cut by pictures so that each window gets its mask.
std::string windows(int pictures, const std::string& mask,
                    const std::string& table = "const %t : f32[1,3,5,5] = random(7)") {
  const auto n = std::to_string(pictures * 4);
  const auto b = std::to_string(pictures);
  return "input %x : f32[" + n + ",5,18]\n" + table + "\n" + mask + "\n%c : f32[" + n +
         R"g(,5,3,3,2] = reshape{shape=[)g" + n + R"g(,5,3,3,2]}(%x) "cut"
    %h : f32[3,)g" +
         n + ",3,5,2] = transpose{permutation=[2,0,3,1,4]}(%c) \"heads\"\n" +
         [&] {
           std::string parts;
           for (const char* part : {"0", "1", "2"}) {
             parts += std::string("%s") + part + " : f32[1," + n + ",3,5,2] = slice{start=[" + part +
                      ",0,0,0,0] size=[1," + n + ",3,5,2]}(%h) \"s" + part + "\"\n%p" + part + " : f32[" + n +
                      ",3,5,2] = reshape{shape=[" + n + ",3,5,2]}(%s" + part + ") \"p" + part + "\"\n";
           }
           return parts;
         }() +
         "%q : f32[" + n + ",3,5,2] = pointwise{expr=\"mul(x0,0.7)\"}(%p0) \"scaled\"\n%k : f32[" + n +
         ",3,2,5] = transpose{permutation=[0,1,3,2]}(%p1) \"keys\"\n%a : f32[" + n +
         ",3,5,5] = matmul(%q, %k) \"scores\"\n%d : f32[" + n +
         ",3,5,5] = pointwise{expr=\"add(x0,x1)\"}(%a, %t) \"table\"\n%e : f32[" + b + ",4,3,5,5] = reshape{shape=[" +
         b + ",4,3,5,5]}(%d) \"byPicture\"\n%f : f32[" + b +
         ",4,3,5,5] = pointwise{expr=\"add(x0,x1)\"}(%e, %m) \"masked\"\n%g : f32[" + n + ",3,5,5] = reshape{shape=[" +
         n + ",3,5,5]}(%f) \"back\"\n%w : f32[" + n + ",3,5,5] = softmax{axis=-1}(%g) \"softmax\"\n%o : f32[" + n +
         ",3,5,2] = matmul(%w, %p2) \"values\"\n%r : f32[" + n +
         ",5,3,2] = transpose{permutation=[0,2,1,3]}(%o) \"rows\"\n%y : f32[" + n + ",5,6] = reshape{shape=[" + n +
         ",5,6]}(%r) \"joined\"\noutput %y\n";
}

TEST(FindAttention, ThroughReshapesOfTheScores) {
  const auto expectPacked = [](const std::string& body, const std::string& left, const std::string& mask) {
    const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
    auto after = before;
    run(after, {});
    EXPECT_EQ(operators(after), left) << graph::text(after);
    expectSameValues(before, after);
    for (const auto id : after.order()) {
      const auto* attention = after.node(id).op.as<ops::Attention>();
      if (attention == nullptr) continue;
      EXPECT_TRUE(attention->packed && attention->heads == 3);
      EXPECT_EQ(text(after.value(after.node(id).inputs[1]).type.shape), mask);
    }
  };
  const std::string window = "const %m : f32[1,4,1,5,5] = random(8)";
  // One picture: its windows are the batch. Several: these share the windows' masks, which stay small.
  expectPacked(windows(1, window), "attention", "[4,3,5,5]");
  expectPacked(windows(2, window), "reshape attention reshape", "[1,4,3,5,5]");
  // Masks that are computed; one for each picture; one for keys alone.
  expectPacked(windows(2, "input %m : f32[4,1,5,5]"), "pointwise reshape attention reshape", "[1,4,3,5,5]");
  expectPacked(windows(2, "const %m : f32[2,4,1,5,5] = random(8)"), "attention", "[8,3,5,5]");
  expectPacked(windows(2, "const %m : f32[5] = random(8)"), "attention", "[1,3,5,5]");
  expectPacked(windows(2, window, "const %t : f32[8,3,5,5] = random(7)"), "reshape attention reshape", "[2,4,3,5,5]");
  // A picture's own masks, which are not those of its windows.
  expectPacked(windows(2, "const %m : f32[2,1,1,5,5] = random(8)"), "reshape attention reshape", "[2,1,3,5,5]");
}

TEST(FindAttention, ReshapesThatMixRowsStay) {
  const auto body = windows(2, "const %m : f32[2,4,3,25,1] = random(8)");
  const auto replaced = [&](std::string text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  expectPass(
      "find_attention", replaced(body, "[2,4,3,5,5]", "[2,4,3,25,1]"),
      "reshape transpose slice reshape slice reshape slice reshape pointwise transpose matmul pointwise reshape pointwise reshape softmax matmul transpose reshape");
}

// A score that a condition replaces, either way round.
TEST(FindAttention, ConditionsAsMasks) {
  const std::string left =
      "reshape transpose reshape transpose reshape transpose pointwise pointwise transpose attention transpose reshape";
  const std::string condition = "%c : bool[2,1,1,5] = pointwise{expr=\"greater(x0,0.1)\"}(%mask) \"c\"\n";
  for (const char* scores :
       {R"g(%s : f32[2,3,7,5] = pointwise{expr="mul(x0,0.5);select(x1,-inf,t0)"}(%p, %c) "s")g",
        R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2);select(x1,t0,-3.4e38)"}(%p, %c) "s")g"}) {
    auto graph = expectPass("find_attention", exported(condition + scores), left);
    run(graph, {});
    EXPECT_EQ(operators(graph), "pointwise attention");
  }
  // Added to the score, such a number is no longer what takes its place.
  const std::string all =
      "reshape transpose reshape transpose reshape transpose matmul pointwise pointwise softmax matmul transpose reshape";
  expectPass("find_attention",
             exported(condition + R"g(%s : f32[2,3,7,5] = pointwise{expr="select(x1,-5,x0)"}(%p, %c) "s")g"), all);
}

TEST(FindAttention, RowsWithoutKeys) {
  std::string body = exported(R"g(%c : bool[2,1,1,5] = pointwise{expr="greater(x0,-2)"}(%mask) "c"
    %a : f32[2,1,1,5] = pointwise{expr="select(x0,-inf,0)"}(%c) "a"
    %s : f32[2,3,7,5] = pointwise{expr="add(x0,x1)"}(%p, %a) "s")g");
  const std::string softmax = "%w : f32[2,3,7,5] = softmax{axis=3}(%s) \"softmax\" from(\"softmax\")";
  body.replace(body.find(softmax), softmax.size(), R"g(%w0 : f32[2,3,7,5] = softmax{axis=3}(%s) "softmax"
    %n : bool[2,3,7,5] = pointwise{expr="isnan(x0)"}(%w0) "n"
    %w : f32[2,3,7,5] = pointwise{expr="select(x0,0,x1)"}(%n, %w0) "w")g");
  auto graph = expectPass(
      "find_attention", body,
      "reshape transpose reshape transpose reshape transpose pointwise pointwise transpose attention transpose reshape");
  run(graph, {});
  EXPECT_EQ(operators(graph), "pointwise attention");
  EXPECT_EQ(graph.node(graph.order()[1]).op.text(), "attention{heads=3 hasMask=true emptyIsZero=true}");
}

// The numbers an exporter multiplies q and k with become the attention's; three operands in one axis with the heads.
TEST(AttentionHeads, ScalesAndJoinedAxes) {
  expectPass("attention_heads", R"g(input %q : f32[2,7,12]
    input %k : f32[2,5,12]
    input %v : f32[2,5,6]
    input %m : f32[6,7,5]
    %q0 : f32[2,7,12] = pointwise{expr="mul(x0,0.5)"}(%q) "q0"
    %q1 : f32[2,7,3,4] = reshape{shape=[2,7,3,4]}(%q0) "q1"
    %q2 : f32[2,3,7,4] = transpose{permutation=[0,2,1,3]}(%q1) "q2"
    %q3 : f32[6,7,4] = reshape{shape=[6,7,4]}(%q2) "q3"
    %k1 : f32[2,5,3,4] = reshape{shape=[2,5,3,4]}(%k) "k1"
    %k2 : f32[2,3,4,5] = transpose{permutation=[0,2,3,1]}(%k1) "k2"
    %k3 : f32[2,3,4,5] = pointwise{expr="div(x0,4)"}(%k2) "k3"
    %k4 : f32[6,4,5] = reshape{shape=[6,4,5]}(%k3) "k4"
    %k5 : f32[6,5,4] = transpose{permutation=[0,2,1]}(%k4) "k5"
    %v1 : f32[2,5,3,2] = reshape{shape=[2,5,3,2]}(%v) "v1"
    %v2 : f32[2,3,5,2] = transpose{permutation=[0,2,1,3]}(%v1) "v2"
    %v3 : f32[6,5,2] = reshape{shape=[6,5,2]}(%v2) "v3"
    %o : f32[6,7,2] = attention{scale=0.5 hasMask=true}(%q3, %k5, %v3, %m) "o" from("o")
    output %o
)g",
             "reshape attention reshape transpose reshape");
  // Without heads to join, the scales alone.
  expectPass("attention_heads", R"g(input %q : f32[2,7,4]
    input %k : f32[2,4,5]
    input %v : f32[2,5,6]
    %q0 : f32[2,7,4] = pointwise{expr="mul(x0,0.5)"}(%q) "q0"
    %k0 : f32[2,4,5] = pointwise{expr="mul(0.25,x0)"}(%k) "k0"
    %k1 : f32[2,5,4] = transpose{permutation=[0,2,1]}(%k0) "k1"
    %o : f32[2,7,6] = attention{}(%q0, %k1, %v) "o" from("o")
    output %o
)g",
             "transpose attention");
}

// One projection of all three: split along its columns; and as a stack of three that are picked, rows before batches.
TEST(AttentionHeads, PackedWhereTheyAre) {
  const std::string split = R"g(input %x : f32[N,7,36]
    %q : f32[N,7,12] = slice{start=[0,0,0] size=[N,7,12]}(%x) "q"
    %k : f32[N,7,12] = slice{start=[0,0,12] size=[N,7,12]}(%x) "k"
    %v : f32[N,7,12] = slice{start=[0,0,24] size=[N,7,12]}(%x) "v"
)g";
  std::string heads;
  for (const char* name : {"q", "k", "v"}) {
    heads += fmt::format(
        "%{0}1 : f32[N,7,3,4] = reshape{{shape=[N,7,3,4]}}(%{0}) \"{0}1\"\n"
        "%{0}2 : f32[N,3,7,4] = transpose{{permutation=[0,2,1,3]}}(%{0}1) \"{0}2\"\n",
        name);
  }
  const std::string symbol = "symbol \"N\" = extent(%x, 0)\n";
  const auto attend = [](const char* q, const char* k) {
    return fmt::format("%o : f32[N,3,7,4] = attention{{scale=0.5}}(%{}, %{}, %v2) \"o\" from(\"o\")\noutput %o\n", q,
                       k);
  };
  const auto packed =
      expectPass("attention_heads", symbol + split + heads + attend("q2", "k2"), "attention reshape transpose");
  EXPECT_EQ(packed.node(packed.order()[0]).op.text(), "attention{heads=3 scale=0.5 packed=true}");
  // In another order they are pieces.
  expectPass("attention_heads", symbol + split + heads + attend("k2", "q2"),
             "slice slice slice attention reshape transpose");
}

TEST(AttentionHeads, StackOfThree) {
  std::string body = R"g(input %x : f32[2,5,8]
    const %w : f32[1,8,36] = random(1)
    const %b : f32[1,1,36] = random(2)
    const %c : f32[12,8] = random(3)
    const %i0 : i64[] = {0}
    const %i1 : i64[] = {-2}
    const %i2 : i64[] = {2}
    %t : f32[5,2,8] = transpose{permutation=[1,0,2]}(%x) "t"
    %p : f32[5,2,36] = matmul(%t, %w) "p" from("p")
    %pb : f32[5,2,36] = pointwise{expr="add(x0,x1)"}(%p, %b) "pb"
    %u : f32[1,5,2,3,12] = reshape{shape=[1,5,2,3,12]}(%pb) "u"
    %s : f32[3,5,2,1,12] = transpose{permutation=[3,1,2,0,4]}(%u) "s"
    %s1 : f32[3,5,2,12] = reshape{shape=[3,5,2,12]}(%s) "s1"
)g";
  for (int i = 0; i < 3; ++i) {
    body += fmt::format(R"g(%a{0} : f32[5,2,12] = gather(%s1, %i{0}) "a{0}"
    %h{0} : f32[5,6,4] = reshape{{shape=[5,6,4]}}(%a{0}) "h{0}"
    %m{0} : f32[6,5,4] = transpose{{permutation=[1,0,2]}}(%h{0}) "m{0}"
    %n{0} : f32[2,3,5,4] = reshape{{shape=[2,3,5,4]}}(%m{0}) "n{0}"
)g",
                        i);
  }
  body += R"g(%q : f32[2,3,5,4] = pointwise{expr="mul(x0,0.7)"}(%n0) "q"
    %k1 : f32[2,3,4,5] = transpose{permutation=[0,1,3,2]}(%n1) "k1"
    %k : f32[2,3,4,5] = pointwise{expr="mul(x0,0.7)"}(%k1) "k"
    %y : f32[2,3,5,5] = matmul(%q, %k) "y" from("y")
    %z : f32[2,3,5,5] = softmax{axis=3}(%y) "z"
    %o : f32[2,3,5,4] = matmul(%z, %n2) "o" from("o")
    %o1 : f32[5,2,3,4] = transpose{permutation=[2,0,1,3]}(%o) "o1"
    %o2 : f32[10,12] = reshape{shape=[10,12]}(%o1) "o2"
    %o3 : f32[10,8] = matmul(%o2, %c) "o3" from("o3")
    %o4 : f32[5,2,8] = reshape{shape=[5,2,8]}(%o3) "o4"
    %o5 : f32[2,5,8] = transpose{permutation=[1,0,2]}(%o4) "o5"
    %r : f32[2,5,8] = pointwise{expr="add(x0,x1)"}(%o5, %x) "r"
    output %r
)g";
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  run(after, {});
  EXPECT_EQ(operators(after), "matmul attention matmul") << graph::text(after);
  expectSameValues(before, after);
}

TEST(NarrowMasks, WhatOnlyStretchesGoes) {
  const auto mask = [](const char* constant) {
    return fmt::format(R"g(input %x : f32[2,5,24]
    input %m : bool[2,1,1,5]
    const %c : bool[5,1] = {}
    %a : f32[2,1,5,5] = pointwise{{expr="and(x0,x1);select(t0,0,-9)"}}(%m, %c) "a"
    %y : f32[2,5,8] = attention{{heads=2 hasMask=true packed=true}}(%x, %a) "y" from("y")
    %z : f32[2,5,8] = attention{{heads=4 hasMask=true packed=true}}(%x, %a) "z" from("z")
    output %y, %z
)g",
                       constant);
  };
  auto narrowed = expectPass("narrow_masks", mask("{1,1,1,1,1}"), "pointwise attention attention");
  EXPECT_EQ(text(narrowed.value(narrowed.node(narrowed.order()[0]).outputs[0]).type.shape), "[2,1,1,5]");
  // A condition stretched to all scores, and a mask stretched to all heads.
  narrowed = expectPass("narrow_masks", R"g(input %x : f32[2,5,24]
    input %m : bool[2,1,1,5]
    input %n : f32[1,5,5]
    %e : bool[2,2,5,5] = slice{start=[0,0,0,0] size=[2,2,5,5] stride=[1,0,0,1]}(%m) "e"
    %a : f32[2,2,5,5] = pointwise{expr="select(x0,0,-9)"}(%e) "a"
    %y : f32[2,5,8] = attention{heads=2 hasMask=true packed=true}(%x, %a) "y" from("y")
    %f : f32[2,5,5] = slice{start=[0,0,0] size=[2,5,5] stride=[0,1,1]}(%n) "f"
    %z : f32[2,5,8] = attention{heads=2 hasMask=true packed=true}(%x, %f) "z" from("z")
    output %y, %z
)g",
                        "pointwise attention attention");
  EXPECT_EQ(text(narrowed.value(narrowed.node(narrowed.order()[0]).outputs[0]).type.shape), "[2,1,1,5]");
  narrowed = expectPass("narrow_masks", mask("{1,1,1,0,1}"), "pointwise attention attention");
  EXPECT_EQ(text(narrowed.value(narrowed.node(narrowed.order()[0]).outputs[0]).type.shape), "[2,1,5,5]");
}

TEST(FindAttention, WhatElseIsReadStays) {
  const std::string plain = R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s")g";
  const std::string all =
      "reshape transpose reshape transpose reshape transpose matmul pointwise softmax matmul transpose reshape";
  expectPass("find_attention", exported(plain, "0,2,3,1", "output %w\n"), all);
  // Scores that are a polynomial.
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
)g",
             "attention");
}

TEST(FindAttention, NotWhereNoKernelComputesIt) {
  const auto before = graph::parse("graph \"g\" {\n" +
                                   exported(R"g(%s : f32[2,3,7,5] = pointwise{expr="div(x0,2)"}(%p) "s")g") + "}\n");
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
      body += fmt::format("const %w{0} : f32[8,12] = random({1})\nconst %b{0} : f32[1,1,12] = random({2})\n", name,
                          int{name[0]}, name[0] + 1);
      body += fmt::format("%{0} : f32[2,5,12] = matmul{{epilogue=\"{1}\"}}(%{2}, %w{0}, %b{0}) \"{0}\" from(\"{0}\")\n",
                          name, epilogue, name[0] == 'v' ? x2 : "x");
    }
    return body + "%y : f32[2,5,12] = attention{heads=3 scale=0.5}(%q, %k, %v) \"a\"\noutput %y\n";
  };
  const auto after = expectPass("pack_attention", projections("x", "add(x0,x1)"), "matmul attention");
  EXPECT_EQ(after.node(after.order()[0]).name, "q + k + v");
  expectPass("pack_attention", projections("z", "add(x0,x1)"), "matmul matmul matmul attention");
}

// Heads of queries that share one of keys, by columns.
TEST(AttentionHeads, OfSharedKeys) {
  const auto heads = [](const std::string& name, int count) {
    return fmt::format(
        "input %{0} : f32[2,5,{1}]\n%{0}s : f32[2,5,{2},3] = reshape{{shape=[2,5,{2},3]}}(%{0}) \"{0}s\"\n"
        "%{0}h : f32[2,{2},5,3] = transpose{{permutation=[0,2,1,3]}}(%{0}s) \"{0}h\"\n",
        name, 3 * count, count);
  };
  const std::string body = heads("q", 4) + heads("k", 2) + heads("v", 2) +
                           "%y : f32[2,4,5,3] = attention{scale=0.5}(%qh, %kh, %vh) \"a\"\noutput %y\n";
  const auto graph = expectPass("attention_heads", body, "attention reshape transpose");
  EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "attention{heads=4 keyHeads=2 scale=0.5}");
}

TEST(GroupQueries, RepeatedKeysAreReadWhereTheyAre) {
  const auto body = [](const std::string& keys, const std::string& extra = "") {
    return "input %q : f32[2,6,7,4]\ninput %k : f32[2,2,5,4]\ninput %v : f32[2,2,5,3]\n" + extra +
           R"g(%k1 : f32[2,2,1,5,4] = reshape{shape=[2,2,1,5,4]}(%k) "k1"
      %k2 : f32[2,2,3,5,4] = slice{start=[0,0,0,0,0] size=[2,2,3,5,4] stride=[1,1,0,1,1]}(%k1) "k2"
      %v1 : f32[2,2,1,5,3] = reshape{shape=[2,2,1,5,3]}(%v) "v1"
      %v2 : f32[2,2,3,5,3] = slice{start=[0,0,0,0,0] size=[2,2,3,5,3] stride=[1,1,0,1,1]}(%v1) "v2"
      %v3 : f32[2,6,5,3] = reshape{shape=[2,6,5,3]}(%v2) "v3"
)g" + keys +
           "%y : f32[2,6,7,3] = attention{scale=0.5}(%q, %k3, %v3) \"y\"\noutput %y\n";
  };
  const std::string repeated = "%k3 : f32[2,6,5,4] = reshape{shape=[2,6,5,4]}(%k2) \"k3\"\n";
  auto graph = expectPass("group_queries", body(repeated), "reshape reshape reshape reshape attention");
  const auto before = graph;
  run(graph, {});
  EXPECT_EQ(operators(graph), "attention");
  expectSameValues(before, graph);
  test::expectMatchesReference(graph, randomInputs(graph, 2, 3), {});
  // Keys of their own for each head.
  expectPass("group_queries", body("input %k3 : f32[2,6,5,4]\n"), "reshape slice reshape slice reshape attention");
}

}  // namespace
}  // namespace tenon::passes
