// The passes that compute products of bytes in f32 on GPUs.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

std::string product(const std::string& a, const std::string& b, const std::string& y, const std::string& fields) {
  return "input %x : i8[" + a + "]\ninput %w : i8[" + b + "]\n%y : i32[" + y + "] = matmul" + fields +
         "(%x, %w) \"m\"\noutput %y\n";
}

Options onGpu() {
  Options options;
  options.device = "cuda";
  return options;
}

TEST(WidenBytes, Products) {
  expectPass("widen_bytes", product("3,5,7", "7,4", "3,5,4", ""), "pointwise pointwise matmul pointwise", onGpu());
  expectPass("widen_bytes", product("7,5", "4,7", "5,4", "{transposeA=true transposeB=true}"),
             "pointwise pointwise matmul pointwise", onGpu());
}

// As many products as f32 counts exactly, and no more, in a part.
TEST(WidenBytes, Parts) {
  expectPass("widen_bytes", product("2,1024", "1024,3", "2,3", ""), "pointwise pointwise matmul pointwise", onGpu());
  const auto graph = [] {
    auto made = graph::parse("graph \"g\" {\n" + product("2,2050", "3,2050", "2,3", "{transposeB=true}") + "}\n");
    EXPECT_EQ(runPass("widen_bytes", made, onGpu()), 1);
    return made;
  }();
  int products = 0;
  for (const auto id : graph.order()) products += graph.node(id).op.name() == "matmul" ? 1 : 0;
  EXPECT_EQ(products, 3) << graph::text(graph);
}

TEST(WidenBytes, OthersStay) {
  for (const std::string& text :
       {product("2,7", "7,3", "2,3", "{epilogue=\"neg(x0)\"}"), product("2,0", "0,3", "2,3", ""),
        std::string("input %x : f32[5,7]\ninput %w : f32[7,4]\n%y : f32[5,4] = matmul(%x, %w) \"m\"\noutput %y\n")}) {
    auto graph = graph::parse("graph \"g\" {\n" + text + "}\n");
    EXPECT_EQ(runPass("widen_bytes", graph, onGpu()), 0) << graph::text(graph);
  }
}

// Products of bytes of either sign, whose zero points are given or numbers.
std::string centered(const std::string& a, const std::string& b, const std::string& zeros) {
  const std::string ends = zeros.empty() ? "input %za : " + a + "[]\ninput %zb : " + b + "[1]\n" : zeros;
  return "input %x : " + a + "[3,5,7]\ninput %w : " + b + "[7,4]\n" + ends +
         "%y : i32[3,5,4] = byte_matmul(%x, %w, %za, %zb) \"m\"\noutput %y\n";
}

TEST(SignBytes, ZeroPoints) {
  for (const std::string a : {"u8", "i8"}) {
    for (const std::string b : {"u8", "i8"}) {
      auto graph = graph::parse("graph \"g\" {\n" + centered(a, b, "") + "}\n");
      const auto before = graph;
      ASSERT_EQ(runPass("sign_bytes", graph, onGpu()), 1);
      int reductions = 0;
      for (const auto id : graph.order()) reductions += graph.node(id).op.name() == "reduce" ? 1 : 0;
      EXPECT_EQ(reductions, 2) << graph::text(graph);
      for (uint64_t seed = 1; seed < 4; ++seed) {
        const auto inputs = randomInputs(before, 2, seed);
        const auto expected = graph::evaluate(before, test::views(inputs));
        const auto got = graph::evaluate(graph, test::views(inputs));
        EXPECT_EQ(test::relativeError(got.at(0).view(), expected.at(0).view()), 0) << a << b;
      }
    }
  }
}

TEST(SignBytes, NothingToTakeAway) {
  expectPass("sign_bytes", centered("i8", "i8", "const %za : i8[] = {0}\nconst %zb : i8[] = {0}\n"), "matmul", onGpu());
  expectPass("sign_bytes", centered("u8", "u8", "const %za : u8[] = {128}\nconst %zb : u8[1] = {128}\n"),
             "pointwise pointwise matmul", onGpu());
}

}  // namespace
}  // namespace tenon::passes
