// Problems that oneDNN computes in slices: large enough to be cut, in every way that a tactic offers, against the
// reference and on one thread against several.
#include <random>

#include "compile/assignment.h"
#include "runtime/chosen.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Builds the graph with each candidate of oneDNN for the node "op" and compares with the reference; how many there
// were.
int runEach(const std::string& text) {
  compile::BuildOptions options;
  RecordingLog log;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.log = &log;
  std::set<std::string> offered;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    for (const auto& candidate : candidates) {
      if (node.name == "op" && candidate.tactic.starts_with("cpu.dnnl_")) offered.insert(candidate.text());
    }
    return candidates;
  };
  compile::build(graph::parse(text), options);
  int count = 0;
  for (const auto& wanted : offered) {
    SCOPED_TRACE(wanted + "\n" + text);
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.name == "op")
        std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != wanted; });
      return candidates;
    };
    try {
      expectMatchesReference(text, {}, options);
      ++count;
    } catch (const Unsupported&) {  // oneDNN may have nothing for a layout
    }
  }
  return count;
}

class Random {
 public:
  explicit Random(uint64_t seed) : generator_(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  int64_t one(std::initializer_list<int64_t> of) { return *(of.begin() + in(0, static_cast<int64_t>(of.size()) - 1)); }

 private:
  std::mt19937_64 generator_;
};

struct Window {
  int64_t x[2], y[2], size[2], stride[2], dilation[2], before[2], after[2];
};

Window randomWindow(Random& random, bool isTransposed) {
  Window w{};
  for (int i = 0; i < 2; ++i) {
    w.size[i] = random.one({1, 1, 2, 3, 3, 5});
    w.stride[i] = random.one({1, 1, 2, 3});
    w.dilation[i] = w.size[i] > 1 && !isTransposed ? random.one({1, 1, 2}) : 1;
    const int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    w.before[i] = random.in(0, reach - 1);
    w.after[i] = random.in(0, reach - 1);
    w.x[i] = random.one({3, 7, 14, 27}) + 2 * reach;
    w.y[i] = isTransposed ? (w.x[i] - 1) * w.stride[i] + reach - w.before[i] - w.after[i]
                          : (w.x[i] + w.before[i] + w.after[i] - reach) / w.stride[i] + 1;
  }
  return w;
}

std::string pair(const int64_t (&values)[2]) { return fmt::format("[{},{}]", values[0], values[1]); }

struct Operands {
  std::string declared, named;
};

// Extras of the epilogues below.
const char* const kEpilogues[] = {"", "relu(x0)", "add(x0,x1)", "mul(x0,x1);relu(t0)", "sin(x0)", "add(x0,x1);sin(t0)"};

Operands extrasOf(Random& random, const std::string& epilogue, const std::string& y, int64_t channels) {
  if (epilogue.find("x1") == std::string::npos) return {};
  const auto shape = random.in(0, 1) == 0 ? y : fmt::format("1,{},1,1", channels);
  return {fmt::format("  input %e : f32[{}]\n", shape), ", %e"};
}

std::string windowGraph(Random& random, bool isTransposed, bool isConstant) {
  const auto w = randomWindow(random, isTransposed);
  const int64_t batch = random.one({1, 1, 1, 2, 5});
  const int64_t kind = random.in(0, 5);  // 0: depthwise, 1: groups
  const int64_t groups = kind == 0 ? random.one({16, 24, 64}) : kind == 1 ? random.one({2, 4}) : 1;
  const int64_t in = kind == 0 ? groups : groups * random.one({3, 8, 16, 33});
  const int64_t out = kind == 0 ? groups : groups * random.one({5, 16, 32, 64, 144});
  const std::string epilogue = kEpilogues[random.in(0, 5)];
  const auto y = fmt::format("{},{},{},{}", batch, out, w.y[0], w.y[1]);
  const auto extras = extrasOf(random, epilogue, y, out);
  const bool hasBias = random.in(0, 1) == 0;
  const auto weights = isTransposed ? fmt::format("{},{}", in, out / groups) : fmt::format("{},{}", out, in / groups);
  return fmt::format(
      "graph \"g\" {{\n  input %x : f32[{},{},{},{}]\n  {} %w : f32[{},{},{}]{}\n{}{}  %y : f32[{}] = {}{{strides={} "
      "{}prePadding={} postPadding={} groups={} hasBias={}{}}}(%x, %w{}{}) \"op\"\n  output %y\n}}",
      batch, in, w.x[0], w.x[1], isConstant ? "const" : "input", weights, w.size[0], w.size[1],
      isConstant ? " = random(1)" : "", hasBias ? fmt::format("  const %b : f32[{}] = random(2)\n", out) : "",
      extras.declared, y, isTransposed ? "deconvolution" : "convolution", pair(w.stride),
      isTransposed ? "" : fmt::format("dilations={} ", pair(w.dilation)), pair(w.before), pair(w.after), groups,
      hasBias, epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", epilogue), hasBias ? ", %b" : "", extras.named);
}

TEST(Slices, Convolutions) {
  Random random(3);
  int count = 0;
  for (int i = 0; i < 25; ++i) count += runEach(windowGraph(random, false, true));
  EXPECT_GE(count, 20);  // fewer layouts without AVX2
}

// Calls that a convolution of channels-last images becomes, by the candidate `name`; 0 where there is no such one.
size_t callsOf(const std::string& text, std::string_view name) {
  const auto graph = graph::parse(text);
  RecordingLog log;
  const auto problem = compile::makeProblem(graph, graph.node(graph.order().back()), {});
  std::vector<TensorView> constants;
  std::vector<runtime::TensorShape> inputs;
  for (const auto& input : problem.inputs) constants.push_back(input.constant ? input.constant->view() : TensorView{});
  for (const auto& source : compile::tacticSources()) {
    for (const auto* tactic : source.tactics) {
      if (source.backend != "cpu" || !tactic->supports(problem)) continue;
      for (const auto& candidate : tactic->candidates(problem)) {
        if (candidate.tactic != name || candidate.outputs[0] != Layout::kChannelsLast) continue;
        const auto record = tactic->build(problem, candidate);
        const auto kernel = runtime::backend("cpu").load({record, constants, {}, log});
        const auto instance = kernel->instantiate();
        for (size_t i = 0; i < problem.inputs.size(); ++i)
          inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
        const runtime::TensorShape y{problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]};
        instance->configure({inputs, {&y, 1}, &problem.symbols});
        return dynamic_cast<const runtime::Chosen&>(*instance).callCount();
      }
    }
  }
  return 0;
}

// oneDNN packs weights of windows of one pixel for the number of pixels: for a few rows otherwise than for all of them.
TEST(Slices, WeightsArePackedForSlices) {
  for (const int64_t pixels : {7, 8, 10, 12, 13, 14, 28}) {
    for (const int64_t channels : {128, 256, 512}) {
      const auto text = fmt::format(
          "graph \"g\" {{\n  input %x : f32[1,{0},{1},{1}]\n  const %w : f32[{0},{0},1,1] = random(1)\n"
          "  %y : f32[1,{0},{1},{1}] = convolution(%x, %w) \"op\"\n  output %y\n}}",
          channels, pixels);
      SCOPED_TRACE(text);
      const auto calls = callsOf(text, "cpu.dnnl_convolution");
      if (calls == 0) GTEST_SKIP() << "oneDNN has nothing for channels-last images here";
      EXPECT_GE(calls, 2U);
      runEach(text);
    }
  }
}

TEST(Slices, ConvolutionsOfComputedWeights) {
  Random random(4);
  int count = 0;
  for (int i = 0; i < 12; ++i) count += runEach(windowGraph(random, false, false));
  EXPECT_GE(count, 10);
}

TEST(Slices, Deconvolutions) {
  Random random(5);
  int count = 0;
  for (int i = 0; i < 12; ++i) count += runEach(windowGraph(random, true, i % 3 != 0));
  EXPECT_GE(count, 10);
}

TEST(Slices, Poolings) {
  Random random(6);
  int count = 0;
  for (int i = 0; i < 25; ++i) {
    auto w = randomWindow(random, false);
    for (int axis = 0; axis < 2; ++axis)
      w.y[axis] = (w.x[axis] + w.before[axis] + w.after[axis] - w.size[axis]) / w.stride[axis] + 1;
    const int64_t batch = random.one({1, 1, 3, 16});
    const int64_t channels = random.one({16, 40, 64, 256});
    count += runEach(fmt::format(
        "graph \"g\" {{\n  input %x : f32[{0},{1},{2},{3}]\n  %y : f32[{0},{1},{4},{5}] = pooling{{type={6} window={7} "
        "strides={8} prePadding={9} postPadding={10} exclusive={11}}}(%x) \"op\"\n  output %y\n}}",
        batch, channels, w.x[0], w.x[1], w.y[0], w.y[1], random.in(0, 1) == 0 ? "max" : "average", pair(w.size),
        pair(w.stride), pair(w.before), pair(w.after), random.in(0, 1) == 0));
  }
  EXPECT_GE(count, 25);
}

TEST(Slices, LocalResponses) {
  for (const int64_t batch : {1, 3}) {
    EXPECT_GE(runEach(fmt::format("graph \"g\" {{\n  input %x : f32[{0},24,31,29]\n  %y : f32[{0},24,31,29] = "
                                  "lrn{{window=5 alpha=0.01 beta=0.75 k=1}}(%x) \"op\"\n  output %y\n}}",
                                  batch)),
              1);
  }
}

TEST(Slices, Products) {
  Random random(8);
  int count = 0;
  for (int i = 0; i < 30; ++i) {
    const int64_t rows = random.one({1, 7, 64, 129, 300});
    const int64_t depth = random.one({16, 100, 513});
    const int64_t columns = random.one({1, 16, 70, 256});
    const int64_t batch = random.one({1, 1, 4, 12});
    const int64_t form = random.in(0, 4);
    const bool transposed = random.in(0, 3) == 0;
    const auto matrix = transposed ? fmt::format("{},{}", columns, depth) : fmt::format("{},{}", depth, columns);
    const auto b = form == 0   ? fmt::format("const %b : f32[{}] = random(1)", matrix)
                   : form == 1 ? fmt::format("input %b : f32[{}]", matrix)
                   : form == 2 ? fmt::format("const %b : f32[{},{}] = random(1)", batch, matrix)
                   : form == 3 ? fmt::format("input %b : f32[{},{}]", batch, matrix)
                               : fmt::format("input %b : f32[1,{}]", matrix);
    const std::string epilogue = kEpilogues[random.in(0, 5)];
    const auto y = fmt::format("{},{},{}", batch, rows, columns);
    const auto extra = epilogue.find("x1") == std::string::npos ? ""
                       : random.in(0, 1) == 0                   ? y
                                                                : fmt::format("1,1,{}", columns);
    count += runEach(fmt::format(
        "graph \"g\" {{\n  input %a : f32[{},{},{}]\n  {}\n{}  %y : f32[{}] = matmul{{transposeB={}{}}}(%a, %b{}) "
        "\"op\"\n  output %y\n}}",
        batch, rows, depth, b, extra.empty() ? "" : fmt::format("  input %e : f32[{}]\n", extra), y, transposed,
        epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", epilogue), extra.empty() ? "" : ", %e"));
  }
  EXPECT_GE(count, 25);
}

// Whole networks of one node, by whatever is chosen: kernels compute epilogues in f32 and must not take these.
TEST(Epilogues, Casts) {
  for (const char* epilogue :
       {"cast.i32(x0);cast.f32(t0)", "cast.f16(x0);cast.f32(t0)", "relu(x0);cast.bool(t0);cast.f32(t1)"}) {
    expectMatchesReference(
        fmt::format("graph \"g\" {{\n  input %x : f32[1,16,12,12]\n  const %w : f32[32,16,3,3] = random(1)\n"
                    "  %y : f32[1,32,12,12] = convolution{{prePadding=[1,1] postPadding=[1,1] "
                    "epilogue=\"{}\"}}(%x, %w) \"op\"\n  output %y\n}}",
                    epilogue));
    expectMatchesReference(
        fmt::format("graph \"g\" {{\n  input %a : f32[33,40]\n  const %b : f32[40,17] = random(1)\n"
                    "  %y : f32[33,17] = matmul{{epilogue=\"{}\"}}(%a, %b) \"op\"\n  output %y\n}}",
                    epilogue));
  }
}

}  // namespace
}  // namespace tenon::test
