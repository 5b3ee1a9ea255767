// Heads that a split makes share one transpose.
#include "check_pass.h"

namespace tenon::passes {
namespace {

// A slice of %x from `start` on as two heads of four, moved by `permutation`.
std::string heads(const char* name, int start, const char* permutation, const char* shape) {
  return fmt::format(R"g(
  %{0}s : f32[{4},5,8] = slice{{start=[0,0,{1}] size=[{4},5,8]}}(%x) "{0}s" from("{0}s")
  %{0}r : f32[{4},5,2,4] = reshape{{shape=[{4},5,2,4]}}(%{0}s) "{0}r" from("{0}r")
  %{0} : f32{3} = transpose{{permutation={2}}}(%{0}r) "{0}" from("{0}")
)g",
                     name, start, permutation, shape, shape[1]);
}

const std::string kInput = "  input %x : f32[1,5,32]\n";
const std::string kEnd = R"g(
  %s : f32[1,2,5,5] = matmul(%q, %k) "scores"
  %y : f32[1,2,5,4] = matmul(%s, %v) "y"
  output %y
)g";

void expectOnGpu(const std::string& body, const std::string& operators) {
  Options options;
  options.device = "cuda";
  expectPass("share_transposes", body, operators, options);
}

TEST(ShareTransposes, OfQueriesKeysAndValues) {
  expectOnGpu(kInput + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") + heads("k", 8, "[0,2,3,1]", "[1,2,4,5]") +
                  heads("v", 16, "[0,2,1,3]", "[1,2,5,4]") + kEnd,
              "reshape transpose slice transpose slice matmul slice matmul");
  // Keys that stand first are turned all the same.
  expectOnGpu(kInput + heads("k", 0, "[0,2,3,1]", "[1,2,4,5]") + heads("q", 8, "[0,2,1,3]", "[1,2,5,4]") +
                  heads("v", 16, "[0,2,1,3]", "[1,2,5,4]") + kEnd,
              "reshape transpose slice transpose slice matmul slice matmul");
}

// Of several images slices would be copies; heads that are not whole have none in common; what one slice reads alone
// has nobody to share with; what else reads turned keys would read them through one more transpose.
TEST(ShareTransposes, NotWhereNothingIsSpared) {
  const std::string plain = "  output %q\n  output %v\n";
  const std::string three = "slice reshape transpose slice reshape transpose";
  expectOnGpu("  input %x : f32[3,5,32]\n" + heads("q", 0, "[0,2,1,3]", "[3,2,5,4]") +
                  heads("v", 16, "[0,2,1,3]", "[3,2,5,4]") + plain,
              three);
  expectOnGpu(kInput + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") + heads("v", 20, "[0,2,1,3]", "[1,2,5,4]") + plain,
              three);
  expectOnGpu(kInput + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") + "  output %q\n", "slice reshape transpose");
  expectOnGpu(kInput + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") + heads("v", 16, "[0,2,3,1]", "[1,2,4,5]") + plain,
              three);
  expectOnGpu(kInput + heads("q", 0, "[0,1,2,3]", "[1,5,2,4]") + heads("v", 16, "[0,1,2,3]", "[1,5,2,4]") + plain,
              three);
  // Two parts of four: as much is moved for nobody.
  expectOnGpu(kInput + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") + heads("v", 16, "[0,2,1,3]", "[1,2,5,4]") + plain,
              three);
  expectOnGpu("  input %x : f32[1,5,24]\n" + heads("q", 0, "[0,2,1,3]", "[1,2,5,4]") +
                  heads("v", 16, "[0,2,1,3]", "[1,2,5,4]") + plain,
              "reshape transpose slice slice");
}

}  // namespace
}  // namespace tenon::passes
