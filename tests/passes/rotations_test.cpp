// Pairs of elements that are turned by an angle, as exporters write them.
#include "check_pass.h"
#include "passes/pipeline.h"

namespace tenon::passes {
namespace {

Options onCuda(bool computes = true) {
  Options options;
  options.device = "cuda";
  options.computes = [computes](const ops::Operator&, std::span<const ops::TensorType>) { return computes; };
  return options;
}

// The product of `half` and `factor`, both named.
std::string product(const std::string& name, const std::string& type, const std::string& half,
                    const std::string& factor) {
  return "%" + name + " : " + type + " = pointwise{expr=\"mul(x0,x1)\"}(%" + half + ", %" + factor + ") \"" + name +
         "\"\n";
}

std::string both(const std::string& name, const std::string& type, const std::string& op, const std::string& a,
                 const std::string& b) {
  return "%" + name + " : " + type + " = pointwise{expr=\"" + op + "(x0,x1)\"}(%" + a + ", %" + b + ") \"" + name +
         "\"\n";
}

// Sums of halves x0 and x1 with angles c and s.
std::string sums(const std::string& type) {
  return product("xc", type, "x0", "c") + product("ys", type, "x1", "s") + both("p", type, "sub", "xc", "ys") +
         product("xs", type, "s", "x0") + product("yc", type, "x1", "c") + both("q", type, "add", "xs", "yc");
}

const std::string kHalves =
    "input %x : f32[2,3,5,8]\n"
    "%x0 : f32[2,3,5,4] = slice{start=[0,0,0,0] size=[2,3,5,4]}(%x) \"x0\"\n"
    "%x1 : f32[2,3,5,4] = slice{start=[0,0,0,4] size=[2,3,5,4]}(%x) \"x1\"\n";

std::string halves(const std::string& angles, const std::string& rest = "") {
  return kHalves + angles + sums("f32[2,3,5,4]") + "%y : f32[2,3,5,8] = concat{axis=-1}(%p, %q) \"y\"\noutput %y\n" +
         rest;
}

const char* const kLeft = "slice slice pointwise pointwise pointwise pointwise pointwise pointwise concat";

TEST(RotateBySwap, HalvesOfAnAxis) {
  expectPass("rotate_by_swap", halves("input %c : f32[5,4]\ninput %s : f32[1,1,5,4]\n"),
             "slice pointwise concat pointwise concat pointwise pointwise", onCuda());
}

TEST(RotateBySwap, FactorsThatMatterStay) {
  // One of no width, one as large as the sums, what a second node reads, and the other order of halves.
  expectPass("rotate_by_swap", halves("input %c : f32[5,1]\ninput %s : f32[5,4]\n"), kLeft, onCuda());
  expectPass("rotate_by_swap", halves("input %c : f32[2,3,5,4]\ninput %s : f32[5,4]\n"), kLeft, onCuda());
  expectPass("rotate_by_swap", halves("input %c : f32[5,4]\ninput %s : f32[5,4]\n", "output %p\n"), kLeft, onCuda());
  expectPass("rotate_by_swap", halves("input %c : f32[5,4]\ninput %s : f32[5,4]\n"), kLeft, onCuda(false));
}

// Sums of three products are no rotation, in whichever order they are written.
TEST(RotateBySwap, ThreeTermsStay) {
  const std::string text =
      "input %x : f32[2,8]\ninput %a : f32[4]\ninput %b : f32[4]\ninput %c : f32[4]\n"
      "%x0 : f32[2,4] = slice{start=[0,0] size=[2,4]}(%x) \"x0\"\n"
      "%x1 : f32[2,4] = slice{start=[0,4] size=[2,4]}(%x) \"x1\"\n"
      "%k : f32[2,4] = pointwise{expr=\"mul(x0,x1)\"}(%x0, %a) \"k\"\n"
      "%l : f32[2,4] = pointwise{expr=\"mul(x0,x1)\"}(%x1, %b) \"l\"\n"
      "%m : f32[2,4] = pointwise{expr=\"mul(x0,x1)\"}(%x1, %c) \"m\"\n"
      "%n : f32[2,4] = pointwise{expr=\"mul(x0,x1)\"}(%x0, %c) \"n\"\n"
      "%r : f32[2,4] = pointwise{expr=\"add(x0,x1)\"}(%k, %l) \"r\"\n"
      "%p : f32[2,4] = pointwise{expr=\"add(x0,x1)\"}(%r, %m) \"p\"\n"
      "%q : f32[2,4] = pointwise{expr=\"add(x0,x1)\"}(%r, %n) \"q\"\n"
      "%y : f32[2,8] = concat{axis=-1}(%p, %q) \"y\"\noutput %y\n";
  expectPass("rotate_by_swap", text,
             "slice slice pointwise pointwise pointwise pointwise pointwise pointwise pointwise concat", onCuda());
}

// Two angles of one width, but of other ranks, are no rows of one table.
TEST(RotateBySwap, FactorsOfTwoShapesStay) {
  std::string text = halves("input %c : f32[5,4]\ninput %d : f32[1,5,4]\ninput %s : f32[5,4]\n");
  const auto place = text.find("(%x1, %c)");
  text.replace(place, 9, "(%x1, %d)");
  expectPass("rotate_by_swap", text, kLeft, onCuda());
}

TEST(RotateBySwap, NothingToTurn) {
  expectPass(
      "rotate_by_swap",
      "input %x : f32[2,0]\ninput %c : f32[0]\n%x0 : f32[2,0] = slice{start=[0,0] size=[2,0]}(%x) \"x0\"\n"
      "%p : f32[2,0] = pointwise{expr=\"mul(x0,x1)\"}(%x0, %c) \"p\"\n%q : f32[2,0] = pointwise{expr=\"mul(x0,x1)\"}(%c, %x0) \"q\"\n"
      "%y : f32[2,0] = concat{axis=-1}(%p, %q) \"y\"\noutput %y\n",
      "slice pointwise pointwise concat", onCuda());
}

// Every other element, as pairs of a new axis.
std::string steps(const std::string& axes) {
  return "input %x : f32[2,5,8]\ninput %c : f32[5,4]\ninput %s : f32[4]\n"
         "%x0 : f32[2,5,4] = slice{start=[0,0,0] size=[2,5,4] stride=[1,1,2]}(%x) \"x0\"\n"
         "%x1 : f32[2,5,4] = slice{start=[0,0,1] size=[2,5,4] stride=[1,1,2]}(%x) \"x1\"\n" +
         sums("f32[2,5,4]") + axes;
}

TEST(RotateBySwap, StepsOfAnAxis) {
  expectPass(
      "rotate_by_swap",
      steps(
          "%u : f32[2,5,4,1] = reshape{shape=[2,5,4,1]}(%p) \"u\"\n%v : f32[2,5,4,1] = reshape{shape=[2,5,4,1]}(%q) \"v\"\n"
          "%y : f32[2,5,4,2] = concat{axis=3}(%u, %v) \"y\"\noutput %y\n"),
      "reshape slice reshape pointwise reshape concat pointwise reshape reshape concat pointwise pointwise", onCuda());
  // Behind one another they are in another order.
  expectPass("rotate_by_swap", steps("%y : f32[2,5,8] = concat{axis=2}(%p, %q) \"y\"\noutput %y\n"), kLeft, onCuda());
}

// concat(-x1, x0) of pairs.
TEST(RotateBySwap, SignsAlone) {
  const std::string text =
      "input %x : f16[2,5,4,2]\n"
      "%a : f16[2,5,4,1] = slice{start=[0,0,0,0] size=[2,5,4,1]}(%x) \"a\"\n%x0 : f16[2,5,4] = reshape{shape=[2,5,4]}(%a) \"x0\"\n"
      "%b : f16[2,5,4,1] = slice{start=[0,0,0,1] size=[2,5,4,1]}(%x) \"b\"\n%x1 : f16[2,5,4] = reshape{shape=[2,5,4]}(%b) \"x1\"\n"
      "%n : f16[2,5,4] = pointwise{expr=\"neg(x0)\"}(%x1) \"n\"\n%u : f16[2,5,4,1] = reshape{shape=[2,5,4,1]}(%n) \"u\"\n"
      "%v : f16[2,5,4,1] = reshape{shape=[2,5,4,1]}(%x0) \"v\"\n%y : f16[2,5,4,2] = concat{axis=-1}(%u, %v) \"y\"\noutput %y\n";
  expectPass("rotate_by_swap", text, "slice pointwise", onCuda());
}

// Heads that are normalized each: their transpose goes on to the attention.
TEST(SinkRows, NormalizedHeads) {
  const auto body = [](const char* permutation, const char* axes, const char* rest) {
    return fmt::format(
        "input %x : f32[2,5,3,8]\nconst %g : f32[1,1,1,8] = random(1)\nconst %b : f32[1,1,1,8] = random(2)\n"
        "%t : f32[2,3,5,8] = transpose{{permutation={}}}(%x) \"t\"\n"
        "%y : f32[2,3,5,8] = normalization{{axes={} centered=false}}(%t, %g, %b) \"y\"\noutput %y\n{}",
        permutation, axes, rest);
  };
  expectPass("sink_rows", body("[0,2,1,3]", "[3]", ""), "normalization transpose", onCuda());
  expectPass("sink_rows", body("[0,2,1,3]", "[-1]", ""), "normalization transpose", onCuda());
  expectPass("sink_rows", body("[0,2,1,3]", "[2]", ""), "transpose normalization", onCuda());
  expectPass("sink_rows", body("[0,2,1,3]", "[3]", "output %t\n"), "transpose normalization", onCuda());
  expectPass("sink_rows", body("[0,2,1,3]", "[3]", ""), "transpose normalization");
}

// Heads of which a part is turned: one transpose is left, behind what joins the parts.
TEST(SinkParts, JoinedAgain) {
  const auto body = [](const char* last, const char* rest) {
    return fmt::format(
        "input %x : f32[2,5,3,8]\n%t : f32[2,3,5,8] = transpose{{permutation=[0,2,1,3]}}(%x) \"t\"\n"
        "%a : f32[2,3,5,6] = slice{{start=[0,0,0,0] size=[2,3,5,6]}}(%t) \"a\"\n"
        "%b : f32[2,3,5,2] = slice{{start=[0,0,0,6] size=[2,3,5,2]}}(%t) \"b\"\n"
        "%e : f32[2,3,5,6] = pointwise{{expr=\"tanh(x0)\"}}(%a) \"e\"\n"
        "%y : f32{} = concat{{axis={}}}(%e, {}) \"y\"\noutput %y\n{}",
        last[0] == '3' ? "[2,3,5,8]" : "[2,3,10,6]", last, last[0] == '3' ? "%b" : "%e", rest);
  };
  expectPass("sink_parts", body("3", ""), "slice transpose pointwise slice transpose concat", onCuda());
  expectPass("sink_parts", body("3", ""), "transpose slice slice pointwise concat");
  expectPass("sink_parts", body("3", "output %t\n"), "transpose slice slice pointwise concat", onCuda());
  expectPass("sink_parts", body("3", "output %b\n"), "transpose slice slice pointwise concat", onCuda());
  expectPass("sink_parts", body("2", ""), "transpose slice slice pointwise concat", onCuda());
}

}  // namespace
}  // namespace tenon::passes
