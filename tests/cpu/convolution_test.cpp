// Convolutions by each kernel that can do them, against the reference.
#include <cstring>

#include "core/platform/threads.h"
#include "cpu/vendor_kernels.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

struct Case {
  int64_t batch, channels, height, width, outChannels, groups;
  int64_t size[2], stride[2], dilation[2], before[2], after[2];
  bool bias;
  std::string epilogue;
  std::vector<std::string> extras;  // shapes
};

std::string join(const int64_t (&values)[2]) { return fmt::format("[{},{}]", values[0], values[1]); }

std::string graphText(const Case& c) {
  int64_t out[2];
  const int64_t in[2] = {c.height, c.width};
  for (int i = 0; i < 2; ++i)
    out[i] = (in[i] + c.before[i] + c.after[i] - (c.dilation[i] * (c.size[i] - 1) + 1)) / c.stride[i] + 1;
  const auto y = fmt::format("{},{},{},{}", c.batch, c.outChannels, out[0], out[1]);
  std::string text =
      fmt::format("graph \"g\" {{\n  input %x : f32[{},{},{},{}]\n  const %w : f32[{},{},{},{}] = random(1)\n", c.batch,
                  c.channels, c.height, c.width, c.outChannels, c.channels / c.groups, c.size[0], c.size[1]);
  std::string operands = "%x, %w";
  if (c.bias) {
    text += fmt::format("  const %b : f32[{}] = random(2)\n", c.outChannels);
    operands += ", %b";
  }
  for (size_t i = 0; i < c.extras.size(); ++i) {
    const auto shape = c.extras[i] == "y" ? y : c.extras[i];
    text += fmt::format("  input %e{} : f32[{}]\n", i, shape);
    operands += fmt::format(", %e{}", i);
  }
  text += fmt::format(
      "  %y : f32[{}] = convolution{{strides={} dilations={} prePadding={} postPadding={} groups={} hasBias={}{}}}({}) \"conv\"\n  output %y\n}}",
      y, join(c.stride), join(c.dilation), join(c.before), join(c.after), c.groups, c.bias,
      c.epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", c.epilogue), operands);
  return text;
}

// Runs the case once with each tactic that offers itself; the number of those that did.
int runEach(const std::string& text) {
  int count = 0;
  for (const std::string tactic : {"cpu.convolution", "cpu.winograd", "cpu.depthwise", "cpu.row_convolution",
                                   "cpu.planar_convolution", "cpu.dnnl_convolution"}) {
    std::vector<std::string> formats;
    const auto collect = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.name != "conv") return candidates;
      for (const auto& candidate : candidates) {
        if (candidate.tactic == tactic) formats.push_back(candidate.text());
      }
      return candidates;
    };
    compile::BuildOptions options;
    RecordingLog log;
    options.device = "cpu";
    options.optimizationLevel = 0;
    options.log = &log;
    options.filter = collect;
    compile::build(graph::parse(text), options);
    const std::set<std::string> distinct(formats.begin(), formats.end());
    for (const auto& wanted : distinct) {
      SCOPED_TRACE(wanted);
      options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.name == "conv")
          std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != wanted; });
        return candidates;
      };
      try {
        expectMatchesReference(text, {}, options);
        ++count;
      } catch (const Unsupported&) {  // oneDNN may have nothing for a format
      }
    }
  }
  return count;
}

int runEach(const Case& c) { return runEach(graphText(c)); }

constexpr int64_t kOne[2] = {1, 1};

Case square(int64_t channels, int64_t extent, int64_t outChannels, int64_t size, int64_t stride, int64_t padding) {
  return {1,
          channels,
          extent,
          extent,
          outChannels,
          1,
          {size, size},
          {stride, stride},
          {1, 1},
          {padding, padding},
          {padding, padding},
          true,
          "",
          {}};
}

TEST(Convolution, Sizes) {
  EXPECT_GE(runEach(square(16, 12, 32, 3, 1, 1)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(16, 12, 32, 1, 1, 0)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(17, 13, 19, 3, 2, 1)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(3, 23, 24, 3, 2, 1)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(1, 14, 8, 5, 1, 2)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(5, 7, 4, 7, 1, 3)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(64, 1, 40, 1, 1, 0)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(33, 5, 67, 5, 3, 2)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(3, 9, 16, 3, 1, 0)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(24, 30, 32, 3, 1, 1)), 1 + kOfOneDnn);
  EXPECT_GE(runEach(square(40, 9, 48, 3, 1, 0)), 1 + kOfOneDnn);
}

// Lines as images of one column, whose pixels kernels walk along, and windows of one line.
TEST(Convolution, Lines) {
  const auto line = [](int64_t batch, int64_t channels, int64_t length, int64_t outChannels, int64_t groups,
                       int64_t size, int64_t stride, int64_t dilation, int64_t before, int64_t after,
                       const std::string& epilogue = "", std::vector<std::string> extras = {}) {
    return Case{batch,       channels,      length,      1,          outChannels, groups,   {size, 1},
                {stride, 1}, {dilation, 1}, {before, 0}, {after, 0}, true,        epilogue, std::move(extras)};
  };
  const auto lying = [](Case c) {
    std::swap(c.height, c.width);
    for (auto* numbers : {&c.size, &c.stride, &c.dilation, &c.before, &c.after})
      std::swap((*numbers)[0], (*numbers)[1]);
    return c;
  };
  for (const auto& c : {
           line(1, 24, 37, 24, 24, 3, 1, 1, 1, 1, "relu(x0)"),
           line(2, 33, 100, 33, 33, 3, 2, 1, 1, 0),
           line(1, 17, 41, 17, 17, 5, 1, 1, 2, 2),
           line(1, 16, 300, 16, 16, 5, 2, 1, 4, 0, "clip(x0,0,6)"),
           line(1, 40, 29, 40, 40, 3, 1, 4, 8, 0, "max(x0,0.25)"),
           line(1, 8, 2, 8, 8, 3, 1, 1, 1, 1),
           line(1, 32, 64, 32, 32, 15, 1, 1, 7, 7),
           line(1, 20, 50, 31, 1, 3, 1, 2, 2, 2, "add(x0,x1)", {"y"}),
           line(2, 5, 61, 24, 1, 8, 4, 1, 2, 2),
           line(1, 40, 1, 12, 1, 1, 1, 1, 0, 0),
           line(1, 1, 90, 16, 1, 10, 5, 1, 0, 0),
           line(2, 24, 33, 48, 2, 3, 3, 1, 1, 1),
           line(1, 64, 45, 72, 1, 1, 2, 1, 0, 0),
       }) {
    EXPECT_GE(runEach(c), 1);
    EXPECT_GE(runEach(lying(c)), 1);
  }
}

// Images of few pixels and many weights, whose tiles are of as many pixels each: the same bits on one thread and on
// several, however the work is cut.
TEST(Convolution, FewPixelsAndManyWeights) {
  for (const int64_t extent : {1, 2, 3, 5, 7}) {
    for (const int64_t size : {1, 3}) {
      auto c = square(160, extent, 456, size, 1, size / 2);
      c.epilogue = "relu(x0)";
      const auto graph = graph::parse(graphText(c));
      compile::BuildOptions options;
      RecordingLog log;
      options.device = "cpu";
      options.optimizationLevel = 0;
      options.log = &log;
      options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.name != "conv") return candidates;
        std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cpu.convolution"; });
        return candidates;
      };
      std::vector<HostTensor> inputs;
      inputs.push_back(randomTensor(DataType::kF32, {1, 160, extent, extent}, 7));
      expectMatchesReference(graph, inputs, options);
      const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
      const auto together = run(engine, inputs, log);
      const platform::RunningThread one, two, three;
      const auto alone = run(engine, inputs, log);
      EXPECT_EQ(std::memcmp(alone[0].view().data, together[0].view().data, alone[0].view().bytes()), 0);
    }
  }
}

// Half a vector of columns behind whole ones, of vectors of 8 and 16: rows share it in pairs, an odd last row has its
// own.
TEST(Convolution, HalvesOfVectors) {
  for (const int64_t columns : {9, 11, 12, 17, 20, 23, 24, 25, 33, 40, 44, 56, 72, 88}) {
    for (const int64_t extent : {1, 3, 4, 9}) {
      SCOPED_TRACE(fmt::format("{} columns, extent {}", columns, extent));
      Case c = square(7, extent, columns, 1, 1, 0);
      EXPECT_GE(runEach(c), 1 + kOfOneDnn);
      c = square(24, extent, columns, 3, 1, 1);
      c.epilogue = "leaky_relu(x0,x1);add(t0,x2);clip(t1,-1.5,1.5)";
      c.extras = {fmt::format("1,{},1,1", columns), "y"};
      EXPECT_GE(runEach(c), 1 + kOfOneDnn);
      c.epilogue = "add(x0,x1);relu(t0)";
      c.extras = {"y"};
      EXPECT_GE(runEach(c), 1 + kOfOneDnn);
    }
  }
}

TEST(Convolution, UnevenWindows) {
  Case c = square(6, 11, 20, 3, 1, 1);
  c.batch = 2;
  c.width = 8;
  c.size[0] = 5;
  c.stride[1] = 2;
  c.before[0] = 3;
  c.after[0] = 0;
  c.after[1] = 2;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  c.dilation[0] = 2;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  c.dilation[1] = 3;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  c = square(32, 10, 32, 3, 1, 1);
  c.batch = 3;
  c.before[0] = 2;
  c.after[1] = 0;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
}

// Results of either sign before an epilogue that hides it.
TEST(Convolution, PowersInTheEpilogue) {
  Case c = square(5, 6, 5, 2, 1, 1);
  c.width = 4;
  c.stride[0] = 2;
  c.bias = false;
  c.epilogue = "abs(x0);add(t0,0.5);pow(t1,1.5)";
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
}

// Windows that lie in the padding; the result may take the memory of what the epilogue adds.
TEST(Convolution, WindowsInThePadding) {
  for (const int channels : {1, 3, 16}) {
    for (const int extent : {1, 3}) {
      for (const bool computed : {false, true}) {
        const auto y = fmt::format("f32[2,{},{},{}]", channels, 7 + 5 - (extent - 1), 4 + 6 - (extent - 1));
        const auto added =
            computed ? fmt::format("input %q : {0}\n%r : {0} = pointwise{{expr=\"neg(x0)\"}}(%q) \"neg\"\n", y)
                     : fmt::format("input %r : {}\n", y);
        EXPECT_GE(
            runEach(fmt::format(
                "graph \"g\" {{\ninput %x : f32[2,{0},7,4]\nconst %w : f32[{0},{0},{1},{1}] = random(1)\n{2}"
                "%y : {3} = convolution{{prePadding=[2,3] postPadding=[3,3] epilogue=\"add(x1,x0)\"}}(%x, %w, %r) "
                "\"conv\"\noutput %y\n}}",
                channels, extent, added, y)),
            1 + kOfOneDnn);
      }
    }
  }
}

// Results of one channel, with a whole tensor in the epilogue: one pixel, a few, an image.
TEST(Convolution, OneChannelWithWholeOperands) {
  for (const int64_t extent : {1, 2, 3, 14}) {
    for (const char* epilogue : {"max(x1,x0)", "add(x0,x1)", "mul(x0,x1);relu(t0)"}) {
      Case c = square(1, extent, 1, 2, 1, 1);
      c.batch = 2;
      c.stride[0] = 2;
      c.epilogue = epilogue;
      c.extras = {"y"};
      EXPECT_GE(runEach(c), 1 + kOfOneDnn);
    }
  }
}

TEST(Convolution, Groups) {
  Case c = square(24, 10, 36, 3, 1, 1);
  c.groups = 4;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  c.groups = 3;
  c.bias = false;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  c = square(16, 10, 16, 1, 1, 0);
  c.groups = 2;
  EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  // Many tiles of few channels: parts of a block, and last panels of every width.
  for (const int64_t columns : {5, 7, 17, 34}) {
    c = square(4 * 9, 23, 4 * columns, 1, 1, 0);
    c.groups = 4;
    c.epilogue = "leaky_relu(x0,x1)";
    c.extras = {fmt::format("1,{},1,1", 4 * columns)};
    EXPECT_GE(runEach(c), 1 + kOfOneDnn);
  }
}

TEST(Convolution, Depthwise) {
  for (const int64_t channels : {8, 24, 33, 3}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t size : {3, 5}) {
        Case c = square(channels, 11, channels, size, stride, size / 2);
        c.groups = channels;
        c.batch = 2;
        EXPECT_GE(runEach(c), 1);
        c.epilogue = "clip(x0,0,6)";
        c.dilation[0] = 2;
        EXPECT_GE(runEach(c), 1);
        c.epilogue = "sigmoid(x0);mul(x0,t0);add(t1,x1)";
        c.extras = {fmt::format("1,{},1,1", channels)};
        EXPECT_GE(runEach(c), 1);
        c.epilogue = "leaky_relu(x0,x1)";
        EXPECT_GE(runEach(c), 1);
      }
    }
  }
}

TEST(Convolution, Epilogues) {
  const auto with = [](std::string epilogue, std::vector<std::string> extras) {
    Case c = square(18, 9, 35, 3, 1, 1);
    c.epilogue = std::move(epilogue);
    c.extras = std::move(extras);
    return runEach(c);
  };
  EXPECT_GE(with("relu(x0)", {}), 2);
  EXPECT_GE(with("clip(x0,-0.5,0.25)", {}), 2);
  EXPECT_GE(with("add(x0,x1)", {"y"}), 2);
  EXPECT_GE(with("add(x1,x0);relu(t0)", {"y"}), 2);
  EXPECT_GE(with("add(x0,x1);relu(t0)", {"1,35,1,1"}), 2);
  EXPECT_GE(with("leaky_relu(x0,0.1);add(t0,x1)", {"y"}), 2);
  EXPECT_GE(with("leaky_relu(x0,x1)", {"1,35,1,1"}), 2);
  EXPECT_GE(with("leaky_relu(x0,x1)", {"1"}), 2);
  EXPECT_GE(with("leaky_relu(x0,-0.25)", {}), 2);
  EXPECT_GE(with("add(x0,x1);leaky_relu(t0,x2)", {"y", "1,35,1,1"}), 2);
  EXPECT_GE(with("leaky_relu(x0,0.2);max(t0,-0.1)", {}), 2);
  EXPECT_GE(with("add(x0,x1);leaky_relu(t0,x2);max(-0.1,t1);min(t2,0.3)", {"y", "1,35,1,1"}), 2);
  EXPECT_GE(with("max(x0,0.2);min(t0,0.1)", {}), 2);
  EXPECT_GE(with("min(x0,0.1);max(t0,0.2);relu(t1)", {}), 2);
  EXPECT_GE(with("sigmoid(x0);mul(x0,t0);mul(t1,t0)", {}), 2);
  EXPECT_GE(with("add(x0,x1);sigmoid(t0);mul(t1,t0);relu(t2)", {"y"}), 2);
  EXPECT_GE(with("sigmoid(x0);mul(x0,t0);mul(t1,x1);max(t2,x2)", {"y", "1"}), 2);
  EXPECT_GE(with("hard_sigmoid(x0,0.2,0.5);mul(x0,t0)", {}), 2);
  EXPECT_GE(with("hard_sigmoid(x0,0.1666666716337204,0.5);mul(x0,t0)", {}), 2);
}

// Swish behind a convolution, in tiles of every width, and behind slices of oneDNN's: bands of rows, images, the whole.
TEST(Convolution, Gates) {
  const std::string swish = "sigmoid(x0);mul(x0,t0)";
  for (const int64_t channels : {1, 13, 16, 35, 64}) {
    const int least = channels == 1 ? 1 : 2;  // one channel may be left to the tiles
    for (const int64_t size : {1, 3}) {
      for (const int64_t batch : {1, 3}) {
        Case c = square(channels == 64 ? 64 : 5, 17, channels, size, 1, size / 2);
        c.batch = batch;
        for (const auto* rest : {"", ";relu(t1)", ";mul(t1,0.5)"}) {
          c.extras.clear();
          c.epilogue = swish + rest;
          EXPECT_GE(runEach(c), least);
        }
        for (const auto* rest : {";add(t1,x1)", ";add(x1,t1);clip(t2,-0.1,0.6)"}) {
          c.extras = {"y"};
          c.epilogue = swish + rest;
          EXPECT_GE(runEach(c), least);
          c.epilogue = std::string("hard_sigmoid(x0,0.2,0.5);mul(t0,x0)") + rest;
          EXPECT_GE(runEach(c), least);
        }
      }
    }
  }
}

// Strides and dilations that nothing takes are of any size; those that a library cannot take are left to other kernels.
TEST(Convolutions, HugeStepsCrashNoLibrary) {
  constexpr int64_t kHuge = 2147483647;
  EXPECT_GE(runEach(Case{1, 3, 8, 9, 4, 1, {3, 3}, {kHuge, kHuge}, {1, 2}, {1, 2}, {1, 0}, false, "", {}}), 1);
  EXPECT_GE(runEach(Case{1, 4, 8, 9, 4, 4, {3, 3}, {kHuge, 1}, {1, 1}, {5, 1}, {3, 1}, true, "", {}}), 1);
  EXPECT_GE(runEach(Case{1, 3, 8, 9, 4, 1, {1, 1}, {1, 1}, {kHuge, kHuge}, {0, 0}, {0, 0}, false, "", {}}), 1);
  const std::string text = R"(graph "g" {
  input %x1 : f32[4,1,8]
  const %w : f32[1,1,5] = random(1)
  %y : f32[4,1,1] = convolution{strides=[2147483647] dilations=[3] prePadding=[5] postPadding=[3]}(%x1, %w) "conv"
  output %y
})";
  EXPECT_GE(runEach(text), kOfOneDnn);
}

}  // namespace
}  // namespace tenon::test
