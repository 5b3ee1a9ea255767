// The operator's kernel on the host.
#include <array>
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

// Rows that are cut into tiles of every size, keys that fill vectors in part, masks whose rows end where memory may.
TEST(AttentionKernel, RowsAndKeysOfManySizes) {
  int which = 0;
  for (const int rows : {1, 3, 6, 13, 33, 49, 67}) {
    for (const int keys : {1, 15, 16, 17, 49}) {
      const int width = std::array{1, 5, 16, 35}[which % 4];
      const bool hasMask = which % 3 != 0;
      const bool causal = which % 5 == 4;
      const auto text = fmt::format(
          "graph \"g\" {{\ninput %q : f32[2,{0},{2}]\ninput %k : f32[2,{1},{2}]\ninput %v : f32[2,{1},{3}]\n"
          "input %m : f32[{0},{1}]\n%y : f32[2,{0},{3}] = attention{{heads=2 scale=0.3 hasMask={4} causal={5}}}"
          "(%q, %k, %v{6}) \"a\"\noutput %y\n}}\n",
          rows, keys, 2 * width, 2 * (width + 2), hasMask, causal, hasMask ? ", %m" : "");
      SCOPED_TRACE(text);
      const auto graph = graph::parse(text);
      test::expectMatchesReference(graph, randomInputs(graph, 2, 11), {});
      ++which;
    }
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

// Their weights are 0, and 0 times an infinite value is no number: what a softmax with a select behind it gives, too.
TEST(AttentionKernel, RowsWithoutKeysOfInfiniteValues) {
  const std::string head = R"g(graph "g" {
input %q : f32[2,3,9,12]
input %k : f32[2,3,5,12]
input %v : f32[2,3,5,6]
const %m : f32[9,1] = {0,0,-inf,0,0,0,-inf,0,0}
)g";
  const auto fused =
      graph::parse(head + R"g(%y : f32[2,3,9,6] = attention{hasMask=true emptyIsZero=true}(%q, %k, %v, %m) "a"
output %y
})g");
  const auto written = graph::parse(head + R"g(%p : f32[2,3,9,5] = matmul{transposeB=true}(%q, %k) "p"
%s : f32[2,3,9,5] = pointwise{expr="add(x0,x1)"}(%p, %m) "s"
%w0 : f32[2,3,9,5] = softmax{axis=3}(%s) "softmax"
%n : bool[2,3,9,5] = pointwise{expr="isnan(x0)"}(%w0) "n"
%w : f32[2,3,9,5] = pointwise{expr="select(x0,0,x1)"}(%n, %w0) "w"
%y : f32[2,3,9,6] = matmul(%w, %v) "y"
output %y
})g");
  auto inputs = randomInputs(fused, 2, 5);
  inputs[2].view().storeDouble(7, std::numeric_limits<double>::infinity());
  const auto expected = graph::evaluate(written, test::views(inputs));
  const auto same = [&](const HostTensor& got) {
    for (int64_t i = 0; i < 2 * 3 * 9 * 6; ++i) {
      const double want = expected[0].view().loadDouble(i);
      const double have = got.view().loadDouble(i);
      const bool isNumber = i % 6 != 1 || i >= 9 * 6;
      EXPECT_EQ(std::isfinite(want), isNumber) << i;
      EXPECT_TRUE(std::isnan(want)   ? std::isnan(have)
                  : std::isinf(want) ? want == have
                                     : std::fabs(want - have) < 1e-5)
          << i << ": " << have << ", expected " << want;
    }
  };
  same(graph::evaluate(fused, test::views(inputs))[0]);
  test::RecordingLog log;
  for (const auto* graph : {&fused, &written}) {
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    same(test::run(runtime::Engine::make(compile::build(*graph, options), {}, log), inputs, log)[0]);
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

// A sum over the keys that each row sees, written another way than the reference is.
TEST(AttentionKernel, CausalRowsSeeWhatIsBeforeThem) {
  struct Sizes {
    int64_t heads, keyHeads, queries, keys, width;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 4}, Sizes{4, 2, 7, 7, 8}, Sizes{2, 2, 33, 65, 16}, Sizes{3, 1, 70, 31, 5},
                         Sizes{2, 1, 128, 128, 64}}) {
    for (const bool masked : {false, true}) {
      const auto graph = graph::parse(fmt::format(
          "graph \"g\" {{\ninput %q : f32[2,{0},{2},{4}]\ninput %k : f32[2,{1},{3},{4}]\ninput %v : f32[2,{1},{3},{4}]\n"
          "input %m : f32[{3}]\n%y : f32[2,{0},{2},{4}] = attention{{scale=0.5 causal=true hasMask={5}}}(%q, %k, %v{6}) "
          "\"a\"\noutput %y\n}}\n",
          s.heads, s.keyHeads, s.queries, s.keys, s.width, masked, masked ? ", %m" : ""));
      const auto inputs = randomInputs(graph, 2, 23);
      const auto found = graph::evaluate(graph, test::views(inputs));
      const auto at = [&](size_t input, int64_t batch, int64_t head, int64_t row, int64_t column) {
        const auto view = inputs[input].view();
        return view.loadDouble(((batch * view.dims[1] + head) * view.dims[2] + row) * s.width + column);
      };
      for (int64_t i = 0; i < 2 * s.heads * s.queries * s.width; ++i) {
        const int64_t e = i % s.width, row = i / s.width % s.queries, head = i / s.width / s.queries % s.heads;
        const int64_t batch = i / s.width / s.queries / s.heads, shared = head / (s.heads / s.keyHeads);
        double sum = 0, weights = 0;
        for (int64_t t = 0; t <= row && t < s.keys; ++t) {
          double score = 0;
          for (int64_t d = 0; d < s.width; ++d) score += at(0, batch, head, row, d) * at(1, batch, shared, t, d);
          const double weight = std::exp(score * 0.5 + (masked ? inputs[3].view().loadDouble(t) : 0));
          sum += weight * at(2, batch, shared, t, e);
          weights += weight;
        }
        ASSERT_NEAR(found[0].view().loadDouble(i), sum / weights, 1e-5) << "element " << i << " of " << s.queries;
      }
      test::expectMatchesReference(graph, inputs, {});
    }
  }
}

}  // namespace
}  // namespace tenon::passes
