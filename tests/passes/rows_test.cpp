// Movement and picking of rows: gathers by known indices, chains of movement, products of rows, slices before what they
// cut.
#include "check_pass.h"
#include "ops/op/matmul.h"

namespace tenon::passes {
namespace {

TEST(SimplifyGathers, KnownIndices) {
  const auto body = [](const char* indices, const char* op, const char* shape) {
    return fmt::format(
        "input %x : f32[2,3,4]\nconst %i : i64{}\n%y : f32{} = gather{}(%x, %i) \"y\" from(\"y\")\noutput %y\n",
        indices, shape, op);
  };
  expectPass("simplify_gathers", body("[] = {1}", "{axis=1}", "[2,4]"), "slice reshape");
  expectPass("simplify_gathers", body("[1] = {-1}", "{axis=-1}", "[2,3,1]"), "slice reshape");
  expectPass("simplify_gathers", body("[3,1] = {0,1,2}", "{axis=1}", "[2,3,1,4]"), "reshape");
  expectPass("simplify_gathers", body("[3] = {0,2,1}", "{axis=1}", "[2,3,4]"), "gather");
  expectPass("simplify_gathers", body("[2] = {0,1}", "{axis=1}", "[2,2,4]"), "gather");
}

// What reads a part of the picks picks that part; where something reads all of them, they stay.
TEST(SimplifyGathers, SlicesOfGathers) {
  const auto body = [](const char* more) {
    return fmt::format(R"g(input %x : f32[2,4,3]
    const %i : i64[4] = {{0,2,1,3}}
    %g : f32[2,4,3] = gather{{axis=1}}(%x, %i) "g"
    %a : f32[2,2,3] = slice{{start=[0,0,0] size=[2,2,3]}}(%g) "a"
    %b : f32[2,2,3] = slice{{start=[0,2,0] size=[2,2,3]}}(%g) "b"
    output %a
    output %b
    {})g",
                       more);
  };
  expectPass("simplify_gathers", body(""), "gather gather");
  expectPass("simplify_gathers", body("output %g\n"), "gather slice slice");
  expectPass("simplify_gathers", body("%c : f32[2,3,3] = slice{start=[0,0,0] size=[2,3,3]}(%g) \"c\"\n    output %c\n"),
             "gather slice slice slice");
}

TEST(SimplifyGathers, NegativeIndicesCountAnyway) {
  const auto body = [](int extent) {
    return fmt::format(R"g(const %x : f32[5,4] = random(1)
    input %r : f32[3]
    %i : i64[3] = pointwise{{expr="mul(x0,4.9);cast.i64(t0)"}}(%r) "i"
    %w : i64[3] = pointwise{{expr="add(x0,{});less(x0,0);select(t1,t0,x0)"}}(%i) "w"
    %y : f32[3,4] = gather(%x, %w) "y" from("y")
    output %y
)g",
                       extent);
  };
  expectPass("simplify_gathers", body(5), "pointwise gather");
  expectPass("simplify_gathers", body(4), "pointwise pointwise gather");
}

TEST(SinkRows, ReshapesAndTransposesGoBehindProducts) {
  const auto body = [](const char* movement, const char* rows, const char* out, const char* weights) {
    return fmt::format(R"g(input %x : f32[2,3,4]
    const %w : f32{3} = random(1)
    %r : f32{1} = {0}(%x) "r"
    %y : f32{2} = matmul(%r, %w) "y" from("y")
    output %y
)g",
                       movement, rows, out, weights);
  };
  expectPass("sink_rows", body("reshape{shape=[6,4]}", "[6,4]", "[6,5]", "[4,5]"), "matmul reshape");
  expectPass("sink_rows", body("reshape{shape=[3,2,4]}", "[3,2,4]", "[3,2,5]", "[1,4,5]"), "matmul reshape");
  expectPass("sink_rows", body("transpose{permutation=[1,0,2]}", "[3,2,4]", "[3,2,4]", "[4,4]"), "matmul transpose");
  // More columns than before, and nothing that would cancel the transpose.
  expectPass("sink_rows", body("transpose{permutation=[1,0,2]}", "[3,2,4]", "[3,2,5]", "[4,5]"), "transpose matmul");
  expectPass("sink_rows", body("reshape{shape=[3,8]}", "[3,8]", "[3,5]", "[8,5]"), "reshape matmul");
  expectPass("sink_rows", body("transpose{permutation=[0,2,1]}", "[2,4,3]", "[2,4,3]", "[3,3]"), "transpose matmul");
}

TEST(SinkRows, ReshapesGoBehindNormalizations) {
  const auto body = [](const char* shape, const char* fields, const char* scale = "[4]", const char* more = "") {
    return fmt::format(R"g(input %x : f32[2,3,4]
    const %s : f32{2} = random(1)
    %t : f32[2,3,4] = pointwise{{expr="tanh(x0)"}}(%x) "t"
    %r : f32{0} = reshape{{shape={0}}}(%t) "r"
    %n : f32{0} = normalization{{{1}}}(%r, %s, %s) "n" from("n")
    output %n
    {3}
)g",
                       shape, fields, scale, more);
  };
  for (const char* fields : {"axes=[1]", "axes=[-1] centered=false"}) {
    expectPass("sink_rows", body("[6,4]", fields), "pointwise normalization reshape");
  }
  expectPass("sink_rows", body("[6,4]", "axes=[1]", "[1,1]"), "pointwise normalization reshape");
  expectPass("sink_rows", body("[6,4]", "axes=[1]", "[4]", "output %r"), "pointwise reshape normalization reshape");
  for (const char* fields : {"axes=[0]", "axes=[0,1]"}) {
    expectPass("sink_rows", body("[6,4]", fields), "pointwise reshape normalization");
  }
  expectPass("sink_rows", body("[2,12]", "axes=[1]", "[12]"), "pointwise reshape normalization");
  expectPass("sink_rows", body("[6,4]", "axes=[1]", "[6,1]"), "pointwise reshape normalization");
}

// What has no operand has nothing to move.
TEST(SinkRows, RowsFromNothing) {
  const std::string body = R"g(input %x : f32[2,3,4]
    const %w : f32[4,5] = random(1)
    %f : f32[2,3,4] = fill{shape=[2,3,4] start=0.5 deltas=[0.1,0,0.2]}() "f"
    %t : f32[2,4,3] = transpose{permutation=[0,2,1]}(%f) "t"
    %p : f32[2,3,3] = matmul(%x, %t) "p"
    %y : f32[2,3,5] = matmul(%f, %w) "y"
    output %y
    output %p
)g";
  for (const char* pass : {"sink_rows", "merge_movement", "attention_heads", "hoist_slices"})
    expectPass(pass, body, "fill transpose matmul matmul");
}

TEST(MergeMovement, Chains) {
  const auto body = [](const std::string& steps, const std::string& last) {
    return "input %x : f32[2,3,4,5]\n" + steps + "output %" + last + "\n";
  };
  expectPass("merge_movement",
             body(R"g(%a : f32[2,4,3,5] = transpose{permutation=[0,2,1,3]}(%x) "a"
    %b : f32[8,3,5] = reshape{shape=[8,3,5]}(%a) "b"
    %c : f32[3,8,5] = transpose{permutation=[1,0,2]}(%b) "c"
    %d : f32[3,2,4,5] = reshape{shape=[3,2,4,5]}(%c) "d"
)g",
                  "d"),
             "transpose");
  expectPass("merge_movement",
             body(R"g(%a : f32[2,4,3,5] = transpose{permutation=[0,2,1,3]}(%x) "a"
    %b : f32[2,4,1,3,5] = reshape{shape=[2,4,1,3,5]}(%a) "b"
    %c : f32[2,3,1,4,5] = transpose{permutation=[0,3,2,1,4]}(%b) "c"
)g",
                  "c"),
             "reshape");
  // Extents that do not come apart.
  expectPass("merge_movement",
             body(R"g(%a : f32[2,4,3,5] = transpose{permutation=[0,2,1,3]}(%x) "a"
    %b : f32[6,4,5] = reshape{shape=[6,4,5]}(%a) "b"
    %c : f32[4,6,5] = transpose{permutation=[1,0,2]}(%b) "c"
)g",
                  "c"),
             "transpose reshape transpose");
}

TEST(AlignProducts, WeightsReadInWholePacks) {
  Options onGpu;
  onGpu.device = "cuda";
  for (const auto& [columns, transposed] : {std::pair(13, true), std::pair(16, false), std::pair(3, false)}) {
    const auto before = graph::parse(fmt::format(R"g(graph "g" {{
    input %x : f32[2,3,24]
    const %w : f32[1,24,{0}] = random(1)
    const %b : f32[{0}] = random(2)
    %y : f32[2,3,{0}] = matmul{{epilogue="add(x0,x1)"}}(%x, %w, %b) "y" from("y")
    output %y
}})g",
                                                 columns));
    auto after = before;
    run(after, onGpu);
    const auto* product = after.node(after.order()[0]).op.as<ops::MatMul>();
    ASSERT_NE(product, nullptr);
    EXPECT_EQ(product->transposeB, transposed) << columns;
    expectSameValues(before, after);
    auto elsewhere = before;
    EXPECT_EQ(runPass("align_products", elsewhere), 0);
  }
}

TEST(HoistSlices, RowsThatNobodyReadsAreNotComputed) {
  const std::string body = R"g(input %x : f32[2,5,8]
    const %w : f32[8,12] = random(1)
    const %b : f32[12] = random(2)
    const %v : f32[1,12,8] = random(3)
    const %p : f32[5,8] = random(4)
    const %s : f32[8] = random(5)
    const %t : f32[8] = random(6)
    %n : f32[2,5,8] = normalization{axes=[-1]}(%x, %s, %t) "n" from("n")
    %m : f32[2,5,12] = matmul{epilogue="add(x0,x1);gelu_erf(t0)"}(%n, %w, %b) "m" from("m")
    %o : f32[2,5,8] = matmul(%m, %v) "o" from("o")
    %q : f32[2,5,8] = pointwise{expr="add(x0,x1);mul(t0,x2)"}(%o, %x, %p) "q" from("q")
)g";
  const auto cut = [&](const char* name, int start, int size, int stride) {
    return fmt::format("%{3} : f32[2,{1},8] = slice{{start=[0,{0},0] size=[2,{1},8] stride=[1,{2},1]}}(%q) \"{3}\"\n",
                       start, size, stride, name);
  };
  expectPass("hoist_slices", body + cut("y", 1, 1, 1) + "output %y\n",
             "slice slice normalization matmul matmul pointwise");
  expectPass("hoist_slices",
             body + cut("y", 0, 2, 3) + cut("z", 0, 2, 3) +
                 "%r : f32[2,2,8] = pointwise{expr=\"sub(x0,x1)\"}(%y, %z) \"r\"\noutput %r\n",
             "slice slice normalization matmul matmul pointwise pointwise");
  // Rows that others read, or others rows.
  const std::string all = "normalization matmul matmul pointwise slice";
  expectPass("hoist_slices", body + cut("y", 1, 1, 1) + "output %y\noutput %q\n", all);
  expectPass("hoist_slices", body + cut("y", 1, 1, 1) + cut("z", 2, 1, 1) + "output %y\noutput %z\n", all + " slice");
  // Columns are not rows.
  expectPass("hoist_slices", R"g(input %x : f32[2,5,8]
    const %s : f32[8] = random(5)
    const %t : f32[8] = random(6)
    %n : f32[2,5,8] = normalization{axes=[-1]}(%x, %s, %t) "n"
    %y : f32[2,5,4] = slice{start=[0,0,0] size=[2,5,4]}(%n) "y"
    output %y
)g",
             "normalization slice");
}

TEST(HoistSlices, PartsOfConstantsMayBeDynamic) {
  const std::string body = R"g(symbol "N" = extent(%n, 0)
    input %n : f32[N]
    input %x : f32[9,8]
    const %w : f32[8,12] = random(1)
    const %p : f32[9,12] = random(2)
    %m : f32[9,12] = matmul(%x, %w) "m" from("m")
    %a : f32[9,12] = pointwise{expr="add(x0,x1)"}(%m, %p) "a" from("a")
)g";
  expectPass("hoist_slices", body + "%y : f32[N,12] = slice{start=[0,0] size=[N,12]}(%a) \"y\"\noutput %y\n",
             "slice slice matmul pointwise");
}

TEST(HoistSlices, ExpansionsStayBehindWhatTheyRepeat) {
  const std::string body = R"g(symbol "N" = extent(%n, 0)
    input %n : f32[N]
    input %x : f32[1,8]
    const %w : f32[8,12] = random(1)
    const %p : f32[1,12] = random(2)
    %m : f32[1,12] = matmul(%x, %w) "m" from("m")
    %a : f32[1,12] = pointwise{expr="add(x0,x1)"}(%m, %p) "a" from("a")
)g";
  expectPass("hoist_slices",
             body + "%y : f32[N,12] = slice{start=[0,0] size=[N,12] stride=[0,1]}(%a) \"y\"\noutput %y\n",
             "matmul pointwise slice");
}

TEST(HoistSlices, ScalarWorkStaysBehindConvolutions) {
  expectPass("hoist_slices", R"g(input %x : f32[1,4,5,5]
    const %w : f32[6,4,1,1] = random(1)
    %c : f32[1,6,5,5] = convolution(%x, %w) "c"
    %r : f32[1,6,5,5] = pointwise{expr="relu(x0)"}(%c) "r"
    %y : f32[1,6,2,5] = slice{start=[0,0,1,0] size=[1,6,2,5]}(%r) "y"
    output %y
)g",
             "convolution pointwise slice");
}

TEST(HoistPointwise, PositionsGoBeforeTheConcatenation) {
  const auto body = [](const char* positions) {
    return fmt::format(R"g(input %x : f32[2,4,3]
    const %w : f32[3,6] = random(1)
    const %c : f32[2,1,6] = random(2)
    const %p : f32{} = random(3)
    %m : f32[2,4,6] = matmul(%x, %w) "m" from("m")
    %j : f32[2,5,6] = concat{{axis=1}}(%c, %m) "j" from("j")
    %y : f32[2,5,6] = pointwise{{expr="add(x0,x1)"}}(%j, %p) "y" from("y")
    output %y
)g",
                       positions);
  };
  for (const char* positions : {"[1,5,6]", "[5,1]", "[6]", "[2,1,1]"}) {
    expectPass("hoist_pointwise", body(positions), "matmul pointwise pointwise concat");
    auto graph = graph::parse("graph \"g\" {\n" + body(positions) + "}\n");
    const auto before = graph;
    run(graph, {});
    EXPECT_EQ(operators(graph), "matmul concat");
    expectSameValues(before, graph);
  }
}

// Indices that are the same for a whole row, as exporters repeat them.
TEST(ScatterRows, IndicesThatAreRepeatedAlongRows) {
  const auto text = [](const char* repeated, const char* formula) {
    return fmt::format(
        "input %x : f32[9,4]\ninput %u : f32[5,4]\nconst %one : i64[5,1] = {{1,-2,1,8,-2}}\n"
        "const %all : i64[5,4] = {{1,0,1,8,0,1,2,3,4,5,6,7,8,0,1,2,3,4,5,6}}\n"
        "%e : i64[5,4] = slice{{{}) \"expand\"\n{}output %y\n",
        repeated, formula);
  };
  const char* const wrapped =
      "%n : i64[5,4] = pointwise{expr=\"add(x0,9);less(x0,0);select(t1,t0,x0)\"}(%e) \"wrap\"\n"
      "%y : f32[9,4] = scatter_reduce(%x, %n, %u) \"add\"\n";
  const char* const plain = "%y : f32[9,4] = scatter_reduce{op=max}(%x, %e, %u) \"add\"\n";
  Options options;
  options.device = "cuda";
  const auto expected = [&](const std::string& body, const char* left) {
    return expectPass("scatter_rows", body, left, options);
  };
  expected(text("start=[0,0] size=[5,4] stride=[1,0]}(%one", wrapped), "pointwise scatter_reduce");
  expected(text("start=[0,0] size=[5,4] stride=[1,0]}(%one", plain), "scatter_reduce");
  // As it is before it is one node, and with an operand that is read as it was before it was repeated.
  const char* const steps =
      "const %zero : i64[1,1] = {0}\n%l : bool[5,4] = pointwise{expr=\"less(x0,x1)\"}(%e, %zero) \"less\"\n"
      "%p : i64[5,4] = pointwise{expr=\"add(x0,9)\"}(%e) \"plus\"\n"
      "%n : i64[5,4] = pointwise{expr=\"select(x0,x1,x2)\"}(%l, %p, %one) \"wrap\"\n"
      "%y : f32[9,4] = scatter_reduce(%x, %n, %u) \"add\"\n";
  expected(text("start=[0,0] size=[5,4] stride=[1,0]}(%one", steps), "pointwise pointwise pointwise scatter_reduce");
  const char* const partly =
      "%a : i64[5,4] = pointwise{expr=\"add(x0,x1)\"}(%e, %all) \"wrap\"\n"
      "%y : f32[9,4] = scatter_reduce{op=max}(%x, %e, %u) \"add\"\noutput %a\n";
  expected(text("start=[0,0] size=[5,4] stride=[1,0]}(%one", partly), "slice pointwise scatter_reduce");
  expected(text("start=[0,0] size=[5,4] stride=[1,1]}(%all", plain), "slice scatter_reduce");
  // What has fewer axes is repeated along others than it seems.
  expected(
      "input %x : f32[9,3,4]\ninput %i : i64[5,1,1]\ninput %s : i64[3,1]\ninput %u : f32[5,3,4]\n"
      "%e : i64[3,4] = slice{start=[0,0] size=[3,4] stride=[1,0]}(%s) \"repeat\"\n"
      "%n : i64[5,3,4] = pointwise{expr=\"add(x0,x1)\"}(%i, %e) \"sum\"\n"
      "%y : f32[9,3,4] = scatter_reduce(%x, %n, %u) \"add\"\noutput %y\n",
      "slice pointwise scatter_reduce");
}

}  // namespace
}  // namespace tenon::passes
