// Normalization written out by exporters, and the kernel that computes what the pass finds.
#include "check_pass.h"

namespace tenon::passes {
namespace {

// x - mean as %d, the mean of its square as %v.
std::string moments(const std::string& shape, const std::string& small, const std::string& axes,
                    const std::string& square = "mul(x0,x0)") {
  return "input %x : f32" + shape + "\n%m : f32" + small + " = reduce{op=avg axes=" + axes +
         " keepDims=true}(%x) \"mean\"\n%d : f32" + shape +
         " = pointwise{expr=\"sub(x0,x1)\"}(%x, %m) \"sub\"\n%q : f32" + shape + " = pointwise{expr=\"" + square +
         "\"}(%d) \"pow\"\n%v : f32" + small + " = reduce{op=avg axes=" + axes + " keepDims=true}(%q) \"variance\"\n";
}

std::string divided(const std::string& shape, const std::string& small) {
  return "%e : f32" + small + " = pointwise{expr=\"add(x0,0.001)\"}(%v) \"eps\"\n%s : f32" + small +
         " = pointwise{expr=\"sqrt(x0)\"}(%e) \"sqrt\"\n%n : f32" + shape +
         " = pointwise{expr=\"div(x0,x1)\"}(%d, %s) \"div\" from(\"div\")\n";
}

TEST(FindNormalizations, LayersByDivision) {
  for (const char* square : {"mul(x0,x0)", "pow(x0,2)"}) {
    const auto after = expectPass("find_normalizations",
                                  moments("[2,3,8]", "[2,3,1]", "[-1]", square) + divided("[2,3,8]", "[2,3,1]") + R"g(
      const %g : f32[8] = random(1)
      const %b : f32[8] = random(2)
      %w : f32[2,3,8] = pointwise{expr="mul(x0,x1)"}(%n, %g) "w" from("w")
      %y : f32[2,3,8] = pointwise{expr="add(x1,x0)"}(%b, %w) "y" from("y")
      output %y
)g",
                                  "normalization");
    EXPECT_EQ(after.node(after.order()[0]).origins, (std::vector<std::string>{"div", "w", "y"}));
  }
}

TEST(FindNormalizations, LayersByInverseRoots) {
  for (const char* inverse : {"add(x0,0.001);rsqrt(t0)", "add(0.001,x0);sqrt(t0);div(1,t1)",
                              "add(x0,0.001);pow(t0,-0.5)", "add(x0,0.001);sqrt(t0);recip(t1)"}) {
    SCOPED_TRACE(inverse);
    expectPass("find_normalizations",
               moments("[4,6]", "[4,1]", "[1]") + "%i : f32[4,1] = pointwise{expr=\"" + inverse +
                   "\"}(%v) \"inverse\"\n%n : f32[4,6] = pointwise{expr=\"mul(x0,x1)\"}(%i, %d) \"n\"\noutput %n\n",
               "normalization");
  }
}

TEST(FindNormalizations, InstancesAndGroups) {
  expectPass("find_normalizations",
             moments("[2,3,4,5]", "[2,3,1,1]", "[2,3]") + divided("[2,3,4,5]", "[2,3,1,1]") + R"g(
    const %g : f32[3,1,1] = random(1)
    %y : f32[2,3,4,5] = pointwise{expr="mul(x0,x1)"}(%n, %g) "w"
    output %y
)g",
             "normalization");
  const auto after = expectPass("find_normalizations", R"g(input %x : f32[2,6,4,5]
    const %one : f32[] = {1}
    const %zero : f32[] = {0}
    const %g : f32[1,6,1,1] = random(1)
    const %b : f32[1,6,1,1] = random(2)
    %r : f32[2,3,40] = reshape{shape=[2,3,40]}(%x) "r"
    %i : f32[2,3,40] = normalization{axes=[2] epsilon=0.001}(%r, %one, %zero) "i"
    %s : f32[2,6,4,5] = reshape{shape=[2,6,4,5]}(%i) "s"
    %w : f32[2,6,4,5] = pointwise{expr="mul(x0,x1)"}(%s, %g) "w"
    %y : f32[2,6,4,5] = pointwise{expr="add(x0,x1)"}(%w, %b) "y"
    output %y
)g",
                                "normalization");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), "normalization{axes=[2,3] epsilon=0.001 groups=3}");
}

// The mean of the square of x as %v.
std::string meanSquare(const std::string& shape, const std::string& small, const std::string& axes,
                       const std::string& square = "mul(x0,x0)") {
  return "input %x : f32" + shape + "\n%q : f32" + shape + " = pointwise{expr=\"" + square +
         "\"}(%x) \"square\"\n%v : f32" + small + " = reduce{op=avg axes=" + axes + " keepDims=true}(%q) \"mean\"\n";
}

TEST(FindNormalizations, RootMeanSquares) {
  const std::string behind = R"g(
      const %g : f32[8] = random(1)
      %y : f32[2,3,8] = pointwise{expr="mul(x0,x1)"}(%g, %n) "y" from("y")
      output %y
)g";
  for (const char* square : {"mul(x0,x0)", "pow(x0,2)"}) {
    for (const char* inverse :
         {"add(x0,0.001);rsqrt(t0)", "add(0.001,x0);sqrt(t0);div(1,t1)", "add(x0,0.001);pow(t0,-0.5)"}) {
      SCOPED_TRACE(inverse);
      const auto after = expectPass(
          "find_normalizations",
          meanSquare("[2,3,8]", "[2,3,1]", "[-1]", square) + "%i : f32[2,3,1] = pointwise{expr=\"" + inverse +
              "\"}(%v) \"i\"\n%n : f32[2,3,8] = pointwise{expr=\"mul(x0,x1)\"}(%x, %i) \"n\" from(\"n\")\n" + behind,
          "normalization");
      const auto& node = after.node(after.order()[0]);
      EXPECT_EQ(node.op.text(), "normalization{axes=[2] epsilon=0.001 centered=false}");
      EXPECT_EQ(node.origins, (std::vector<std::string>{"n", "y"}));
    }
  }
  expectPass("find_normalizations", meanSquare("[2,3,8]", "[2,3,1]", "[2]") + R"g(
      %i : f32[2,3,1] = pointwise{expr="add(x0,0.001);sqrt(t0)"}(%v) "i"
      %n : f32[2,3,8] = pointwise{expr="div(x0,x1)"}(%x, %i) "n"
)g" + behind,
             "normalization");
}

TEST(FindNormalizations, RootMeanSquaresOfHalves) {
  // As the exporters of language models write it: squares in f32, the scale behind the cast back or in front of it.
  for (const bool scaledWide : {false, true}) {
    const std::string wide = scaledWide ? "f32" : "f16";
    const auto scaled = [&](const std::string& from) {
      return "%y : " + wide + "[4,64] = pointwise{expr=\"mul(x0,x1)\"}(%g, %" + from + ") \"y\"\n";
    };
    const std::string cast = "%c : f16[4,64] = pointwise{expr=\"cast.f16(x0)\"}(%";
    const auto after = expectPass("find_normalizations", "const %g : " + wide + "[64] = random(1)\n" + R"g(
      input %h : f16[4,64]
      %x : f32[4,64] = pointwise{expr="cast.f32(x0)"}(%h) "wide"
      %q : f32[4,64] = pointwise{expr="pow(x0,2)"}(%x) "square"
      %v : f32[4,1] = reduce{op=avg axes=[-1] keepDims=true}(%q) "mean"
      %i : f32[4,1] = pointwise{expr="add(x0,0.001);rsqrt(t0)"}(%v) "i"
      %n : f32[4,64] = pointwise{expr="mul(x0,x1)"}(%x, %i) "n"
)g" + (scaledWide ? scaled("n") + cast + "y) \"c\"\noutput %c\n" : cast + "n) \"c\"\n" + scaled("c") + "output %y\n"),
                                  "normalization");
    const auto& inputs = after.node(after.order()[0]).inputs;
    EXPECT_EQ(after.value(inputs[0]).type.dtype, DataType::kF16);
    EXPECT_EQ(after.value(inputs[1]).type.dtype, scaledWide ? DataType::kF32 : DataType::kF16);
  }
}

TEST(FindNormalizations, OtherQuotientsStay) {
  // The mean of the square of something else; sums; a step that the user marked.
  expectPass("find_normalizations", meanSquare("[4,4]", "[4,1]", "[1]") + R"g(
    input %z : f32[4,4]
    %s : f32[4,1] = pointwise{expr="add(x0,0.001);sqrt(t0)"}(%v) "s"
    %n : f32[4,4] = pointwise{expr="div(x0,x1)"}(%z, %s) "n"
    output %n
)g",
             "pointwise reduce pointwise pointwise");
  // Another axis for the variance, or a mean of something else: what is left is a quotient by the root of a mean
  // square.
  expectPass("find_normalizations", R"g(input %x : f32[4,4]
    %m : f32[4,1] = reduce{op=avg axes=[1] keepDims=true}(%x) "m"
    %d : f32[4,4] = pointwise{expr="sub(x0,x1)"}(%x, %m) "d"
    %q : f32[4,4] = pointwise{expr="mul(x0,x0)"}(%d) "q"
    %v : f32[1,4] = reduce{op=avg axes=[0] keepDims=true}(%q) "v"
    %s : f32[1,4] = pointwise{expr="add(x0,0.001);sqrt(t0)"}(%v) "s"
    %n : f32[4,4] = pointwise{expr="div(x0,x1)"}(%d, %s) "n"
    output %n
)g",
             "reduce pointwise normalization");
  expectPass("find_normalizations", R"g(input %x : f32[4,4]
    input %z : f32[4,4]
    %m : f32[4,1] = reduce{op=avg axes=[1] keepDims=true}(%z) "m"
    %d : f32[4,4] = pointwise{expr="sub(x0,x1)"}(%x, %m) "d"
    %q : f32[4,4] = pointwise{expr="mul(x0,x0)"}(%d) "q"
    %v : f32[4,1] = reduce{op=avg axes=[1] keepDims=true}(%q) "v"
    %s : f32[4,1] = pointwise{expr="add(x0,0.001);sqrt(t0)"}(%v) "s"
    %n : f32[4,4] = pointwise{expr="div(x0,x1)"}(%d, %s) "n"
    output %n
)g",
             "reduce pointwise normalization");
}

void expectKernel(const std::string& x, const std::string& scale, const std::string& bias, const std::string& fields) {
  SCOPED_TRACE(x + " " + scale + " " + bias + " " + fields);
  const auto graph = graph::parse("graph \"g\" {\ninput %x : f32" + x + "\nconst %s : f32" + scale +
                                  " = random(1)\nconst %b : f32" + bias + " = random(2)\n%y : f32" + x +
                                  " = normalization{" + fields + "}(%x, %s, %b) \"n\"\noutput %y\n}\n");
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  test::expectMatchesReference(graph, randomInputs(graph, 2, 5), options);
}

TEST(NormalizationKernel, MatchesTheReference) {
  for (const char* last : {"1", "2", "17", "64", "131", "5000"}) {
    const std::string n = last;
    expectKernel("[3," + n + "]", "[" + n + "]", "[" + n + "]", "axes=[1] epsilon=0.01");
    expectKernel("[2,3," + n + "]", "[1,1,1]", "[" + n + "]", "axes=[-1] epsilon=0.01");
  }
  expectKernel("[2,3,5,7]", "[3,1,1]", "[1,3,1,1]", "axes=[2,3] epsilon=0.01");
  expectKernel("[2,3,5,7]", "[5,7]", "[3,5,1]", "axes=[2,3] epsilon=0.01");
  expectKernel("[2,6,5,7]", "[1,6,1,1]", "[1,3,1,1]", "axes=[2,3] epsilon=0.01 groups=3");
  expectKernel("[2,6,5,7]", "[1]", "[6,1,7]", "axes=[2,3] epsilon=0.01 groups=2");
  expectKernel("[2,4,5]", "[4,5]", "[4,5]", "axes=[1,2] epsilon=0.01");
  expectKernel("[4,3,5]", "[3,5]", "[3,5]", "axes=[1] epsilon=0.01");  // the reference
  expectKernel("[300,96]", "[96]", "[96]", "axes=[1]");
  expectKernel("[0,96]", "[96]", "[96]", "axes=[1]");
  for (const char* last : {"1", "17", "131", "5000"}) {
    const std::string n = last;
    expectKernel("[3," + n + "]", "[" + n + "]", "[1]", "axes=[1] epsilon=0.01 centered=false");
  }
  expectKernel("[2,6,5,7]", "[1,6,1,1]", "[1,3,1,1]", "axes=[2,3] epsilon=0.01 groups=3 centered=false");
}

TEST(NormalizationKernel, OfSumsMatchesTheReference) {
  for (const char* x : {"[3,1]", "[3,17]", "[0,9]", "[2,5000]", "[2,6,5,7]", "[300,96]"}) {
    for (const bool keepSum : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", x, keepSum));
      const auto graph =
          graph::parse(fmt::format(R"g(graph "g" {{
        input %x : f32{0}
        input %r : f32{0}
        const %s : f32[1] = random(1)
        const %b : f32[1] = random(2)
        %y : f32{0}{1} = normalization{{axes=[{3}] epsilon=0.01 skip=true keepSum={2}}}(%x, %s, %b, %r) "n"
        output %y{4}
      }})g",
                                   x, keepSum ? fmt::format(", %t : f32{}", x) : "", keepSum,
                                   std::string_view(x) == "[2,6,5,7]" ? "2,3" : "1", keepSum ? "\noutput %t" : ""));
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      test::expectMatchesReference(graph, randomInputs(graph, 2, 5), options);
    }
  }
}

}  // namespace
}  // namespace tenon::passes
