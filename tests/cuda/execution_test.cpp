// Executions on a GPU: replays of what was seen before, new shapes, memory, halves by the builder.
#include <random>
#include <set>

#include "backends/cuda/driver/libraries.h"
#include "cuda/execution.h"
#include "cuda/regions.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;

TEST_F(Execution, ReplaysFollowDataAddressesAndShapes) {
  RowsEngine e(kRows);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {}, e.log);
  std::vector<std::unique_ptr<RowsBuffers>> buffers;
  for (const int64_t rows : {8, 8, 1, 40, 7, 8}) buffers.push_back(std::make_unique<RowsBuffers>(device, rows));
  uint64_t seed = 0;
  // More sets of buffers than are remembered, each several times in a row and in turn.
  for (int round = 0; round < 6; ++round) {
    for (size_t k = 0; k < buffers.size(); ++k) {
      point(context, *buffers[k]);
      for (int repeat = 0; repeat < (round % 2 == 0 ? 1 : 3); ++repeat) {
        fill(e, *buffers[k], ++seed);
        context.enqueue(nullptr);
        device.synchronize(nullptr);
        expectRight(e, *buffers[k], fmt::format("round {}, buffers {}, repeat {}", round, k, repeat));
      }
    }
  }
}

// What touches neither inputs nor outputs is one graph, whatever these are.
TEST_F(Execution, AnyNumberOfAddressesReplaysTheStepsBetween) {
  std::string text = R"g(graph "chain" {
  input %x : f32[8,33]
  %t0 : f32[8,33] = softmax{axis=1}(%x) "first"
)g";
  constexpr int kInner = 6;
  for (int i = 0; i < kInner; ++i)
    text += fmt::format("  %t{} : f32[8,33] = softmax{{axis={}}}(%t{}) \"s{}\"\n", i + 1, i % 2, i, i);
  text += fmt::format("  %y : f32[8,33] = softmax{{axis=1}}(%t{}) \"last\"\n  output %y\n}}", kInner);
  compile::BuildOptions options;
  options.profiles.emplace_back();
  RowsEngine e(text.c_str(), options);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {}, e.log);
  std::vector<std::unique_ptr<RowsBuffers>> buffers;
  for (int i = 0; i < 7; ++i) buffers.push_back(std::make_unique<RowsBuffers>(device, 8));
  uint64_t seed = 0;
  for (int round = 0; round < 4; ++round) {
    for (size_t k = 0; k < buffers.size(); ++k) {
      context.setAddress(0, buffers[k]->x.data());
      context.setAddress(1, buffers[k]->y.data());
      fill(e, *buffers[k], ++seed);
      const auto launches = emulatedNumber("emulatedDirectLaunches");
      const auto graphs = emulatedNumber("emulatedGraphLaunches");
      context.enqueue(nullptr);
      device.synchronize(nullptr);
      expectRight(e, *buffers[k], fmt::format("round {}, buffers {}", round, k));
      if (!launches || round < 2) continue;
      EXPECT_EQ(*emulatedNumber("emulatedDirectLaunches") - *launches, 2u) << "round " << round;
      EXPECT_EQ(*emulatedNumber("emulatedGraphLaunches") - *graphs, 1u) << "round " << round;
    }
  }
  // A set that stays is one graph after a while.
  for (int repeat = 0; repeat < 6; ++repeat) {
    fill(e, *buffers[2], ++seed);
    const auto launches = emulatedNumber("emulatedDirectLaunches");
    context.setAddress(0, buffers[2]->x.data());
    context.setAddress(1, buffers[2]->y.data());
    context.enqueue(nullptr);
    device.synchronize(nullptr);
    expectRight(e, *buffers[2], fmt::format("repeat {}", repeat));
    if (!launches || repeat < 4) continue;
    EXPECT_EQ(*emulatedNumber("emulatedDirectLaunches"), *launches);
  }
}

// Tables of kernels are written without the legacy stream, on which others may have work.
TEST_F(Execution, NewShapesWaitForNoStreamOfTheCaller) {
  if (!emulatedNumber("emulatedLegacyWaits")) GTEST_SKIP() << "only the emulated GPU counts waits";
  constexpr const char* kText = R"g(graph "resized" {
  symbol "N" = extent(%x, 3)
  input %x : f32[1,2,5,N]
  %y : f32[1,2,10,2*N] = resize{mode=linear shape=[1,2,10,2*N] scales=[1,1,2,2]}(%x) "resized"
  output %y
})g";
  compile::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 2, 5, 1};
  range.opt = {1, 2, 5, 8};
  range.max = {1, 2, 5, 40};
  options.profiles = {{{"x", range}}};
  RowsEngine e(kText, options);
  runtime::Context context(e.engine, {}, e.log);
  for (const int64_t width : {8, 40, 7}) {
    const auto input = randomTensor(DataType::kF32, {1, 2, 5, width}, 3);
    HostTensor output(DataType::kF32, {1, 2, 10, 2 * width});
    DeviceTensor x(e.engine->device(), input.view()), y(e.engine->device(), output.view());
    context.setInputShape(0, input.view().dims);
    context.setAddress(0, x.data());
    context.setAddress(1, y.data());
    const auto waits = emulatedNumber("emulatedLegacyWaits");
    context.enqueue(nullptr);
    EXPECT_EQ(*emulatedNumber("emulatedLegacyWaits"), *waits) << width;
    y.readBack();
    const TensorView inputs[] = {input.view()};
    EXPECT_LE(relativeError(output.view(), graph::evaluate(e.graph, inputs)[0].view()), 1e-6) << width;
  }
}

TEST_F(Execution, MemoryRefusedAndLaterGranted) {
  RowsEngine e(kRows);
  auto& device = e.engine->device();
  runtime::Context context(e.engine, {runtime::MemoryStrategy::kUserManaged, 0}, e.log);
  RowsBuffers b(device, 40);
  point(context, b);
  fill(e, b, 7);
  const uint64_t bytes = context.memoryBytes();
  ASSERT_GT(bytes, 0u);
  EXPECT_THROW(context.enqueue(nullptr), UserError) << "there is no memory yet";
  void* memory = device.allocate(bytes, 256);
  EXPECT_THROW(
      {
        context.setMemory(memory, bytes / 2);
        context.enqueue(nullptr);
      },
      UserError);
  context.setMemory(memory, bytes);
  for (int repeat = 0; repeat < 4; ++repeat) context.enqueue(nullptr);
  device.synchronize(nullptr);
  expectRight(e, b, "after memory was given");
  device.free(memory);
}

// Without workspace other kernels win, and the results stay.
TEST_F(Execution, NoWorkspaceForKernels) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[2,32,14,14]
    const %w : f32[48,32,3,3] = random(4)
    %c : f32[2,48,14,14] = convolution{prePadding=[1,1] postPadding=[1,1] epilogue="relu(x0)"}(%x, %w) "conv" from("conv")
    output %c
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 32, 14, 14}, 3));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const uint64_t limit : {uint64_t{0}, uint64_t{64} << 20}) {
    compile::BuildOptions options;
    options.workspaceLimit = limit;
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), 1e-5) << limit << " bytes";
  }
}

TEST_F(Execution, PlanOfAnotherChipIsRefusedByName) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  plan::InputRange range;
  range.min = range.opt = range.max = {8, 33};
  options.profiles = {{{"x", range}}};
  auto plan = compile::build(graph::parse(kRows), options);
  plan.target.deviceName = "GPU of the past";
  plan.target.requirements = {"sm:61"};
  try {
    runtime::Engine::make(std::move(plan), {}, log);
    FAIL() << "a plan for sm_61 was loaded";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* part : {"GPU of the past", "sm:61", "build it again here"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST_F(Execution, HalvesWhereTheBuilderMay) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[2,8,12,12]
    const %w1 : f32[16,8,3,3] = random(4)
    const %b1 : f32[16] = random(5)
    const %w2 : f32[16,16,1,1] = random(6)
    const %w3 : f32[24,16] = random(7)
    const %b3 : f32[24] = random(8)
    %c : f32[2,16,12,12] = convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue="relu(x0)"}(%x, %w1, %b1) "conv1" from("conv1")
    %d : f32[2,16,12,12] = convolution(%c, %w2) "conv2" from("conv2")
    %s : f32[2,16,12,12] = pointwise{expr="add(x0,x1);relu(t0)"}(%d, %c) "add" from("add")
    %p : f32[2,16,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%s) "pool" from("pool")
    %f : f32[2,16] = reshape{shape=[2,16]}(%p) "flat" from("flat")
    %m : f32[2,24] = matmul{transposeB=true}(%f, %w3) "fc" from("fc")
    %y : f32[2,24] = pointwise{expr="add(x0,x1)"}(%m, %b3) "bias" from("bias")
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 8, 12, 12}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const auto half : {DataType::kF16, DataType::kBF16}) {
    for (const int level : {0, 3, 4}) {
      compile::BuildOptions options;
      options.types.halves = {half};
      options.optimizationLevel = level;
      const auto run = runOnGpu(graph, inputs, options);
      const double error = relativeError(run.outputs[0].view(), expected[0].view());
      std::cout << name(half) << " at level " << level << ": error " << error << "\n";
      EXPECT_LE(error, half == DataType::kF16 ? 5e-3 : 4e-2);
      if (level < 4) {  // above, times decide
        EXPECT_GT(error, 0);
      }
    }
  }
}

// A layer that normalizes its sums: they are the normalizations', one of which keeps what it adds up.
TEST_F(Execution, NormalizationsAddResiduals) {
  const Variable off("TENON_CUDA_NORMALIZED_PRODUCTS", "0");  // they would be part of the products
  const Variable rows("TENON_CUDA_NORMALIZED_ROWS", "0");
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f32[3,5,64]
    const %w : f32[64,64] = random(4)
    const %v : f32[64,64] = random(5)
    const %b : f32[64] = random(6)
    const %s : f32[64] = random(7)
    %m : f32[3,5,64] = matmul(%x, %w) "m" from("m")
    %c : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%m, %b) "c" from("c")
    %r : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%c, %x) "r" from("r")
    %n : f32[3,5,64] = normalization{axes=[-1]}(%r, %s, %b) "n" from("n")
    %p : f32[3,5,64] = matmul(%n, %v) "p" from("p")
    %q : f32[3,5,64] = pointwise{expr="add(x0,x1)"}(%r, %p) "q" from("q")
    %y : f32[3,5,64] = normalization{axes=[2]}(%q, %b, %s) "y" from("y")
    output %y
  })g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 5, 64}, 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const bool halves : {false, true}) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.optimizationLevel = 0;
    if (halves) options.types.halves = {DataType::kF16};
    std::set<std::string> found;
    const auto plan = compile::build(graph, options);
    for (const auto& step : plan.programs[0].steps) {
      if (step.kernel.name == "normalization") found.insert(step.kernel.op);
    }
    const std::set<std::string> wanted{"normalization{axes=[-1] skip=true keepSum=true}",
                                       "normalization{axes=[2] skip=true}"};
    EXPECT_EQ(found, wanted);
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), halves ? 1e-2 : 1e-4);
  }
}

// So many rows that a warp has one each, with two, three and four packs in a lane, the last ones of a part of the
// lanes.
TEST_F(Execution, NormalizationsOfManyRows) {
  for (const int64_t columns : {400, 768, 776}) {
    for (const char* fields : {"", " skip=true", " skip=true keepSum=true"}) {
      const bool skips = std::string_view(fields).find("skip") != std::string_view::npos;
      const bool keeps = std::string_view(fields).find("keepSum") != std::string_view::npos;
      const auto type = fmt::format("f16[2103,{}]", columns);
      const auto graph = graph::parse(fmt::format(
          "graph \"rows\" {{\n  input %x : {0}\n{1}  const %s : f16[{2}] = random(7)\n  const %b : f16[{2}] = random(8)\n"
          "  %y : {0}{3} = normalization{{axes=[-1]{4}}}(%x, %s, %b{5}) \"n\"\n  output %y\n{6}}}",
          type, skips ? fmt::format("  input %r : {}\n", type) : "", columns,
          keeps ? fmt::format(", %z : {}", type) : "", fields, skips ? ", %r" : "", keeps ? "  output %z\n" : ""));
      std::vector<HostTensor> inputs;
      for (int i = 0; i < (skips ? 2 : 1); ++i)
        inputs.push_back(randomTensor(DataType::kF16, {2103, columns}, static_cast<uint64_t>(i) + 1));
      compile::BuildOptions options;
      options.device = "cuda";
      options.optimizationLevel = 0;
      const auto expected = graph::evaluate(graph, views(inputs));
      const auto run = runOnGpu(graph, inputs, options);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(relativeError(run.outputs[i].view(), expected[i].view()), 1e-3) << columns << fields;
    }
  }
}

}  // namespace
}  // namespace tenon::test
