// What cuDNN proposes for convolutions, asked for a chip that is described and not there; and the text forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "backends/cuda/cudnn/cudnn_product.h"
#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/driver/made_once.h"
#include "core/error.h"
#include "runtime/preparation.h"

namespace tenon::test {
namespace {

namespace dnn = backends::cuda::dnn;
using runtime::TensorShape;

// Properties of a Hopper chip with 132 multiprocessors, in cuDNN's form.
constexpr const char* kHopper =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"maxGridSize":[2147483647,65535,65535],
"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":3201000,"l2CacheSize":62914560,"deviceName":"described","totalGlobalMem":150754820096})";

struct Case {
  std::string name;
  std::string op;
  DataType dtype;
  Layout format;
  std::vector<Dims> inputs;  // those of rank 4 and more, but the weights, have the format
  dnn::Math math = dnn::Math::kAny;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

runtime::Shapes shapesOf(const Case& c, std::vector<TensorShape>& inputs, std::vector<TensorShape>& outputs) {
  const auto op = ops::Operator::parse(c.op);
  std::vector<ops::TensorType> types;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const auto& dims = c.inputs[i];
    inputs.push_back({c.dtype, dims, dims.rank >= 4 && i != 1 ? c.format : Layout::kLinear});
    types.push_back({c.dtype, toShape(dims), std::nullopt});
  }
  const auto result = op.infer("case", types);
  outputs.push_back({c.dtype, evaluate(result[0].shape, {}), c.format});
  return {inputs, outputs, nullptr};
}

class Proposals : public ::testing::TestWithParam<Case> {};

TEST_P(Proposals, EveryGraphHasAnEngine) {
  if (!dnn::library().missing.empty()) GTEST_SKIP() << dnn::library().missing;
  if (dnn::library().version < 91100)
    GTEST_SKIP() << "cuDNN " << dnn::library().version << " plans for no described chip";
  const auto& c = GetParam();
  const auto chip = dnn::Chip::described(kHopper);
  std::vector<TensorShape> inputs;
  std::vector<TensorShape> outputs;
  const auto shapes = shapesOf(c, inputs, outputs);
  const auto op = dnn::windowOp(ops::Operator::parse(c.op));
  ASSERT_EQ(dnn::windowRefusal(op, shapes), "");
  const auto whole = dnn::windowGraph(chip, op, shapes, dnn::Fusion::kWhole);
  const auto fused = whole.graph.propose(dnn::HeuristicMode::kA, c.math, 4);
  std::cout << c.name << ": " << fused.size() << " engines with the epilogue inside\n";
  const auto bare = dnn::windowGraph(chip, op, shapes, dnn::Fusion::kBare);
  auto engines = bare.graph.propose(dnn::HeuristicMode::kA, c.math, 4);
  if (engines.empty()) engines = bare.graph.propose(dnn::HeuristicMode::kFallback, c.math, 4);
  EXPECT_FALSE(engines.empty());
  EXPECT_LE(engines.size(), 4u);
  for (const auto& engine : engines) EXPECT_EQ(dnn::EngineChoice::parse(engine.text()).text(), engine.text());
}

const std::string kPlain = "convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true";

INSTANTIATE_TEST_SUITE_P(
    Cudnn, Proposals,
    ::testing::Values(
        Case{"half_relu",
             kPlain + R"g( epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 64, 56, 56}, {64, 64, 3, 3}, {64}}},
        Case{"half_residual",
             kPlain + R"g( epilogue="add(x0,x1);relu(t0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 64, 56, 56}, {64, 64, 3, 3}, {64}, {1, 64, 56, 56}}},
        Case{"half_first",
             R"g(convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 3, 224, 224}, {64, 3, 7, 7}, {64}}},
        Case{"half_depthwise",
             R"g(convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true groups=64 epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 64, 56, 56}, {64, 1, 3, 3}, {64}}},
        Case{"half_asymmetric",
             R"g(convolution{postPadding=[1,1] hasBias=true epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 64, 56, 56}, {64, 64, 2, 2}, {64}}},
        Case{"float_relu",
             kPlain + R"g( epilogue="relu(x0)"})g",
             DataType::kF32,
             Layout::kLinear,
             {{1, 64, 56, 56}, {64, 64, 3, 3}, {64}},
             dnn::Math::kNoTensorCores},
        Case{"tf32_relu",
             kPlain + R"g( epilogue="relu(x0)"})g",
             DataType::kF32,
             Layout::kChannelsLast,
             {{1, 64, 56, 56}, {64, 64, 3, 3}, {64}}},
        Case{"half_transposed",
             R"g(deconvolution{strides=[2,2] hasBias=true epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 64, 28, 28}, {64, 32, 2, 2}, {32}}},
        Case{"float_line",
             R"g(convolution{hasBias=true epilogue="relu(x0)"})g",
             DataType::kF32,
             Layout::kLinear,
             {{2, 16, 100}, {24, 16, 3}, {24}},
             dnn::Math::kNoTensorCores},
        Case{"half_volume",
             R"g(convolution{hasBias=true epilogue="relu(x0)"})g",
             DataType::kF16,
             Layout::kChannelsLast,
             {{1, 16, 8, 20, 20}, {32, 16, 3, 3, 3}, {32}}}),
    [](const auto& info) { return info.param.name; });

// Of deconvolutions of halves the engine of last resort adds them up in halves, by as many threads as there are taps.
TEST(Cudnn, NoEngineAddsUpInHalves) {
  if (!dnn::library().missing.empty()) GTEST_SKIP() << dnn::library().missing;
  if (dnn::library().version < 91100)
    GTEST_SKIP() << "cuDNN " << dnn::library().version << " plans for no described chip";
  const auto chip = dnn::Chip::described(kHopper);
  size_t engines = 0;
  for (const auto type : {DataType::kF16, DataType::kBF16, DataType::kF32}) {
    const Case c{"", "deconvolution{strides=[2,2]}", type, Layout::kChannelsLast, {{1, 64, 28, 28}, {64, 32, 2, 2}}};
    std::vector<TensorShape> inputs;
    std::vector<TensorShape> outputs;
    const auto shapes = shapesOf(c, inputs, outputs);
    const auto made = dnn::windowGraph(chip, dnn::windowOp(ops::Operator::parse(c.op)), shapes, dnn::Fusion::kBare);
    for (const auto mode : {dnn::HeuristicMode::kA, dnn::HeuristicMode::kFallback}) {
      for (const auto& choice : made.graph.propose(mode, dnn::Math::kAny, 16)) {
        const auto notes = made.graph.notesOf(choice);
        EXPECT_EQ(std::count(notes.begin(), notes.end(), dnn::NumericalNote::kReducedPrecisionReduction), 0)
            << name(type) << " " << choice.text();
        ++engines;
      }
    }
  }
  EXPECT_GT(engines, 0u);
}

// Products with rare epilogues are compiled at run time, for which the heuristics want the CUDA driver's
// library: without it they propose nothing, and the graphs are only made.
TEST(Cudnn, GraphsOfProductsAreMade) {
  if (!dnn::library().missing.empty()) GTEST_SKIP() << dnn::library().missing;
  if (dnn::library().version < 91100)
    GTEST_SKIP() << "cuDNN " << dnn::library().version << " plans for no described chip";
  const auto chip = dnn::Chip::described(kHopper);
  for (const std::string epilogue : {"add(x0,x1);gelu_erf(t0)", "add(x0,x1);mul(t0,x2)", "sigmoid(x0);mul(x0,t0)"}) {
    const auto op = ops::Operator::parse("matmul{epilogue=\"" + epilogue + "\"}");
    const auto half = [](const Dims& dims) { return TensorShape{DataType::kF16, dims, Layout::kLinear}; };
    std::vector<TensorShape> inputs{half({2, 64, 768}), half({768, 3072}), half({3072}), half({2, 64, 3072})};
    inputs.resize(static_cast<size_t>(op.as<ops::MatMul>()->epilogue.inputCount()) + 1);
    const std::vector<TensorShape> outputs{half({2, 64, 3072})};
    const runtime::Shapes shapes{inputs, outputs, nullptr};
    ASSERT_EQ(dnn::productRefusal(*op.as<ops::MatMul>(), shapes), "") << epilogue;
    const auto graph = dnn::productGraph(chip, *op.as<ops::MatMul>(), shapes);
    std::cout << "product with " << epilogue << ": "
              << graph.graph.propose(dnn::HeuristicMode::kA, dnn::Math::kAny, 8).size() << " engines\n";
  }
}

// Engines say whether they are compiled at run time, and a plan is made once however many threads ask.
TEST(Cudnn, PlansAreMadeOnce) {
  if (!dnn::library().missing.empty()) GTEST_SKIP() << dnn::library().missing;
  if (dnn::library().version < 91100)
    GTEST_SKIP() << "cuDNN " << dnn::library().version << " plans for no described chip";
  const auto op = ops::Operator::parse(kPlain + R"g( epilogue="relu(x0)"})g");
  const std::vector<TensorShape> inputs{{DataType::kF16, {1, 64, 56, 56}, Layout::kChannelsLast},
                                        {DataType::kF16, {64, 64, 3, 3}, Layout::kLinear},
                                        {DataType::kF16, {64}, Layout::kLinear}};
  const std::vector<TensorShape> outputs{{DataType::kF16, {1, 64, 56, 56}, Layout::kChannelsLast}};
  const auto chip = dnn::Chip::described(kHopper);
  const auto made = dnn::windowGraph(chip, dnn::windowOp(op), {inputs, outputs, nullptr}, dnn::Fusion::kWhole);
  const auto choices = made.graph.propose(dnn::HeuristicMode::kA, dnn::Math::kAny, 8);
  ASSERT_FALSE(choices.empty());
  for (const auto& choice : choices) {
    if (made.graph.mustCompile(choice)) {
      std::cout << "engine " << choice.text() << " is compiled at run time\n";
      continue;
    }
    std::vector<std::shared_ptr<const dnn::ExecutionPlan>> plans(8);
    std::vector<std::function<void()>> pieces;
    for (auto& plan : plans) {
      pieces.push_back([&] {
        const auto mine = dnn::windowGraph(chip, dnn::windowOp(op), {inputs, outputs, nullptr}, dnn::Fusion::kWhole);
        plan = mine.graph.plan(choice);
      });
    }
    runtime::runTogether(pieces);
    std::string refusal;
    try {
      (void)made.graph.plan(choice);
    } catch (const Unsupported& error) {
      refusal = error.what();
    }
    for (const auto& plan : plans) EXPECT_EQ(plan, plans[0]) << choice.text();
    EXPECT_EQ(plans[0] == nullptr, !refusal.empty()) << refusal;
    EXPECT_FALSE(made.graph.mustCompile(choice));
  }
}

// A plan holds what its engine was compiled to, so that nobody compiles it again.
TEST(Cudnn, PlansAreReadBack) {
  if (!dnn::library().missing.empty()) GTEST_SKIP() << dnn::library().missing;
  if (dnn::library().version < 91100)
    GTEST_SKIP() << "cuDNN " << dnn::library().version << " plans for no described chip";
  const auto chip = dnn::Chip::described(kHopper);
  const std::vector<TensorShape> inputs{{DataType::kF16, {8, 64, 56, 56}, Layout::kChannelsLast},
                                        {DataType::kF16, {64, 64, 3, 3}, Layout::kLinear},
                                        {DataType::kF16, {64}, Layout::kLinear}};
  const std::vector<TensorShape> outputs{{DataType::kF16, {8, 64, 56, 56}, Layout::kChannelsLast}};
  size_t planned = 0;
  size_t readBack = 0;
  for (const std::string epilogue : {"relu(x0)", "sigmoid(x0);mul(x0,t0)"}) {
    const auto op = ops::Operator::parse(kPlain + " epilogue=\"" + epilogue + "\"}");
    const auto made = dnn::windowGraph(chip, dnn::windowOp(op), {inputs, outputs, nullptr}, dnn::Fusion::kWhole);
    for (const auto& choice : made.graph.propose(dnn::HeuristicMode::kA, dnn::Math::kAny, 8)) {
      try {
        const auto plan = made.graph.plan(choice);
        ++planned;
        const dnn::ExecutionPlan again(chip, plan->serialized());
        ++readBack;
        EXPECT_EQ(again.workspaceBytes(), plan->workspaceBytes());
      } catch (const Unsupported& error) {
        std::cout << epilogue << " " << choice.text() << ": " << error.what() << "\n";
      }
    }
  }
  if (planned > 0) {
    EXPECT_GT(readBack, 0u);
  }
}

TEST(MadeOnce, WaitsForWhoMakesItAndRemembersRefusals) {
  backends::cuda::MadeOnce<int> cache(3);
  std::atomic<int> made{0};
  std::atomic<int> wrong{0};
  std::vector<std::function<void()>> pieces;
  for (int i = 0; i < 64; ++i) {
    pieces.push_back([&, key = i % 2] {
      const auto value = cache.get(std::to_string(key), [&] {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_shared<const int>(key);
      });
      if (*value != key) ++wrong;
    });
  }
  runtime::runTogether(pieces);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(wrong, 0);
  int tries = 0;
  const auto refuse = [&]() -> std::shared_ptr<const int> { throw Unsupported("no {}", ++tries); };
  const auto fail = [&]() -> std::shared_ptr<const int> { throw InternalError("failure {}", ++tries); };
  for (int i = 0; i < 3; ++i) EXPECT_THROW(cache.get("refused", refuse), Unsupported);
  EXPECT_EQ(tries, 1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(cache.get("failing", fail), InternalError);
  EXPECT_EQ(tries, 4);
  EXPECT_TRUE(cache.knows("refused"));
  EXPECT_FALSE(cache.knows("failing"));
}

TEST(Cudnn, ChoicesHaveTextThatReadsBack) {
  for (const std::string text : {"whole,any,17:2=1,14=3", "bare,exact,0", "whole,exact,3:11=-1"}) {
    EXPECT_EQ(dnn::Choice::parse(text).text(), text);
  }
  for (const std::string text : {"", "whole", "half,any,1", "whole,any,", "whole,any,1:2"}) {
    EXPECT_THROW(dnn::Choice::parse(text), UserError) << text;
  }
}

}  // namespace
}  // namespace tenon::test
