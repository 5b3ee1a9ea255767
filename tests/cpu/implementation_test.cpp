// Which implementations of oneDNN run: those that were found when the engine was built, whatever the process did
// before.
#include <dnnl.h>

#include <regex>

#include "core/platform/processor.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// oneDNN keeps what it described; without that, this process is like one that only loads the engine.
void forgetDescriptions() {
  int capacity = 0;
  ASSERT_EQ(dnnl_get_primitive_cache_capacity(&capacity), dnnl_success);
  ASSERT_EQ(dnnl_set_primitive_cache_capacity(0), dnnl_success);
  ASSERT_EQ(dnnl_set_primitive_cache_capacity(capacity), dnnl_success);
}

bool isPlain(const std::string& name) { return name.starts_with("ref") || name.find("+ref") != std::string::npos; }

struct Seen {
  std::map<std::string, std::string> names;  // of implementations, by step
  bool warned = false;
};

Seen runOnce(const std::shared_ptr<const runtime::Engine>& engine, const std::vector<HostTensor>& inputs,
             RecordingLog& log) {
  const size_t before = log.lines.size();
  (void)run(engine, inputs, log);
  Seen seen;
  const std::regex pattern("step '([^']*)' of .* runs '([^']*)'");
  for (size_t i = before; i < log.lines.size(); ++i) {
    seen.warned = seen.warned || log.lines[i].first <= Severity::kWarning;
    std::smatch match;
    if (std::regex_search(log.lines[i].second, match, pattern)) seen.names[match[1]] = match[2];
  }
  return seen;
}

std::vector<HostTensor> inputsOf(const graph::Graph& graph, const SymbolValues& symbols) {
  std::vector<HostTensor> inputs;
  for (const auto input : graph.inputs()) {
    const auto& type = graph.value(input).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, symbols), inputs.size() + 1));
  }
  return inputs;
}

compile::BuildOptions optionsFor(const graph::Graph& graph, int64_t batch, Log& log) {
  compile::BuildOptions options;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.log = &log;
  std::map<std::string, plan::InputRange> profile;
  for (const auto input : graph.inputs()) {
    const auto& value = graph.value(input);
    if (isConstant(value.type.shape)) continue;
    profile[value.name] = {evaluate(value.type.shape, {{"N", 1}}),
                           evaluate(value.type.shape, {{"N", batch}}),
                           evaluate(value.type.shape, {{"N", 9}}),
                           {},
                           {},
                           {}};
  }
  if (!profile.empty()) options.profiles = {profile};
  return options;
}

// What oneDNN's tactics offer for the node "op".
std::set<std::string> offers(const graph::Graph& graph, compile::BuildOptions options) {
  std::set<std::string> result;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    for (const auto& candidate : candidates) {
      if (node.name == "op" && candidate.tactic.starts_with("cpu.dnnl_")) result.insert(candidate.text());
    }
    return candidates;
  };
  (void)compile::build(graph, options);
  return result;
}

plan::Plan buildWith(const graph::Graph& graph, compile::BuildOptions options, const std::string& wanted) {
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.name == "op") std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != wanted; });
    return candidates;
  };
  return compile::build(graph, options);
}

const plan::Step& opStep(const plan::Plan& plan) {
  const auto& steps = plan.programs[0].steps;
  return *std::find_if(steps.begin(), steps.end(), [](const plan::Step& step) { return step.name == "op"; });
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

std::string convolution(Random& random, bool isDeconvolution) {
  const int64_t groups = random.one({1, 1, 1, 2});
  const int64_t in = groups * random.one({1, 1, 3, 4, 8, 16});
  const int64_t out = groups * random.one({1, 1, 5, 8, 16});
  const int64_t kernel[] = {random.one({1, 1, 2, 3}), random.one({1, 2, 3, 5, 16})};
  const int64_t stride = random.in(1, 2);
  const int64_t x[] = {random.one({1, 3, 8, 13}) + kernel[0] - 1, random.one({1, 8, 40, 500}) + kernel[1] - 1};
  int64_t y[2];
  for (int i = 0; i < 2; ++i)
    y[i] = isDeconvolution ? (x[i] - 1) * stride + kernel[i] : (x[i] - kernel[i]) / stride + 1;
  const char* const epilogue = random.in(0, 2) == 0   ? " epilogue=\"sigmoid(x0);mul(t0,x0)\""
                               : random.in(0, 1) == 0 ? " epilogue=\"round(x0)\""
                                                      : "";
  const auto w =
      isDeconvolution ? Dims{in, out / groups, kernel[0], kernel[1]} : Dims{out, in / groups, kernel[0], kernel[1]};
  return fmt::format(
      "graph \"g\" {{\n input %x : f32[N,{},{},{}]\n const %w : f32[{}] = random(1)\n"
      " %y : f32[N,{},{},{}] = {}{{strides=[{},{}] groups={}{}}}(%x, %w) \"op\"\n output %y\n}}",
      in, x[0], x[1], fmt::join(w, ","), out, y[0], y[1], isDeconvolution ? "deconvolution" : "convolution", stride,
      stride, groups, epilogue);
}

std::string matmul(Random& random) {
  const int64_t k = random.one({1, 2, 16, 100});
  const int64_t n = random.one({1, 3, 16, 200});
  const bool transposed = random.in(0, 1) == 1;
  const bool batched = random.in(0, 1) == 1;
  const int64_t m = random.one({1, 4, 33});
  return fmt::format(
      "graph \"g\" {{\n input %x : f32[N,{}{}]\n const %w : f32[{},{}] = random(1)\n"
      " %y : f32[N,{}{}] = matmul{{transposeB={}{}}}(%x, %w) \"op\"\n output %y\n}}",
      batched ? fmt::format("{},", m) : "", k, transposed ? n : k, transposed ? k : n,
      batched ? fmt::format("{},", m) : "", n, transposed, random.in(0, 1) == 0 ? " epilogue=\"tanh(x0)\"" : "");
}

std::string pooling(Random& random) {
  const int64_t c = random.one({1, 3, 8, 16});
  const int64_t h = random.one({2, 9}), w = random.one({2, 7, 100});
  return fmt::format(
      "graph \"g\" {{\n input %x : f32[N,{},{},{}]\n %y : f32[N,{},{},{}] = pooling{{type={} window=[2,2] strides=[2,2]}}(%x) \"op\"\n output %y\n}}",
      c, h, w, c, h / 2, w / 2, random.in(0, 1) == 0 ? "max" : "average");
}

std::string problem(Random& random) {
  switch (random.in(0, 7)) {
    case 0: return pooling(random);
    case 1: return convolution(random, true);
    case 2:
    case 3: return matmul(random);
    case 4:
      return fmt::format(
          "graph \"g\" {{\n input %x : f32[N,{},4,4]\n %y : f32[N,{},4,4] = lrn{{window=3}}(%x) \"op\"\n output %y\n}}",
          16, 16);
    default: return convolution(random, false);
  }
}

TEST(Implementations, AreTheSameInAProcessThatOnlyLoads) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed);
    const auto text = problem(random);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const auto graph = graph::parse(text);
    RecordingLog log;
    const auto options = optionsFor(graph, 4, log);
    const auto inputs = inputsOf(graph, {{"N", 4}});
    for (const auto& wanted : offers(graph, options)) {
      SCOPED_TRACE(wanted);
      const auto made = runtime::Engine::make(buildWith(graph, options, wanted), {}, log);
      const auto before = runOnce(made, inputs, log);
      forgetDescriptions();
      const auto loaded = runtime::Engine::load(made->serialize(), {}, log);
      const auto after = runOnce(loaded, inputs, log);
      ASSERT_EQ(before.names.size(), 1u);
      EXPECT_EQ(after.names, before.names);
      EXPECT_FALSE(before.warned || after.warned);
      EXPECT_EQ(opStep(made->plan()).kernel.params, before.names.at("op"));
      ++compared;
      // Another batch has something fast too.
      for (const int64_t batch : {1, 2, 9}) {
        SCOPED_TRACE(batch);
        forgetDescriptions();
        const auto again = runtime::Engine::load(made->serialize(), {}, log);
        const auto other = runOnce(again, inputsOf(graph, {{"N", batch}}), log);
        EXPECT_EQ(isPlain(other.names.at("op")), isPlain(before.names.at("op")))
            << other.names.at("op") << " in place of " << before.names.at("op");
      }
    }
  }
  EXPECT_GT(compared, 150);
}

// oneDNN finds a fast one for such images only behind the strides of channels-last ones, and in a process that has
// described those before also behind others.
TEST(Implementations, RowMajorImagesOfOneChannelHaveFastOnes) {
  if (platform::bestIsa() < platform::Isa::kAvx2) GTEST_SKIP() << "not for SSE4 on every processor";
  const auto graph = graph::parse(R"text(graph "g" {
  input %x : f32[N,1,1,4498]
  const %w : f32[1,1,1,256] = random(1)
  %y : f32[N,1,1,2122] = convolution{strides=[1,2] epilogue="relu(x0)"}(%x, %w) "op"
  output %y
})text");
  for (const int64_t opt : {1, 4}) {
    RecordingLog log;
    const auto options = optionsFor(graph, opt, log);
    for (const auto& wanted : offers(graph, options)) {
      SCOPED_TRACE(wanted);
      forgetDescriptions();
      const auto engine = runtime::Engine::load(
          runtime::Engine::make(buildWith(graph, options, wanted), {}, log)->serialize(), {}, log);
      for (const int64_t batch : {1, 3, 4}) {
        forgetDescriptions();
        const auto seen = runOnce(engine, inputsOf(graph, {{"N", batch}}), log);
        for (const auto& [step, name] : seen.names)
          EXPECT_TRUE(name.find("jit") != std::string::npos || name.find("brg") != std::string::npos) << name;
      }
    }
  }
}

TEST(Implementations, WhatIsNotToBeHadIsNamedOnceAndReplaced) {
  const auto graph = graph::parse(R"text(graph "g" {
  input %x : f32[N,16,9,9]
  const %w : f32[32,16,3,3] = random(1)
  %y : f32[N,32,7,7] = convolution(%x, %w) "op"
  output %y
})text");
  RecordingLog log;
  const auto options = optionsFor(graph, 4, log);
  const auto offered = offers(graph, options);
  ASSERT_FALSE(offered.empty());
  for (const auto& wanted : offered) {
    auto plan = buildWith(graph, options, wanted);
    for (auto& step : plan.programs[0].steps) {
      if (step.name == "op") step.kernel.params = "jit:avx4096";
    }
    const auto inputs = inputsOf(graph, {{"N", 4}});
    const auto engine = runtime::Engine::make(std::move(plan), {}, log);
    EXPECT_FALSE(runOnce(engine, inputsOf(graph, {{"N", 2}}), log).warned) << "other shapes may well have others";
    EXPECT_TRUE(log.contains("step 'op' of 2x16x9x9 -> 2x32x7x7 runs"));
    const auto seen = runOnce(engine, inputs, log);
    ASSERT_EQ(seen.names.size(), 1u);
    EXPECT_TRUE(seen.warned);
    EXPECT_TRUE(log.contains(
        fmt::format("step 'op' of 4x16x9x9 -> 4x32x7x7 runs '{}' in place of 'jit:avx4096'", seen.names.at("op"))));
    EXPECT_TRUE(log.contains("build the engine on this machine"));
    EXPECT_FALSE(runOnce(engine, inputs, log).warned) << "once is enough";
    const auto expected = graph::evaluate(graph, views(inputs));
    EXPECT_LE(relativeError(run(engine, inputs, log)[0].view(), expected[0].view()), 1e-5);
  }
}

}  // namespace
}  // namespace tenon::test
