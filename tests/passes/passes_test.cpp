// Each pass on small graphs: what is left, that values stay, that a second run finds nothing.
#include "check_pass.h"

#include <filesystem>
#include <fstream>
#include <set>

namespace tenon::passes {
namespace {

// A convolution of the given weights' shape, with the statements after it.
std::string behindConvolution(const std::string& rest, const std::string& fields = "hasBias=true") {
  return "input %x : f32[2,4,5,5]\nconst %w : f32[6,4,3,3] = random(1)\nconst %b : f32[6] = random(2)\n"
         "const %s : f32[1,6,1,1] = random(3)\nconst %t : f32[6,1,1] = random(4)\nconst %u : f32[1] = {0.75}\n"
         "%c : f32[2,6,3,3] = convolution{" +
         fields + "}(%x, %w, %b) \"conv\" from(\"conv\")\n" + rest;
}

std::string scale(const std::string& expr, const std::string& inputs) {
  return "%y : f32[2,6,3,3] = pointwise{expr=\"" + expr + "\"}(" + inputs + ") \"after\" from(\"after\")\noutput %y\n";
}

TEST(DeadCode, UnusedNodesGo) {
  expectPass("dead_code", R"g(input %x : f32[3]
    %a : f32[3] = pointwise{expr="exp(x0)"}(%x) "a"
    %b : f32[3] = pointwise{expr="neg(x0)"}(%a) "b"
    %c : f32[3] = pointwise{expr="relu(x0)"}(%x) "c"
    output %c
)g",
             "pointwise");
}

TEST(FoldConstants, ConstantNodesBecomeConstants) {
  expectPass("fold_constants", R"g(input %x : f32[2,3]
    const %k : f32[3,2] = random(1)
    %t : f32[2,3] = transpose{permutation=[1,0]}(%k) "t"
    %n : f32[2,3] = pointwise{expr="neg(x0)"}(%t) "n"
    %y : f32[2,3] = pointwise{expr="add(x0,x1)"}(%x, %n) "sum"
    output %y
)g",
             "pointwise");
}

TEST(RemoveNoops, IdentitiesGo) {
  expectPass("remove_noops", R"g(input %x : f32[2,3]
    %a : f32[2,3] = pointwise{expr="identity(x0)"}(%x) "a"
    %b : f32[2,3] = reshape{shape=[2,3]}(%a) "b"
    %c : f32[2,3] = transpose{permutation=[0,1]}(%b) "c"
    %d : f32[2,3] = slice{start=[0,0] size=[2,3] stride=[1,1]}(%c) "d"
    %e : f32[2,3] = pointwise{expr="cast.f32(x0)"}(%d) "e"
    %y : f32[2,3] = pointwise{expr="relu(x0)"}(%e) "y"
    output %y
)g",
             "pointwise");
}

TEST(RemoveNoops, ACopyOfAnInputStays) {
  expectPass("remove_noops", R"g(input %x : f32[2,3]
    %a : f32[2,3] = pointwise{expr="identity(x0)"}(%x) "a"
    output %a
)g",
             "pointwise");
}

TEST(RemoveNoops, RealMovementStays) {
  expectPass("remove_noops", R"g(input %x : f32[3,3]
    %a : f32[3,3] = transpose{permutation=[1,0]}(%x) "a"
    %b : f32[3,3] = slice{start=[0,2] size=[3,3] stride=[1,-1]}(%a) "b"
    %c : f16[3,3] = pointwise{expr="cast.f16(x0)"}(%b) "c"
    output %c
)g",
             "transpose slice pointwise");
}

TEST(MergeMovement, ChainsBecomeOne) {
  expectPass("merge_movement", R"g(input %x : f32[2,3,5]
    %a : f32[3,5,2] = transpose{permutation=[1,2,0]}(%x) "a"
    %b : f32[2,5,3] = transpose{permutation=[2,1,0]}(%a) "b"
    output %b
)g",
             "transpose");
  expectPass("merge_movement", R"g(input %x : f32[2,3,5]
    %a : f32[6,5] = reshape{shape=[6,5]}(%x) "a"
    %b : f32[30] = reshape{shape=[30]}(%a) "b"
    output %b
)g",
             "reshape");
  expectPass("merge_movement", R"g(input %x : f32[4,1,5]
    %a : f32[1,4,5] = transpose{permutation=[1,0,2]}(%x) "a"
    output %a
)g",
             "reshape");
}

TEST(Rewrite, EquationsApply) {
  const auto after = expectPass("rewrite", R"g(input %x : f32[7]
    input %y : f32[7]
    %a : f32[7] = pointwise{expr="neg(x1);add(x0,t0);mul(t1,1);relu(t2);relu(t3)"}(%x, %y) "a" from("a")
    output %a
)g",
                                "pointwise");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), R"g(pointwise{expr="sub(x0,x1);relu(t0)"})g");
}

// Patches of a picture as rows of a vision transformer; only on GPUs, and only where nothing overlaps.
TEST(PatchProducts, PatchesBecomeRows) {
  const auto text = [](const char* convolution, const char* extents) {
    return std::string(
               "input %x : f32[N,3,24,15]\nconst %w : f32[20,3,8,5] = random(1)\nconst %b : f32[20] = random(2)\n") +
           "%c : f32[N,20," + extents + "] = " + convolution + "(%x, %w, %b) \"conv\" from(\"conv\")\n" +
           "%r : f32[N,20,9] = reshape{shape=[N,20,9]}(%c) \"flat\"\n%y : f32[N,9,20] = transpose{permutation=[0,2,1]}(%r) \"rows\"\noutput %y\n";
  };
  const auto expected = [&](const std::string& graphText, const std::string& device,
                            const std::string& operatorsAfter) {
    const auto before = graph::parse("graph \"patches\" {\n" + graphText + "}");
    auto after = before;
    Options options;
    options.device = device;
    run(after, options);
    EXPECT_EQ(operators(after), operatorsAfter);
    const auto inputs = randomInputs(before, 2, 5);
    expectClose(before, inputs, graph::evaluate(after, test::views(inputs)),
                graph::evaluate(before, test::views(inputs)), 1e-5, 0, "");
  };
  const auto patches = text("convolution{strides=[8,5] hasBias=true}", "3,3");
  expected(patches, "cuda", "reshape transpose reshape matmul");
  expected(patches, "cpu", "convolution reshape transpose");
  // Pixels that were rows, and are again behind it.
  const std::string between =
      "input %x : f32[3,6,4,17]\nconst %w : f32[20,17,3,2] = random(1)\nconst %b : f32[20] = random(2)\n"
      "%p : f32[3,17,6,4] = transpose{permutation=[0,3,1,2]}(%x) \"picture\"\n"
      "%c : f32[3,20,2,2] = convolution{strides=[3,2] hasBias=true}(%p, %w, %b) \"conv\" from(\"conv\")\n"
      "%y : f32[3,2,2,20] = transpose{permutation=[0,2,3,1]}(%c) \"rows\"\noutput %y\n";
  expected(between, "cuda", "reshape transpose reshape matmul reshape");
  expected(between, "cpu", "transpose convolution transpose");
}

TEST(FoldPadding, ZerosBeforeAConvolution) {
  const std::string weights =
      "input %x : f32[2,4,5,5]\nconst %w : f32[6,4,3,3] = random(1)\nconst %one : f32[] = {1}\n";
  const auto rest = [](const char* mode, const char* inputs) {
    return std::string("%p : f32[2,4,8,7] = slice{start=[0,0,-1,-1] size=[2,4,8,7] stride=[1,1,1,1] mode=") + mode +
           "}(" + inputs + ") \"pad\"\n%c : f32[2,6,6,5] = convolution(%p, %w) \"conv\"\noutput %c\n";
  };
  expectPass("fold_padding", weights + rest("fill", "%x"), "convolution");
  expectPass("fold_padding", weights + rest("fill", "%x, %one"), "slice convolution");
  expectPass("fold_padding", weights + rest("clamp", "%x"), "slice convolution");
}

TEST(FoldPadding, ZerosBeforeALineThatBecomesAnImage) {
  const auto text = [](const char* image, const char* window, const char* result) {
    return fmt::format(
        "input %x : f32[2,4,5]\nconst %w : f32[6,4,{1}] = random(1)\n"
        "%p : f32[2,4,8] = slice{{start=[0,0,-2] size=[2,4,8] stride=[1,1,1] mode=fill}}(%x) \"pad\"\n"
        "%i : f32[2,4,{0}] = reshape{{shape=[2,4,{0}]}}(%p) \"image\"\n"
        "%c : f32[2,6,{2}] = convolution(%i, %w) \"conv\"\noutput %c\n",
        image, window, result);
  };
  expectPass("fold_padding", text("8,1", "3,1", "6,1"), "reshape convolution");
  expectPass("fold_padding", text("1,8", "1,3", "1,6"), "reshape convolution");
  expectPass("fold_padding", text("4,2", "3,1", "2,2"), "slice reshape convolution");
}

TEST(FoldAffine, ScalesAndShiftsGoIntoWeights) {
  for (const char* expr :
       {"mul(x0,x1)", "add(x0,x1)", "sub(x0,x1)", "sub(x1,x0)", "div(x0,x1)", "neg(x0)", "mul(x0,2)", "sub(3,x0)",
        "mul(x0,x1);add(t0,x1)", "add(x0,x1);mul(t0,0.5);sub(x1,t1)", "fma(x0,x1,0.5)", "fma(x1,x0,x1)"}) {
    for (const char* constant : {"%s", "%t", "%u"}) {
      SCOPED_TRACE(std::string(expr) + " with " + constant);
      const bool two = std::string(expr).find("x1") != std::string::npos;
      expectPass("fold_affine", behindConvolution(scale(expr, two ? std::string("%c, ") + constant : "%c")),
                 "convolution");
    }
  }
}

TEST(FoldAffine, LeavesWhatIsNotAffineOrHasReaders) {
  expectPass("fold_affine", behindConvolution(scale("mul(x0,x0)", "%c")), "convolution pointwise");
  expectPass("fold_affine", behindConvolution(scale("div(x1,x0)", "%c, %s")), "convolution pointwise");
  expectPass("fold_affine", behindConvolution(scale("mul(x0,x1);add(t0,x0)", "%c, %s")), "convolution pointwise");
  expectPass("fold_affine", behindConvolution(scale("mul(x0,x1)", "%c, %s") + "output %c\n"), "convolution pointwise");
}

TEST(FoldAffine, LiteralsOnOneChannel) {
  for (const char* expr : {"add(x0,1)", "mul(x0,2)", "fma(x0,2,1)", "sub(1,x0)"}) {
    expectPass("fold_affine",
               std::string("input %x : f32[2,3,4,4]\nconst %w : f32[1,3,3,3] = random(1)\n"
                           "%c : f32[2,1,2,2] = convolution(%x, %w) \"c\"\n%y : f32[2,1,2,2] = pointwise{expr=\"") +
                   expr + "\"}(%c) \"y\"\noutput %y\n",
               "convolution");
  }
}

TEST(FoldAffine, GroupsAndDeconvolutions) {
  const std::string tail =
      "const %s : f32[1,6,1,1] = random(3)\n%y : f32[2,6,7,7] = pointwise{expr=\"mul(x0,x1);add(t0,x1)\"}(%c, %s) \"y\"\noutput %y\n";
  expectPass("fold_affine",
             "input %x : f32[2,4,9,9]\nconst %w : f32[6,2,3,3] = random(1)\n"
             "%c : f32[2,6,7,7] = convolution{groups=2}(%x, %w) \"c\"\n" +
                 tail,
             "convolution");
  expectPass("fold_affine",
             "input %x : f32[2,4,5,5]\nconst %w : f32[4,6,3,3] = random(1)\n"
             "%c : f32[2,6,7,7] = deconvolution(%x, %w) \"c\"\n" +
                 tail,
             "deconvolution");
  expectPass("fold_affine",
             "input %x : f32[2,4,5,5]\nconst %w : f32[4,3,3,3] = random(1)\n"
             "%c : f32[2,6,7,7] = deconvolution{groups=2}(%x, %w) \"c\"\n" +
                 tail,
             "deconvolution pointwise");
}

TEST(FuseEpilogue, PointwiseNodesJoinContractions) {
  expectPass("fuse_epilogue", behindConvolution(scale("relu(x0)", "%c")), "convolution");
  expectPass("fuse_epilogue", behindConvolution("input %r : f32[2,6,3,3]\n" + scale("add(x0,x1);relu(t0)", "%c, %r")),
             "convolution");
  expectPass("fuse_epilogue", behindConvolution(scale("sigmoid(x0);mul(x0,t0)", "%c")), "convolution");
  expectPass("fuse_epilogue", R"g(input %x : f32[3,5]
    input %r : f32[3,7]
    const %w : f32[5,7] = random(1)
    const %b : f32[7] = random(2)
    %m : f32[3,7] = matmul(%x, %w) "m" from("m")
    %a : f32[3,7] = pointwise{expr="add(x0,x1)"}(%m, %b) "a" from("a")
    %g : f32[3,7] = pointwise{expr="gelu_erf(x0)"}(%a) "g" from("g")
    %s : f32[3,7] = pointwise{expr="sub(x1,x0)"}(%g, %r) "s" from("s")
    output %s
)g",
             "matmul");
  expectPass("fuse_epilogue", behindConvolution(scale("relu(x0)", "%c") + "output %c\n"), "convolution pointwise");
}

TEST(FusePointwise, ChainsBecomeOneAndOutputsStay) {
  const auto after = expectPass("fuse_pointwise", R"g(input %x : f32[3,5]
    input %y : f32[5]
    %a : f32[3,5] = pointwise{expr="exp(x0)"}(%x) "a" from("a")
    %b : f32[3,5] = pointwise{expr="sub(x0,x1)"}(%y, %a) "b" from("b")
    %c : f32[3,5] = pointwise{expr="mul(x0,x1)"}(%b, %x) "c" from("c")
    output %c
)g",
                                "pointwise");
  EXPECT_EQ(after.node(after.order()[0]).origins, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(after.node(after.order()[0]).name, "fusedPointwiseNode(a, b, c)");
  expectPass("fuse_pointwise",
             behindConvolution("%g : f32[2,6,3,3] = pointwise{expr=\"sigmoid(x0)\"}(%c) \"gate\"\n" +
                               scale("mul(x0,x1)", "%c, %g")),
             "convolution pointwise");
}

TEST(FusePointwise, WhatIsCheapIsComputedAgainWhereItBroadcasts) {
  const auto chain = [](const char* expr) {
    return std::string("input %x : f32[3,5]\ninput %y : f32[5]\n%a : f32[5] = pointwise{expr=\"") + expr +
           R"g("}(%y) "a"
      %b : f32[3,5] = pointwise{expr="add(x0,x1)"}(%x, %a) "b"
      output %b
)g";
  };
  expectPass("fuse_pointwise", chain("mul(x0,2);add(t0,1)"), "pointwise");
  expectPass("fuse_pointwise", chain("exp(x0)"), "pointwise pointwise");
}

TEST(FusePointwise, ReadsWhatIsRepeatedAsItWas) {
  const std::string body =
      "input %x : f32[3,1]\ninput %y : f32[3,5]\n%e : f32[3,5] = slice{start=[0,0] size=[3,5] stride=[1,0]}(%x) \"expand\"\n";
  expectPass("fuse_pointwise", body + "%z : f32[3,5] = pointwise{expr=\"div(x1,x0)\"}(%e, %y) \"p\"\noutput %z\n",
             "pointwise");
  expectPass("fuse_pointwise", body + "%z : f32[3,5] = pointwise{expr=\"exp(x0)\"}(%e) \"p\"\noutput %z\n",
             "slice pointwise");
  expectPass("fuse_pointwise",
             body + "%z : f32[3,5] = pointwise{expr=\"div(x1,x0)\"}(%e, %y) \"p\"\noutput %z\noutput %e\n",
             "slice pointwise");
}

TEST(FusePointwise, LongChainsAreCutWhereKernelsHaveNoMoreRoom) {
  std::string body = "input %v0 : f32[4]\n";
  for (int i = 0; i < 60; ++i) {
    body += fmt::format("%v{} : f32[4] = pointwise{{expr=\"mul(x0,1.5);sub(t0,0.25)\"}}(%v{}) \"n{}\"\n", i + 1, i, i);
  }
  const auto after = expectPass("fuse_pointwise", body + "output %v60\n",
                                "pointwise pointwise pointwise pointwise pointwise pointwise pointwise pointwise");
  for (const auto id : after.order()) EXPECT_EQ(after.node(id).inputs.size(), 1u);
}

TEST(Literals, ConstantsOfOneElementAreWrittenIntoExpressions) {
  const auto after = expectPass("inline_scalars", R"g(input %x : f32[2,3]
    const %h : f32[1,1] = {0.5}
    const %p : f32[] = {2}
    %a : f32[2,3] = pointwise{expr="mul(x0,x1);pow(t0,x2)"}(%x, %h, %p) "a"
    output %a
)g",
                                "pointwise");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), R"g(pointwise{expr="mul(x0,0.5);pow(t0,2)"})g");
}

TEST(Literals, TypesAndShapesStay) {
  // The constant gives the result its rank, or is all that gives an instruction its type.
  for (const char* body : {R"g(input %x : f32[3]
    const %h : f32[1,1] = {0.5}
    %a : f32[1,3] = pointwise{expr="mul(x0,x1)"}(%x, %h) "a"
    output %a
)g",
                           R"g(input %x : bool[3]
    const %h : i32[1] = {5}
    const %k : i32[1] = {7}
    %a : i32[3] = pointwise{expr="select(x0,x1,x2)"}(%x, %h, %k) "a"
    output %a
)g"}) {
    const auto before = graph::parse(std::string("graph \"g\" {\n") + body + "}\n");
    auto after = before;
    runPass("inline_scalars", after);
    EXPECT_EQ(graph::text(after), graph::text(before));
  }
}

graph::Graph swish() {
  return graph::parse("graph \"g\" {" + behindConvolution(scale("mul(x0,x1);sigmoid(t0);mul(t0,t1)", "%c, %s")) + "}");
}

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Driver, WholePipelineKeepsValuesAndSettles) {
  const auto before = swish();
  auto after = before;
  run(after, {});
  expectSameValues(before, after);
  EXPECT_EQ(operators(after), "convolution");
  const auto once = graph::text(after);
  run(after, {});
  EXPECT_EQ(graph::text(after), once);
}

TEST(Driver, DisableStopAndDump) {
  {
    const ScopedVariable disable("TENON_DISABLE", "fold_affine,fuse_epilogue");
    auto graph = swish();
    run(graph, {});
    EXPECT_EQ(operators(graph), "convolution pointwise");
  }
  {
    const ScopedVariable stop("TENON_STOP_AFTER", "0");
    auto graph = swish();
    run(graph, {});
    EXPECT_EQ(graph::text(graph), graph::text(swish()));
  }
  // Each number of passes gives the graph of that dump: bisecting a wrong result finds the pass.
  const auto folder = std::filesystem::temp_directory_path() / "tenon_passes_dump";
  std::filesystem::remove_all(folder);
  {
    const ScopedVariable dump("TENON_DUMP", folder.string());
    auto graph = swish();
    run(graph, {});
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "000_network.graph"));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  EXPECT_GT(names.size(), 1u);
  long count = 0;
  for (const auto& name : names) {
    const ScopedVariable stop("TENON_STOP_AFTER", std::to_string(count++));
    auto graph = swish();
    run(graph, {});
    EXPECT_EQ(graph::text(graph), contentOf(folder / name)) << name;
  }
  std::filesystem::remove_all(folder);
}

int breaksDown(graph::Graph& graph, const Options&) {
  graph::removeDeadNodes(graph);
  throw InternalError("no rule for {}", 7);
}

TEST(Driver, FailedPassLeavesTheGraphBeforeItAndSaysHowToRepeatIt) {
  const auto folder = std::filesystem::temp_directory_path() / "tenon_passes_failure";
  std::filesystem::remove_all(folder);
  const ScopedVariable dump("TENON_DUMP", folder.string());
  auto graph = swish();
  std::string message;
  try {
    runPass({"breaks", &breaksDown}, graph, {});
  } catch (const InternalError& error) {
    message = error.what();
  }
  ASSERT_TRUE(std::filesystem::exists(folder)) << message;
  const auto file = std::filesystem::directory_iterator(folder)->path();
  EXPECT_EQ(message, "pass 'breaks' failed: no rule for 7. To repeat it: tenon_passes --pass breaks '" + file.string() +
                         "'. To build without this pass: set TENON_DISABLE=breaks");
  EXPECT_EQ(graph::text(graph::parse(contentOf(file))), graph::text(swish()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tenon::passes
