// The operator's kernel on the host.
#include <cmath>

#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(AttentionKernel, PackedOperands) {
  for (const char* mask : {"", ", %m"}) {
    const auto graph =
        graph::parse(fmt::format("graph \"g\" {{\ninput %x : f32[2,37,90]\ninput %m : f32[37,37]\n%y : f32[2,37,30] = "
                                 "attention{{heads=3 scale=0.3 hasMask={} packed=true}}(%x{}) \"a\"\noutput %y\n}}\n",
                                 *mask != 0, mask));
    test::expectMatchesReference(graph, randomInputs(graph, 2, 11), {});
  }
}

TEST(AttentionKernel, SeveralLeadingAxes) {
  for (const char* mask : {"[5,1,7,7]", "[2,1,3,1,7]", "[2,5,3,7,7]", "[7]"}) {
    const auto graph = graph::parse(
        fmt::format("graph \"g\" {{\ninput %x : f32[2,5,7,90]\ninput %m : f32{}\n%y : f32[2,5,7,30] = "
                    "attention{{heads=3 scale=0.3 hasMask=true packed=true}}(%x, %m) \"a\"\noutput %y\n}}\n",
                    mask));
    test::expectMatchesReference(graph, randomInputs(graph, 2, 11), {});
  }
}

TEST(AttentionKernel, RowsWithoutKeys) {
  for (const char* mask : {"[2,1,9,2]", "[2,1,9,1]", "[1,3,9,2]"}) {
    const auto graph = graph::parse(fmt::format(R"g(graph "g" {{
input %q : f32[2,9,12]
input %k : f32[2,2,12]
input %v : f32[2,2,6]
input %m : f32{0}
%closed : f32{0} = pointwise{{expr="greater(x0,0.25);select(t0,0,-inf)"}}(%m) "mask"
%y : f32[2,9,6] = attention{{heads=3 scale=0.5 hasMask=true emptyIsZero=true}}(%q, %k, %v, %closed) "a"
output %y
}})g",
                                                mask));
    const auto inputs = randomInputs(graph, 2, 5);
    const auto expected = graph::evaluate(graph, test::views(inputs));
    const auto view = expected[0].view();
    int zeros = 0;
    for (int64_t i = 0; i < view.count(); ++i) {
      EXPECT_FALSE(std::isnan(view.as<float>()[i]));
      zeros += view.as<float>()[i] == 0 ? 1 : 0;
    }
    EXPECT_GE(zeros, 2);
    EXPECT_LT(zeros, view.count());
    test::expectMatchesReference(graph, inputs, {});
  }
}

struct Case {
  int64_t batch, heads, queries, keys, width, columns;
};

void expectKernel(const Case& c, const std::string& mask) {
  const auto text = fmt::format(
      "graph \"g\" {{\ninput %q : f32[{},{},{}]\ninput %k : f32[{},{},{}]\ninput %v : f32[{},{},{}]\n{}%y : f32[{},{},{}] = "
      "attention{{heads={} scale=0.7 hasMask={}}}(%q, %k, %v{}) \"a\"\noutput %y\n}}\n",
      c.batch, c.queries, c.heads * c.width, c.batch, c.keys, c.heads * c.width, c.batch, c.keys, c.heads * c.columns,
      mask.empty() ? "" : "input %m : f32" + mask + "\n", c.batch, c.queries, c.heads * c.columns, c.heads,
      !mask.empty(), mask.empty() ? "" : ", %m");
  SCOPED_TRACE(text);
  const auto graph = graph::parse(text);
  for (const int level : {0, 1}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    test::expectMatchesReference(graph, randomInputs(graph, 2, 11), options);
  }
}

TEST(AttentionKernel, MatchesTheReference) {
  for (const Case& c : {Case{1, 1, 1, 1, 1, 1}, Case{2, 3, 7, 5, 4, 2}, Case{1, 3, 17, 17, 16, 16},
                        Case{2, 2, 33, 65, 64, 64}, Case{1, 4, 40, 31, 19, 37}, Case{1, 12, 128, 128, 64, 64}}) {
    expectKernel(c, "");
    expectKernel(c, fmt::format("[{}]", c.keys));
    expectKernel(c, fmt::format("[{},1,1,{}]", c.batch, c.keys));
    expectKernel(c, fmt::format("[1,{},{},{}]", c.heads, c.queries, c.keys));
    expectKernel(c, fmt::format("[{},1]", c.queries));
  }
}

}  // namespace
}  // namespace tenon::passes
