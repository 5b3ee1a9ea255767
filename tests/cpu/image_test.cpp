// Pooling and deconvolution by each kernel that can do them, against the reference.
#include <set>

#include "cpu/vendor_kernels.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Runs the graph's node of the given operator once with each of the tactics that offers itself; how many did.
int runEach(const std::string& text, const std::string& op, const std::vector<std::string>& tactics) {
  int count = 0;
  for (const auto& tactic : tactics) {
    bool offered = false;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.name() != op) return candidates;
      auto kept = candidates;
      std::erase_if(kept, [&](const auto& candidate) { return candidate.tactic != tactic; });
      offered = !kept.empty();
      return kept.empty() ? candidates : kept;
    };
    SCOPED_TRACE(tactic + "\n" + text);
    expectMatchesReference(text, {}, options);
    count += offered ? 1 : 0;
  }
  return count;
}

std::string pooling(int64_t channels, int64_t height, int64_t width, int64_t outHeight, int64_t outWidth,
                    const std::string& fields) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},{1},{2}]
  %y : f32[2,{0},{3},{4}] = pooling{{{5}}}(%x) "pool"
  output %y
}})g",
                     channels, height, width, outHeight, outWidth, fields);
}

TEST(Pooling, EachKernel) {
  const std::vector<std::string> tactics{"cpu.pooling", "cpu.dnnl_pooling"};
  for (const int64_t channels : {1, 7, 8, 16, 17, 40}) {
    EXPECT_EQ(runEach(pooling(channels, 8, 10, 4, 5, "type=max window=[2,2] strides=[2,2]"), "pooling", tactics),
              1 + kOfOneDnn);
    EXPECT_EQ(runEach(pooling(channels, 9, 7, 9, 7, "type=max window=[3,3] prePadding=[1,1] postPadding=[1,1]"),
                      "pooling", tactics),
              1 + kOfOneDnn);
    EXPECT_EQ(runEach(pooling(channels, 9, 7, 9, 7, "type=average window=[3,3] prePadding=[1,1] postPadding=[1,1]"),
                      "pooling", tactics),
              1 + kOfOneDnn);
    EXPECT_EQ(
        runEach(pooling(channels, 9, 7, 5, 4,
                        "type=average window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1] exclusive=false"),
                "pooling", tactics),
        1 + kOfOneDnn);
  }
  EXPECT_EQ(
      runEach(pooling(12, 8, 8, 4, 4, "type=max window=[3,3] strides=[2,2] ceilMode=true"), "pooling", {"cpu.pooling"}),
      1);
  EXPECT_EQ(runEach(pooling(5, 5, 11, 1, 2, "type=average window=[5,10]"), "pooling", tactics), 1 + kOfOneDnn);
}

// Last windows that would begin behind the input are left out; those that end there are clipped.
TEST(Pooling, WindowsBehindTheInput) {
  const std::string tactic = "cpu.dnnl_pooling";
  EXPECT_EQ(runEach(pooling(3, 4, 20, 2, 10, "type=average window=[2,2] strides=[2,2] postPadding=[0,1] ceilMode=true"),
                    "pooling", {tactic}),
            kOfOneDnn);
  EXPECT_EQ(
      runEach(pooling(3, 4, 4, 4, 2, "type=average window=[1,1] strides=[1,2] ceilMode=true"), "pooling", {tactic}),
      kOfOneDnn);
  EXPECT_EQ(runEach(pooling(3, 4, 4, 4, 2, "type=max window=[1,1] strides=[1,3] ceilMode=true"), "pooling", {tactic}),
            kOfOneDnn);
  EXPECT_EQ(
      runEach(pooling(3, 4, 7, 2, 4, "type=average window=[2,2] strides=[2,2] ceilMode=true"), "pooling", {tactic}),
      kOfOneDnn);
}

// Windows that lie in padding alone, or have no channels: a kernel that takes them gives what the reference gives.
// A stride along an axis of which at most one element lies inside is never taken.
TEST(Slices, StridesThatNothingTakes) {
  for (const std::string stride : {"4611686018427387908", "-4611686018427387908", "1000000007"}) {
    for (const std::string start : {"1", "-1", "9"}) {
      SCOPED_TRACE(start + " by " + stride);
      expectMatchesReference("graph \"g\" {\ninput %x : f32[5,7]\n%y : f32[2,7] = slice{start=[" + start +
                                 ",0] size=[2,7] stride=[" + stride + ",1] mode=fill}(%x) \"n\"\noutput %y\n}",
                             {}, {});
    }
  }
}

// Padding of any axes where channels are innermost, and in their own order: what is outside is filled, the rest copied.
TEST(Slices, FillInEveryLayout) {
  struct Case {
    const char *x, *start, *size, *stride;
  };
  for (const auto& [x, start, size, stride] :
       {Case{"2,24,5,7", "0,0,0,0", "2,28,5,7", "1,1,1,1"}, Case{"2,24,5,7", "0,-3,0,0", "2,31,5,7", "1,1,1,1"},
        Case{"2,17,5,7", "0,0,-1,-2", "2,17,8,10", "1,1,1,1"}, Case{"2,9,5,7", "-1,-2,-1,1", "4,14,7,9", "1,1,1,1"},
        Case{"1,6,5,7", "0,7,4,6", "1,8,5,4", "1,-2,-1,-3"}, Case{"1,3,1,1", "0,5,0,0", "1,4,2,2", "1,1,1,1"},
        Case{"1,5,2,3,4", "0,-1,0,-1,2", "1,7,2,5,4", "1,1,1,1,1"}, Case{"2,5,6", "0,1,-1", "2,6,9", "1,1,1"},
        Case{"3,4", "-1,2", "5,6", "1,1"}}) {
    for (const std::string type : {"f32", "u8", "i64"}) {
      const auto text = fmt::format(
          "graph \"g\" {{\ninput %x : {0}[{1}]\n%y : {0}[{3}] = slice{{start=[{2}] size=[{3}] stride=[{4}] "
          "mode=fill}}(%x) \"n\"\noutput %y\n}}",
          type, x, start, size, stride);
      std::set<std::string> formats;
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      for (std::string wanted; formats.insert(wanted).second;) {
        options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
          if (node.op.name() != "slice") return candidates;
          auto kept = candidates;
          std::erase_if(kept,
                        [&](const auto& one) { return one.tactic != "cpu.movement" || formats.contains(one.text()); });
          if (kept.empty()) return candidates;
          wanted = kept[0].text();
          kept.resize(1);
          return kept;
        };
        SCOPED_TRACE(text);
        expectMatchesReference(text, {}, options);
      }
      const bool isImage = std::count(x, x + std::strlen(x), ',') > 2;
      EXPECT_GE(formats.size(), isImage ? 3U : 2U) << text;  // the empty one, row-major, channels last
    }
  }
}

TEST(Images, WithoutElements) {
  const std::vector<std::string> graphs{
      "input %x : f32[1,3,0,5]\n const %w : f32[8,3,3,3] = random(1)\n const %b : f32[8] = random(2)\n"
      "%y : f32[1,8,2,5] = convolution{prePadding=[2,1] postPadding=[2,1] hasBias=true}(%x, %w, %b) \"n\"\noutput %y",
      "input %x : f32[1,0,4,4]\n const %w : f32[8,0,3,3] = random(1)\n const %b : f32[8] = random(2)\n"
      "%y : f32[1,8,2,2] = convolution{hasBias=true}(%x, %w, %b) \"n\"\noutput %y",
      "input %x : f32[1,4,5,0]\n const %w : f32[4,1,3,3] = random(1)\n"
      "%y : f32[1,4,3,2] = convolution{groups=4 prePadding=[0,2] postPadding=[0,2]}(%x, %w) \"n\"\noutput %y",
      "input %x : f32[1,0,4,4]\n const %w : f32[0,8,2,2] = random(1)\n"
      "%y : f32[1,8,8,8] = deconvolution{strides=[2,2]}(%x, %w) \"n\"\noutput %y",
      "input %x : f32[1,5,9,0]\n"
      "%y : f32[1,5,3,1] = pooling{type=average window=[4,3] strides=[3,5] prePadding=[1,1] postPadding=[0,2]}(%x) \"n\"\noutput %y",
      "input %x : f32[1,5,9,0]\n"
      "%y : f32[1,5,3,1] = pooling{window=[4,3] strides=[3,5] prePadding=[1,1] postPadding=[0,2]}(%x) \"n\"\noutput %y"};
  std::set<std::string> tactics;
  for (const auto& source : compile::tacticSources()) {
    for (const auto* tactic : source.tactics) tactics.insert(std::string(tactic->name()));
  }
  for (const auto& graph : graphs) {
    const auto text = "graph \"g\" {\n" + graph + "\n}";
    for (const int level : {0, 3}) {
      compile::BuildOptions options;
      options.optimizationLevel = level;
      expectMatchesReference(text, {}, options);
    }
    for (const auto& tactic : tactics) {
      compile::BuildOptions options;
      options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.name == "n")
          std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
        return candidates;
      };
      SCOPED_TRACE(tactic + "\n" + text);
      try {
        expectMatchesReference(text, {}, options);
      } catch (const Unsupported&) {
        // It does not take them.
      }
    }
  }
}

TEST(Deconvolution, PaddingThatAddsAtTheEnd) {
  const auto graph = [](const char* fields, int64_t width) {
    return fmt::format(R"g(graph "g" {{
  input %x : f32[1,3,4,7]
  const %w : f32[3,2,1,3] = random(1)
  %y : f32[1,2,4,{}] = deconvolution{{{}}}(%x, %w) "up"
  output %y
}})g",
                       width, fields);
  };
  const std::string tactic = "cpu.dnnl_deconvolution";
  EXPECT_EQ(runEach(graph("strides=[1,1] postPadding=[0,-1]", 10), "deconvolution", {tactic}), 0);
  EXPECT_EQ(runEach(graph("strides=[1,2] postPadding=[0,-1]", 16), "deconvolution", {tactic}), kOfOneDnn);
}

TEST(Convolution, PaddingThatCropsAtTheEnd) {
  const std::string graph = R"g(graph "g" {
  input %x : f32[2,5,5,7]
  const %w : f32[1,5,3,3] = random(1)
  %y : f32[2,1,2,1] = convolution{strides=[2,2] dilations=[2,2] prePadding=[2,0] postPadding=[0,-1]}(%x, %w) "c"
  output %y
})g";
  EXPECT_EQ(runEach(graph, "convolution", {"cpu.dnnl_convolution"}), 0);
}

// Tiles of channels-last images cannot read a constant of the size of the result, which is row-major; oneDNN reads it.
TEST(Convolution, ConstantsOfTheSizeOfTheResult) {
  const std::string graph = R"g(graph "g" {
  input %x : f32[1,4,7,6]
  const %w : f32[4,4,2,2] = random(1)
  const %e : f32[1,4,6,5] = random(2)
  %y : f32[1,4,6,5] = convolution{epilogue="add(x0,x1)"}(%x, %w, %e) "c"
  output %y
})g";
  EXPECT_EQ(runEach(graph, "convolution", {"cpu.convolution", "cpu.winograd"}), 0);
  EXPECT_EQ(runEach(graph, "convolution", {"cpu.dnnl_convolution"}), kOfOneDnn);
}

TEST(Convolution, VolumesOfOneChannelWithAnOperandPerChannel) {
  const std::string graph = R"g(graph "g" {
  input %x : f32[2,1,3,3,3]
  const %w : f32[3,1,2,2,1] = random(1)
  const %b : f32[3] = random(2)
  const %e : f32[3,1,1,1] = random(3)
  const %f : f32[] = {0.5}
  %y : f32[2,3,2,1,7] = convolution{strides=[2,3,1] dilations=[2,1,2] prePadding=[1,0,2] postPadding=[1,0,2] hasBias=true epilogue="mul(x0,x1);add(t0,x2)"}(%x, %w, %b, %e, %f) "c"
  output %y
})g";
  EXPECT_EQ(runEach(graph, "convolution", {"cpu.dnnl_convolution"}), kOfOneDnn);
}

TEST(Convolution, ImagesWithoutElements) {
  const std::string graph = R"g(graph "g" {
  input %x : f32[2,0,2,7]
  const %w : f32[3,0,1,1] = {}
  const %b : f32[3] = {1,2,3}
  %y : f32[2,3,2,7] = convolution{hasBias=true}(%x, %w, %b) "c"
  output %y
})g";
  EXPECT_EQ(runEach(graph, "convolution", {"cpu.dnnl_convolution"}), 0);
}

std::string deconvolution(int64_t channels, int64_t outChannels, int64_t down, int64_t across,
                          const std::string& epilogue, const std::string& extra) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},5,9]
  const %w : f32[{0},{1},{2},{3}] = random(1)
  const %b : f32[{1}] = random(2)
  const %e : f32[{7}] = random(3)
  %y : f32[2,{1},{4},{5}] = deconvolution{{strides=[{2},{3}] hasBias=true{6}}}(%x, %w, %b{8}) "up"
  output %y
}})g",
                     channels, outChannels, down, across, 5 * down, 9 * across,
                     epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", epilogue), extra.empty() ? "1" : extra,
                     extra.empty() ? "" : ", %e");
}

// Deconvolutions of stride 1 stay such.
struct WithoutTurning {
  WithoutTurning() { setenv("TENON_DISABLE", "turn_deconvolutions", 1); }
  ~WithoutTurning() { unsetenv("TENON_DISABLE"); }
};

// Windows that overlap or leave gaps, along 1 to 3 axes, in groups, cropped and padded.
TEST(Deconvolution, ByChannels) {
  const WithoutTurning scope;
  struct Case {
    std::string x, w, y, fields;
  };
  for (const auto& [x, w, y, fields] :
       {Case{"1,6,50", "6,3,16", "1,3,400", "strides=[8] prePadding=[4] postPadding=[4]"},
        Case{"1,6,50,1", "6,3,16,1", "1,3,400,1", "strides=[8,1] prePadding=[4,0] postPadding=[4,0]"},
        Case{"2,5,7,9", "5,4,3,3", "2,4,7,9", "prePadding=[1,1] postPadding=[1,1]"},
        Case{"2,5,7,9", "5,4,4,3", "2,4,13,18", "strides=[2,2] prePadding=[1,1] postPadding=[2,0]"},
        Case{"1,6,5,11", "6,2,3,2", "1,6,13,24",
             "strides=[3,2] dilations=[2,3] groups=3 prePadding=[2,0] postPadding=[2,0]"},
        Case{"1,4,3,8", "4,1,5,5", "1,4,5,10", "groups=4 prePadding=[1,1] postPadding=[1,1]"},
        Case{"2,18,9,70", "18,1,3,3", "2,2,9,70", "groups=2 prePadding=[1,1] postPadding=[1,1]"},
        Case{"1,3,4,5,6", "3,4,2,3,2", "1,4,8,11,12", "strides=[2,2,2]"},
        Case{"1,3,200,33", "3,2,3,3", "1,2,202,35", ""},
        Case{"1,2,4,4", "2,3,2,2", "1,3,7,8", "strides=[2,2] prePadding=[-1,1] postPadding=[2,-1]"},
        Case{"1,1,1,1", "1,1,1,1", "1,1,1,1", ""}}) {
    const std::string text = fmt::format(R"g(graph "g" {{
  input %x : f32[{}]
  const %w : f32[{}] = random(1)
  %y : f32[{}] = deconvolution{{{}}}(%x, %w) "up"
  output %y
}})g",
                                         x, w, y, fields);
    EXPECT_EQ(runEach(text, "deconvolution", {"cpu.column_deconvolution"}), 1) << text;
  }
  for (const auto& [epilogue, extra] : {std::pair<std::string, std::string>{"", ""},
                                        {"sigmoid(x0)", ""},
                                        {"mul(x0,x1);tanh(t0)", "1,9,1,1"},
                                        {"add(x0,x1);relu(t0)", "2,9,10,18"}}) {
    EXPECT_EQ(runEach(deconvolution(7, 9, 2, 2, epilogue, extra), "deconvolution", {"cpu.column_deconvolution"}), 1);
  }
}

// Blocks that become an image again: each channel is what stands at one place of the window, in order or not.
TEST(Deconvolution, ChannelsThatAreElements) {
  constexpr const char* kInOrder = "1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1";
  constexpr const char* kMixed = "0,1,0,0, 1,0,0,0, 0,0,1,0, 0,0,0,1";
  for (const char* second : {kInOrder, kMixed}) {
    for (const auto& [y, fields] : {std::pair<std::string, std::string>{"6,72", ""},
                                    {"10,142", "strides=[2,2]"},
                                    {"9,72", "strides=[2,1] prePadding=[1,0]"},
                                    {"4,70", "prePadding=[1,1] postPadding=[1,1]"},
                                    {"5,47", "dilations=[2,24] prePadding=[1,24] postPadding=[1,24]"},
                                    {"3,2", "dilations=[1,70] prePadding=[1,70] postPadding=[2,69]"},
                                    {"13,71", "strides=[3,1] dilations=[1,3] prePadding=[1,1] postPadding=[0,2]"}}) {
      const std::string text = fmt::format(R"g(graph "g" {{
  input %x : f32[2,8,5,71]
  const %w : f32[8,1,2,2] = {{{}, {}}}
  %y : f32[2,2,{}] = deconvolution{{groups=2 {}}}(%x, %w) "up"
  output %y
}})g",
                                           kInOrder, second, y, fields);
      EXPECT_EQ(runEach(text, "deconvolution", {"cpu.column_deconvolution"}), 1) << text;
    }
  }
}

TEST(Deconvolution, WithoutOverlap) {
  const std::vector<std::string> tactics{"cpu.upsample", "cpu.dnnl_deconvolution"};
  EXPECT_EQ(runEach(deconvolution(24, 24, 2, 2, "", ""), "deconvolution", tactics), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(24, 1, 2, 2, "sigmoid(x0)", ""), "deconvolution", tactics), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(3, 37, 3, 1, "relu(x0)", ""), "deconvolution", tactics), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(24, 1, 2, 2, "mul(x0,x1);tanh(t0)", "1,1,1,1"), "deconvolution", tactics),
            1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(7, 3, 3, 2, "sigmoid(x0);clip(t0,0.3,0.7)", ""), "deconvolution", tactics),
            1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(7, 3, 3, 2, "mul(x0,x1);sigmoid(t0)", "1,3,1,1"), "deconvolution", tactics),
            1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(7, 3, 2, 5, "leaky_relu(x0,x1)", "3,1,1"), "deconvolution", tactics), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(deconvolution(5, 9, 1, 4, "mul(x0,x1);elu(t0,0.5)", "1,9,1,1"), "deconvolution", tactics),
            1 + kOfOneDnn);
}

}  // namespace
}  // namespace tenon::test
