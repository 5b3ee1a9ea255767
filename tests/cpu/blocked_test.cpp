// Blocks of channels as a format: every kernel that offers it against the reference, whole chains without reformats,
// and the build's decision to ask for it.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "compile/assignment.h"
#include "compile/profiles.h"
#include "compile/tune/self_check.h"
#include "core/storage.h"
#include "cpu/vendor_kernels.h"
#include "ops/op/reformat.h"
#include "plan/file.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

using backends::cpu::blockedFormat;

using compile::hasBlocks;

// Checks the candidates of a problem that have blocks; how many there are.
int checkProblem(const compile::Problem& problem) {
  int count = 0;
  RecordingLog log;
  for (const auto& source : compile::tacticSources()) {
    if (source.backend != "cpu") continue;
    for (const auto* tactic : source.tactics) {
      if (!tactic->supports(problem)) continue;
      for (const auto& candidate : tactic->candidates(problem)) {
        if (!hasBlocks(candidate)) continue;
        ++count;
        SCOPED_TRACE(candidate.text() + " " + problem.text());
        const auto record = tactic->build(problem, candidate);
        EXPECT_EQ(compile::selfCheck(runtime::backend("cpu").device(), problem, candidate, record, {}, log), "");
      }
    }
  }
  return count;
}

// The same for the node "n" of a graph.
int check(const std::string& body) {
  const auto graph = graph::parse("graph \"g\" {\n" + body + "\n}");
  int count = 0;
  for (const auto id : graph.order()) {
    if (graph.node(id).name == "n") count += checkProblem(compile::makeProblem(graph, graph.node(id), {}));
  }
  return count;
}

class Blocked : public testing::Test {
 protected:
  void SetUp() override {
    if (!blockedFormat()) GTEST_SKIP() << "this machine has no vectors of 8 values";
    block = channelBlock(*blockedFormat());
  }
  int64_t block = 8;
};

TEST_F(Blocked, Reformats) {
  for (const Dims& dims : {Dims{1, 16, 1, 1}, Dims{1, 16, 7, 5}, Dims{3, 48, 13, 17}, Dims{2, 32, 1, 31},
                           Dims{1, 112, 40, 3}, Dims{0, 16, 3, 3}, Dims{1, 16, 0, 3}}) {
    for (const Layout plain : {Layout::kLinear, Layout::kChannelsLast}) {
      for (const auto type : {DataType::kF32, DataType::kF16, DataType::kI8, DataType::kI64}) {
        for (const auto& op : {ops::Reformat{plain, *blockedFormat()}, ops::Reformat{*blockedFormat(), plain}}) {
          EXPECT_EQ(checkProblem({ops::Operator(op), {{type, dims, nullptr}}, {{type, dims, nullptr}}, {}}), 1);
        }
      }
    }
  }
  // What needs padding is for inputs and outputs of the network: one candidate, which writes zeros.
  for (const Dims& dims : {Dims{1, 17, 7, 5}, Dims{1, 4, 7, 5}, Dims{1, 16, 7}, Dims{16, 16}, Dims{1, 16, 3, 3, 3}}) {
    const ops::Operator op = ops::Reformat{Layout::kLinear, *blockedFormat()};
    EXPECT_EQ(checkProblem({op, {{DataType::kF32, dims, nullptr}}, {{DataType::kF32, dims, nullptr}}, {}}), 1)
        << dims.text();
  }
}

TEST_F(Blocked, Convolutions) {
  EXPECT_EQ(
      check(
          "input %x : f32[1,16,12,11]\n const %w : f32[48,16,3,3] = random(1)\n const %b : f32[48] = random(2)\n"
          "%y : f32[1,48,12,11] = convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true}(%x, %w, %b) \"n\"\n output %y"),
      1);
  EXPECT_EQ(check("input %x : f32[2,32,9,7]\n const %w : f32[16,32,1,1] = random(1)\n"
                  "%y : f32[2,16,5,4] = convolution{strides=[2,2]}(%x, %w) \"n\"\n output %y"),
            1);
  EXPECT_EQ(
      check(
          "input %x : f32[1,3,23,23]\n const %w : f32[32,3,7,7] = random(1)\n"
          "%y : f32[1,32,12,12] = convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3]}(%x, %w) \"n\"\n output %y"),
      1);
  EXPECT_EQ(
      check(
          "input %x : f32[1,32,9,9]\n const %w : f32[32,16,3,3] = random(1)\n"
          "%y : f32[1,32,9,9] = convolution{groups=2 prePadding=[2,2] postPadding=[2,2] dilations=[2,2]}(%x, %w) \"n\"\n output %y"),
      1);
  EXPECT_EQ(
      check(
          "input %x : f32[1,48,9,9]\n const %w : f32[48,1,3,3] = random(1)\n const %b : f32[48] = random(2)\n"
          "%y : f32[1,48,5,5] = convolution{groups=48 strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true}(%x, %w, %b) \"n\"\n output %y"),
      1);
  // No whole blocks, or groups that are none.
  EXPECT_EQ(check("input %x : f32[1,16,9,9]\n const %w : f32[21,16,1,1] = random(1)\n"
                  "%y : f32[1,21,9,9] = convolution(%x, %w) \"n\"\n output %y"),
            0);
  EXPECT_EQ(check("input %x : f32[1,16,9,9]\n const %w : f32[16,4,1,1] = random(1)\n"
                  "%y : f32[1,16,9,9] = convolution{groups=4}(%x, %w) \"n\"\n output %y"),
            0);
}

TEST_F(Blocked, ConvolutionsWithEpilogues) {
  struct Epilogue {
    std::string expr, operands;
  };
  for (const auto& [expr, operand] : {Epilogue{"relu(x0)", ""},
                                      {"add(x0,x1);relu(t0)", "1,48,6,5"},
                                      {"mul(x0,x1)", "1,48,1,1"},
                                      {"leaky_relu(x0,x1)", "48,1,1"},
                                      {"sigmoid(x0);mul(t0,x0)", ""},
                                      {"add(x0,x1)", "1,1,6,5"},
                                      {"sin(x0);add(t0,x1)", "1,48,6,5"},
                                      {"sin(x0);mul(t0,x1)", "1,48,1,1"}}) {
    for (const int kernel : {1, 3}) {
      const auto pad = kernel / 2;
      const auto text = fmt::format(
          "input %x : f32[1,32,6,5]\n const %w : f32[48,32,{0},{0}] = random(1)\n{1}"
          "%y : f32[1,48,6,5] = convolution{{prePadding=[{2},{2}] postPadding=[{2},{2}] epilogue=\"{3}\"}}(%x, %w{4}) \"n\"\n output %y",
          kernel, operand.empty() ? "" : fmt::format("input %e : f32[{}]\n", operand), pad, expr,
          operand.empty() ? "" : ", %e");
      EXPECT_EQ(check(text), 1) << text;
    }
  }
  EXPECT_EQ(
      check("input %x : f32[1,32,6,5]\n const %w : f32[48,32,1,1] = random(1)\n const %e : f32[1,48,6,5] = random(3)\n"
            "%y : f32[1,48,6,5] = convolution{epilogue=\"add(x0,x1)\"}(%x, %w, %e) \"n\"\n output %y"),
      1);
}

TEST_F(Blocked, DepthwiseConvolutionsWithEpilogues) {
  for (const auto& [expr, operand] : {std::pair<std::string, std::string>{"clip(x0,0,6)", "1"},
                                      {"add(x0,x1)", "2,80,9,13"},
                                      {"mul(x0,x1)", "1,80,1,1"},
                                      {"leaky_relu(x0,x1)", "80,1,1"},
                                      {"sin(x0);fma(t0,x1,x1)", "80,1,1"},
                                      {"sin(x0);add(t0,x1)", "2,80,9,13"}}) {
    for (const int dilation : {1, 2}) {
      EXPECT_EQ(
          check(fmt::format(
              "input %x : f32[2,80,9,13]\n const %w : f32[80,1,3,3] = random(1)\n const %b : f32[80] = random(2)\n"
              "input %e : f32[{0}]\n"
              "%y : f32[2,80,9,13] = convolution{{groups=80 prePadding=[{1},{1}] postPadding=[{1},{1}] "
              "dilations=[{1},{1}] hasBias=true epilogue=\"{2}\"}}(%x, %w, %b, %e) \"n\"\n output %y",
              operand, dilation, expr)),
          1);
    }
  }
}

TEST_F(Blocked, Pooling) {
  for (const std::string fields : {"type=max window=[3,3] strides=[2,2]", "type=average window=[3,3] strides=[2,2]"}) {
    EXPECT_EQ(check("input %x : f32[2,48,9,11]\n%y : f32[2,48,4,5] = pooling{" + fields + "}(%x) \"n\"\n output %y"),
              2);
  }
  EXPECT_EQ(
      check(
          "input %x : f32[1,17,9,11]\n%y : f32[1,17,4,5] = pooling{type=max window=[3,3] strides=[2,2]}(%x) \"n\"\n output %y"),
      0);
}

TEST_F(Blocked, Pointwise) {
  const auto run = [](const std::string& dims, const std::string& other, const std::string& expr) {
    return check(
        fmt::format("input %x : f32[{0}]\n input %o : f32[{1}]\n const %c : f32[{2},1,1] = random(1)\n"
                    "%y : f32[{0}] = pointwise{{expr=\"{3}\"}}(%x, %o, %c) \"n\"\n output %y",
                    dims, other, dims.substr(2, 2), expr));
  };
  for (const std::string spatial : {"1,1", "3,5", "7,7", "23,29", "64,8"}) {
    for (const std::string channels : {"16", "80"}) {
      const auto dims = "2," + channels + "," + spatial;
      EXPECT_EQ(run(dims, dims, "fma(x0,x2,x1)"), 1);
      EXPECT_EQ(run(dims, "2," + channels + ",1,1", "fma(x0,x2,x1)"), 1);
      EXPECT_EQ(run(dims, "2,1," + spatial, "fma(x0,x2,x1)"), 1);
      EXPECT_EQ(run(dims, "1", "fma(x0,x2,x1)"), 1);
      EXPECT_EQ(run(dims, spatial, "fma(x2,x0,x1)"), 1);
    }
  }
}

TEST_F(Blocked, Concatenation) {
  EXPECT_EQ(
      check(
          "input %x : f32[2,16,3,5]\n input %z : f32[2,32,3,5]\n%y : f32[2,48,3,5] = concat{axis=1}(%x, %z) \"n\"\n output %y"),
      1);
  EXPECT_EQ(
      check(
          "input %x : f32[2,16,3,5]\n input %z : f32[2,16,4,5]\n%y : f32[2,16,7,5] = concat{axis=2}(%x, %z) \"n\"\n output %y"),
      1);
  EXPECT_EQ(
      check(
          "input %x : f32[2,12,3,5]\n input %z : f32[2,4,3,5]\n%y : f32[2,16,3,5] = concat{axis=1}(%x, %z) \"n\"\n output %y"),
      0);
  EXPECT_EQ(
      check(
          "input %x : f32[2,4,3,5]\n input %z : f32[2,12,3,5]\n%y : f32[2,16,3,5] = concat{axis=1}(%x, %z) \"n\"\n output %y"),
      0);
}

// Plans may come from machines with other vectors.
TEST(BlockedElsewhere, EachSizeOfBlocksIsRight) {
  if (kOfOneDnn == 0) GTEST_SKIP() << "this build is without oneDNN, whose formats these are";
  const auto graph = graph::parse(R"g(graph "g" {
    input %x : f32[2,32,9,7]
    const %v : f32[16,1,3,3] = random(3)
    const %w : f32[16,32,3,3] = random(1)
    const %s : f32[16,1,1] = random(2)
    %c : f32[2,16,9,7] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "dnnl_convolution"
    %d : f32[2,16,9,7] = convolution{groups=16 prePadding=[1,1] postPadding=[1,1] epilogue="mul(x0,x1)"}(%c, %v, %s) "dnnl_convolution/depthwise"
    %p : f32[2,16,4,3] = pooling{type=max window=[3,3] strides=[2,2]}(%d) "dnnl_pooling"
    %q : f32[2,16,4,3] = pooling{type=average window=[3,3] strides=[2,2]}(%c) "pooling"
    %a : f32[2,16,4,3] = pointwise{expr="fma(x0,x2,x1)"}(%p, %q, %s) "pointwise"
    %b : f32[2,32,4,3] = concat{axis=1}(%a, %q) "movement"
    output %b
  })g");
  RecordingLog log;
  for (const Layout format : {Layout::kBlocked8, Layout::kBlocked16}) {
    for (const auto id : graph.order()) {
      const auto& node = graph.node(id);
      const auto kernel = node.name.substr(0, node.name.find('/'));
      const auto problem = compile::makeProblem(graph, node, {});
      compile::Candidate candidate{"cpu." + kernel, "", {}, {format}};
      for (const auto& input : problem.inputs)
        candidate.inputs.push_back(input.constant != nullptr ? Layout::kLinear : format);
      const plan::KernelRecord record{"cpu", kernel, 1, node.op.text(), "", -1};
      EXPECT_EQ(compile::selfCheck(runtime::backend("cpu").device(), problem, candidate, record, {}, log), "")
          << candidate.text();
    }
  }
}

constexpr const char* kChain = R"g(graph "g" {
  input %x : f32[1,3,32,32]
  const %u : f32[32,3,3,3] = random(1)
  const %v : f32[64,32,3,3] = random(2)
  const %w : f32[32,64,1,1] = random(3)
  const %s : f32[64,1,1] = random(4)
  %a : f32[1,32,16,16] = convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1]}(%x, %u) "first"
  %b : f32[1,64,16,16] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%a, %v) "second"
  %p : f32[1,64,8,8] = pooling{type=max window=[2,2] strides=[2,2]}(%b) "pool"
  %q : f32[1,64,8,8] = pointwise{expr="sin(x0);mul(t0,x1)"}(%p, %s) "scale"
  %c : f32[1,32,8,8] = convolution(%q, %w) "third"
  %d : f32[1,96,8,8] = concat{axis=1}(%q, %c) "join"
  output %d
})g";

struct Built {
  int blocked = 0;  // steps with a result in blocks
  int reformats = 0;
  plan::Plan plan;
};

Built buildChain(compile::BuildOptions options) {
  RecordingLog log;
  options.device = "cpu";
  options.log = &log;
  Built built;
  built.plan = compile::build(graph::parse(kChain), options);
  const auto& program = built.plan.programs.at(0);
  for (const auto& step : program.steps) {
    const bool isReformat = step.layerType == ops::Reformat::kName;
    built.reformats += isReformat ? 1 : 0;
    for (const auto output : step.outputs)
      built.blocked += !isReformat && channelBlock(program.tensors[static_cast<size_t>(output)].layout) > 1 ? 1 : 0;
  }
  return built;
}

TEST_F(Blocked, NeighboursThatAgreeNeedNoReformats) {
  compile::BuildOptions options;
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Reformat>() == nullptr) std::erase_if(candidates, [](const auto& c) { return !hasBlocks(c); });
    return candidates;
  };
  const auto built = buildChain(options);
  EXPECT_EQ(built.blocked, 6);
  EXPECT_EQ(built.reformats, 1);  // of the result
  expectMatchesReference(kChain, {}, options);
}

// Times as a machine would have them on which blocks are so many times faster.
void rewriteTimes(compile::TimingCache& cache, double blockedSeconds, double otherSeconds) {
  for (const auto& key : cache.keys()) {
    const bool moves = key.find("reformat") != std::string::npos;
    const bool blocked = key.find(name(*blockedFormat())) != std::string::npos;
    cache.erase(key);
    cache.insert(key, moves ? 1e-4 : blocked ? blockedSeconds : otherSeconds);
  }
}

TEST_F(Blocked, AreChosenWhereTheTimesSaySo) {
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.timingCache = &cache;
  buildChain(options);
  rewriteTimes(cache, 1e-3, 2e-3);
  buildChain(options);  // asks everybody for blocks and measures what the first build did not
  rewriteTimes(cache, 1e-3, 2e-3);
  const auto built = buildChain(options);
  EXPECT_EQ(built.blocked, 6);
  EXPECT_EQ(built.reformats, 1);
  const size_t known = cache.size();
  EXPECT_EQ(plan::write(buildChain(options).plan), plan::write(built.plan));
  EXPECT_EQ(cache.size(), known);
}

TEST_F(Blocked, OthersAreNotAskedWhereContractionsGainNothing) {
  compile::TimingCache cache;
  compile::BuildOptions options;
  options.timingCache = &cache;
  buildChain(options);
  rewriteTimes(cache, 1.99e-3, 2e-3);
  for (const auto& key : cache.keys()) {
    if (key.find("_convolution") == std::string::npos && key.find(name(*blockedFormat())) != std::string::npos)
      cache.erase(key);
  }
  const size_t known = cache.size();
  const auto built = buildChain(options);
  EXPECT_EQ(built.blocked, 0);
  EXPECT_EQ(cache.size(), known);
  options.optimizationLevel = 0;
  EXPECT_EQ(buildChain(options).blocked, 0);
}

TEST_F(Blocked, ChannelsThatMayChangeStayUnblocked) {
  const std::string text = R"g(graph "g" {
    symbol "C" = extent(%x, 1)
    input %x : f32[1,C,8,8]
    %y : f32[1,C,4,4] = pooling{type=max window=[2,2] strides=[2,2]}(%x) "pool"
    output %y
  })g";
  compile::BuildOptions options;
  RecordingLog log;
  options.device = "cpu";
  options.log = &log;
  plan::InputRange range;
  range.min = {1, 1, 8, 8};
  range.opt = {1, 32, 8, 8};
  range.max = {1, 64, 8, 8};
  options.profiles = {{{"x", range}}};
  expectMatchesReference(text, {{1, 17, 8, 8}}, options);
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.name == "pool") std::erase_if(candidates, [](const auto& c) { return !hasBlocks(c); });
    return candidates;
  };
  EXPECT_THROW(compile::build(graph::parse(text), options), Unsupported);
}

}  // namespace
}  // namespace tenon::test
