// Normalizations of rows that become part of products, and those that stay.
#include "check_joins.h"

namespace tenon::passes {
namespace {

// The join on a body of statements; the operators that are left.
std::string joined(const std::string& body, const Pays& pays = always, graph::Graph* result = nullptr,
                   const char* disabled = "join_rows") {
  return joinedWithout(disabled, body, pays, result);
}

// A product in front, whose result is %x.
const std::string kFirst = R"g(
  input %u : f32[N,5,6]
  const %q : f32[6,72] = random(6)
  const %s : f32[72] = random(1)
  const %t : f32[1,1,72] = random(2)
  const %w : f32[72,12] = random(3)
  const %v : f32[12,72] = random(4)
  const %b : f32[12] = random(5)
  %x : f32[N,5,72] = matmul{epilogue="relu(x0)"}(%u, %q) "first" from("first")
)g";

TEST(JoinNormalization, RowsOfOneProduct) {
  graph::Graph after;
  const auto network = kFirst + R"g(
  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) "norm" from("norm")
  %y : f32[N,5,12] = matmul{epilogue="add(x0,x1)"}(%n, %w, %b) "product" from("product")
  output %y
)g";
  EXPECT_EQ(joined(network, always, &after), "composite composite");
  const auto& node = after.node(after.order()[1]);
  EXPECT_EQ(node.name, "norm + product");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"norm", "product"}));
  EXPECT_EQ(node.outputs.size(), 1u);
  const auto count = [&](const graph::Graph&, std::span<const graph::NodeId> made,
                         std::span<const graph::NodeId> instead) {
    EXPECT_EQ(made.size(), 2u);
    EXPECT_EQ(instead.size(), 3u);
    return false;
  };
  EXPECT_EQ(joined(network, count), "matmul normalization matmul");
  EXPECT_EQ(joined(network, always, nullptr, "join_rows,join_normalization"), "matmul normalization matmul");
}

// As in networks that normalize behind each sum: the rows go on beside the product.
TEST(JoinNormalization, RowsThatOthersRead) {
  graph::Graph after;
  EXPECT_EQ(joined(kFirst + R"g(
  %n : f32[N,5,72] = normalization{axes=[2] centered=false}(%x, %s, %t) "norm"
  %h : f32[N,5,12] = matmul{epilogue="add(x0,x1);relu(t0)"}(%n, %w, %b) "wide"
  %y : f32[N,5,72] = matmul{epilogue="add(x0,x1)"}(%h, %v, %n) "narrow"
  output %y
)g",
                   always, &after),
            "composite composite matmul");
  EXPECT_EQ(after.node(after.order()[1]).outputs.size(), 2u);
}

// As in those that normalize in front of each block: the sum goes on.
TEST(JoinNormalization, SumsThatOthersRead) {
  EXPECT_EQ(joined(kFirst + R"g(
  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) "norm"
  %h : f32[N,5,12] = matmul{epilogue="add(x0,x1);relu(t0)"}(%n, %w, %b) "wide"
  %y : f32[N,5,72] = matmul{epilogue="add(x0,x1)"}(%h, %v, %x) "narrow"
  %m : f32[N,5,72] = normalization{axes=[-1]}(%y, %s, %t) "last"
  %z : f32[N,5,12] = matmul(%m, %w) "end"
  output %z
  output %x
)g"),
            "composite composite composite composite");
}

// The sum becomes part of the product in front again, with and without other readers, whichever part of it the product
// is.
TEST(JoinNormalization, SumsReturnToTheirProduct) {
  for (const auto& [keepSum, from] : {std::pair(false, "%x, %s, %t, %r"),
                                      {true, "%x, %s, %t, %r"},
                                      {false, "%r, %s, %t, %x"},
                                      {true, "%r, %s, %t, %x"}}) {
    const std::string network =
        kFirst + fmt::format(R"g(
  input %r : f32[N,5,72]
  %n : f32[N,5,72]{} = normalization{{axes=[-1] skip=true keepSum={}}}({}) "norm"
  %y : f32[N,5,12] = matmul{{epilogue="add(x0,x1)"}}(%n, %w, %b) "second"
  output %y
{})g",
                             keepSum ? ", %k : f32[N,5,72]" : "", keepSum, from, keepSum ? "  output %k\n" : "");
    graph::Graph after;
    EXPECT_EQ(joined(network, always, &after), "composite composite");
    EXPECT_NE(after.node(after.order()[0]).op.text().find("relu(x0);add(t0,x1)"), std::string::npos);
  }
}

TEST(JoinNormalization, WhatIsNoneStays) {
  const std::string product = "  %y : f32[N,5,12] = matmul(%n, %w) \"product\"\n  output %y\n";
  const std::vector<std::string> bodies = {
      // Over other axes; with factors that are computed, or not one for each element; of no product.
      kFirst + "  const %o : f32[5,1] = random(6)\n  %n : f32[N,5,72] = normalization{axes=[-2]}(%x, %o, %o) \"n\"\n" +
          product,
      kFirst + "  input %f : f32[72]\n  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %f, %t) \"n\"\n" + product,
      kFirst + "  const %f : f32[1] = random(7)\n  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %f, %t) \"n\"\n" +
          product,
      kFirst +
          "  %m : f32[N,5,72] = cumulative(%x) \"m\"\n  %n : f32[N,5,72] = normalization{axes=[-1]}(%m, %s, %t) \"n\"\n" +
          product,
      // Whose sum has a part that is read elsewhere.
      kFirst +
          "  input %r : f32[N,5,72]\n  %n : f32[N,5,72] = normalization{axes=[-1] skip=true}(%x, %s, %t, %r) \"n\"\n" +
          product + "  output %x\n",
      // Before weights that are computed.
      kFirst +
          "  input %o : f32[72,12]\n  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) \"n\"\n"
          "  %y : f32[N,5,12] = matmul(%n, %o) \"product\"\n  output %y\n"};
  for (const auto& body : bodies) EXPECT_EQ(joined(body).find("composite"), std::string::npos) << body;
}

// What the product adds may be computed from the rows: it cannot come before them.
TEST(JoinNormalization, ProductsThatNeedTheirRowsStay) {
  EXPECT_EQ(joined(kFirst + R"g(
  const %e : f32[72,72] = random(8)
  %n : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) "norm"
  %k : f32[N,5,72] = pointwise{expr="relu(x0)"}(%n) "again"
  %y : f32[N,5,72] = matmul{epilogue="add(x0,x1)"}(%n, %e, %k) "second"
  output %y
)g"),
            "matmul normalization pointwise matmul");
}

}  // namespace
}  // namespace tenon::passes
