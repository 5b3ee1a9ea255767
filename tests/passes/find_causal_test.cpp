// Constant masks that hide the keys behind each row.
#include "check_pass.h"
#include "ops/op/attention.h"

namespace tenon::passes {
namespace {

// Attention of 3 rows and 4 keys under a constant mask [1,3,4].
std::string masked(const std::string& mask, const char* type = "f32") {
  return fmt::format(
      "input %q : {0}[2,3,8]\ninput %k : {0}[2,4,8]\ninput %v : {0}[2,4,8]\nconst %m : {0}[1,3,4] = {{{1}}}\n"
      "%y : {0}[2,3,8] = attention{{heads=2 scale=0.5 hasMask=true}}(%q, %k, %v, %m) \"y\"\noutput %y\n",
      type, mask);
}

TEST(FindCausal, MasksThatHideLaterKeysAreNotRead) {
  for (const char* hidden : {"-inf", "-3.4028234663852886e38"}) {
    const auto mask = fmt::format("0,{0},{0},{0},0,0,{0},{0},0,0,0,{0}", hidden);
    const auto graph = expectPass("find_causal", masked(mask), "attention");
    EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "attention{heads=2 scale=0.5 causal=true}");
  }
  const auto halves =
      expectPass("find_causal", masked("0,-65504,-65504,-65504,0,0,-65504,-65504,0,0,0,-65504", "f16"), "attention");
  EXPECT_EQ(halves.node(halves.order()[0]).op.text(), "attention{heads=2 scale=0.5 causal=true}");
  const auto packed =
      expectPass("find_causal",
                 "input %x : f32[1,2,12]\nconst %m : f32[2,2] = {0,-inf,0,0}\n"
                 "%y : f32[1,2,4] = attention{heads=1 packed=true hasMask=true}(%x, %m) \"y\"\noutput %y\n",
                 "attention");
  EXPECT_EQ(packed.node(packed.order()[0]).op.text(), "attention{heads=1 packed=true causal=true}");
}

TEST(FindCausal, OtherMasksStay) {
  for (const char* mask : {"0,-1e9,-1e9,-1e9,0,0,-1e9,-1e9,0,0,0,-1e9",       // not the lowest number
                           "0,-inf,-inf,-inf,0,0,-inf,-inf,0,0,0,0",          // the last row sees all keys
                           "0,-inf,-inf,-inf,-inf,0,-inf,-inf,0,0,0,-inf",    // a hole
                           "0,-inf,-inf,-inf,0.5,0,-inf,-inf,0,0,0,-inf"}) {  // a bias
    const auto graph = expectPass("find_causal", masked(mask), "attention");
    EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "attention{heads=2 scale=0.5 hasMask=true}") << mask;
  }
}

}  // namespace
}  // namespace tenon::passes
