// What is picked of tensors that stand side by side, channel shuffles of images on GPUs, and matrices that are picked
// for rows.
#include "check_pass.h"

#include "ops/op/concat_gather.h"
#include "ops/op/gather.h"

namespace tenon::passes {
namespace {

Options onCuda(bool computes = true) {
  Options options;
  options.device = "cuda";
  options.computes = [computes](const ops::Operator&, std::span<const ops::TensorType>) { return computes; };
  return options;
}

// Picks from the concatenation of %a and %b, 3 and 2 channels.
std::string picks(const std::string& indices, const std::string& rest = "") {
  return "input %a : f32[2,3,4,5]\ninput %b : f32[2,2,4,5]\nconst %i : i32[4] = " + indices +
         "\nconst %k : i32[3] = {-1,3,0}\n%c : f32[2,5,4,5] = concat{axis=1}(%a, %b) \"join\" from(\"join\")\n"
         "%y : f32[2,4,4,5] = gather{axis=1}(%c, %i) \"pick\" from(\"pick\")\noutput %y\n" +
         rest;
}

TEST(FuseGather, OfAConcatenation) {
  const auto graph = expectPass("fuse_gather", picks("{3,0,4,-4}"), "concat_gather", onCuda());
  const auto& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.op.text(), "concat_gather{axis=1}");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"join", "pick"}));
  EXPECT_EQ(node.inputs.size(), 3U);
  const auto one = expectPass("fuse_gather", picks("{1,0,2,-5}"), "concat_gather", onCuda());
  EXPECT_EQ(one.node(one.order()[0]).inputs.size(), 2U);  // nothing of %b is read
  expectPass("fuse_gather", picks("{3,0,4,-4}", "output %c\n"), "concat concat_gather", onCuda());
}

TEST(FuseGather, OfWhatWasPicked) {
  const std::string again = "%z : f32[2,3,4,5] = gather{axis=1}(%y, %k) \"again\"\noutput %z\n";
  auto text = picks("{3,0,4,-4}", again);
  expectPass("fuse_gather", text, "concat_gather concat_gather", onCuda());  // %y is an output
  text.erase(text.find("output %y\n"), 10);
  expectPass("fuse_gather", text, "concat_gather", onCuda());
  expectPass("fuse_gather", text + "%w : f32[2,4,4,5] = pointwise{expr=\"exp(x0)\"}(%y) \"reader\"\noutput %w\n",
             "concat_gather pointwise concat_gather", onCuda());
}

TEST(FuseGather, WhatStays) {
  expectPass("fuse_gather", picks("{3,0,4,-4}"), "concat gather", onCuda(false));
  expectPass("fuse_gather", picks("{3,0,4,-4}"), "concat gather");  // on the host
  expectPass(
      "fuse_gather",
      "input %a : f32[2,3]\nconst %i : i32[2] = {2,0}\n%y : f32[2,2] = gather{axis=1}(%a, %i) \"pick\"\noutput %y\n",
      "gather", onCuda());  // no image, and no concatenation
  expectPass(
      "fuse_gather",
      "input %a : f32[2,3]\ninput %b : f32[2,3]\nconst %i : i32[2] = {2,0}\n%c : f32[4,3] = concat{axis=0}(%a, %b) \"join\"\n"
      "%y : f32[4,2] = gather{axis=1}(%c, %i) \"pick\"\noutput %y\n",
      "concat gather", onCuda());  // along another axis
  expectPass(
      "fuse_gather",
      "input %a : f32[2,3]\ninput %i : i32[2]\ninput %b : f32[2,3]\n%c : f32[4,3] = concat{axis=0}(%a, %b) \"join\"\n"
      "%y : f32[2,3] = gather{axis=0}(%c, %i) \"pick\"\noutput %y\n",
      "concat gather", onCuda());  // unknown indices
}

// Neither time nor memory goes with the extent that is picked from; places of 32 bits are all that kernels take.
TEST(FuseGather, OfManyChannels) {
  const auto picked = [](const std::string& index) {
    auto graph = graph::parse(
        "graph \"g\" {\ninput %a : i8[1,1099511627776,1,1]\ninput %b : i8[1,8,1,1]\nconst %i : i64[3] = {" + index +
        ",0,5}\n%c : i8[1,1099511627784,1,1] = concat{axis=1}(%a, %b) \"join\"\n"
        "%y : i8[1,3,1,1] = gather{axis=1}(%c, %i) \"pick\"\noutput %y\n}\n");
    run(graph, onCuda());
    return operators(graph);
  };
  EXPECT_EQ(picked("-1"), "concat_gather");
  EXPECT_EQ(picked("2147483647"), "concat_gather");
  EXPECT_EQ(picked("2147483648"), "concat gather");
}

// Two units of ShuffleNet: a shuffle is split, one half passes by.
TEST(FuseGather, ShuffledUnits) {
  const auto unit = [](const std::string& x, const std::string& y) {
    return fmt::format(
        "%{0}1 : f32[2,4,3,3] = slice{{start=[0,0,0,0] size=[2,4,3,3]}}(%{0}) \"{0}1\"\n"
        "%{0}2 : f32[2,4,3,3] = slice{{start=[0,4,0,0] size=[2,4,3,3]}}(%{0}) \"{0}2\"\n"
        "%{0}3 : f32[2,4,3,3] = convolution{{}}(%{0}2, %w) \"{0}3\"\n"
        "%{0}4 : f32[2,8,3,3] = concat{{axis=1}}(%{0}1, %{0}3) \"{0}4\"\n"
        "%{0}5 : f32[2,2,4,3,3] = reshape{{shape=[2,2,4,3,3]}}(%{0}4) \"{0}5\"\n"
        "%{0}6 : f32[2,4,2,3,3] = transpose{{permutation=[0,2,1,3,4]}}(%{0}5) \"{0}6\"\n"
        "%{1} : f32[2,8,3,3] = reshape{{shape=[2,8,3,3]}}(%{0}6) \"{1}\"\n",
        x, y);
  };
  const std::string text = "input %a : f32[2,8,3,3]\nconst %w : f32[4,4,1,1] = random(1)\n" + unit("a", "b") +
                           unit("b", "c") + "output %c\n";
  const auto before = graph::parse("graph \"g\" {\n" + text + "}\n");
  auto after = before;
  run(after, onCuda());
  EXPECT_EQ(operators(after), "slice slice convolution concat_gather convolution concat_gather") << graph::text(after);
  expectSameValues(before, after);
}

std::string productOfPicked(const std::string& rows, const std::string& picks, const std::string& picked,
                            const std::string& result, const std::string& op = "matmul",
                            const std::string& matrices = "5,24,48") {
  return "input %x : f32[" + rows + "]\ninput %i : f32[" + picks + "]\nconst %w : f32[" + matrices + "] = random(1)\n" +
         "%v : f32[" + picks + "], %p : i64[" + picks + "] = topk{k=" + picks.substr(picks.rfind(',') + 1) +
         " indexType=i64}(%i) \"best\"\n" + "%g : f32[" + picked +
         "] = gather(%w, %p) \"pick\" from(\"pick\")\n%y : f32[" + result + "] = " + op +
         "(%x, %g) \"product\" from(\"product\")\noutput %y\n";
}

TEST(FindExperts, RowsOfTokens) {
  const auto graph = expectPass("find_experts", productOfPicked("4,1,1,24", "4,2", "4,2,24,48", "4,2,1,48"),
                                "topk reshape reshape expert_matmul reshape", onCuda());
  expectPass("find_experts", productOfPicked("4,2,1,24", "4,2", "4,2,24,48", "4,2,1,48"),
             "topk reshape reshape expert_matmul reshape", onCuda());
  expectPass("find_experts", productOfPicked("2,3,1,1,24", "2,3,2", "2,3,2,24,48", "2,3,2,1,48"),
             "topk reshape reshape expert_matmul reshape", onCuda());
}

TEST(FindExperts, TransposedMatrices) {
  expectPass("find_experts", productOfPicked("4,1,1,48", "4,2", "4,2,24,48", "4,2,1,24", "matmul{transposeB=true}"),
             "topk reshape reshape expert_matmul reshape", onCuda());
}

// An index that may be negative counts from the end.
TEST(FindExperts, IndicesOfAnyKind) {
  const std::string body =
      "input %x : f32[3,1,24]\nconst %p : i64[3] = {-1,0,1}\nconst %w : f32[2,24,48] = random(1)\n"
      "%q : i64[3] = pointwise{expr=\"sub(x0,0)\"}(%p) \"q\"\n"
      "%g : f32[3,24,48] = gather(%w, %q) \"pick\"\n%y : f32[3,1,48] = matmul(%x, %g) \"product\"\noutput %y\n";
  expectPass("find_experts", body, "pointwise pointwise reshape reshape expert_matmul reshape", onCuda());
}

TEST(FindExperts, WhatStays) {
  // Several rows of a matrix, rows that all picks share beyond a token, matrices that somebody else reads.
  expectPass("find_experts", productOfPicked("4,1,3,24", "4,2", "4,2,24,48", "4,2,3,48"), "topk gather matmul",
             onCuda());
  expectPass("find_experts", productOfPicked("1,2,1,24", "4,2", "4,2,24,48", "4,2,1,48"), "topk gather matmul",
             onCuda());
  expectPass("find_experts", productOfPicked("4,1,1,24", "4,2", "4,2,24,48", "4,2,1,48") + "output %g\n",
             "topk gather matmul", onCuda());
  // Small matrices.
  expectPass("find_experts", productOfPicked("4,1,1,6", "4,2", "4,2,6,7", "4,2,1,7", "matmul", "5,6,7"),
             "topk gather matmul", onCuda());
  Options onCpu;
  expectPass("find_experts", productOfPicked("4,1,1,24", "4,2", "4,2,24,48", "4,2,1,48"), "topk gather matmul", onCpu);
}

}  // namespace
}  // namespace tenon::passes
