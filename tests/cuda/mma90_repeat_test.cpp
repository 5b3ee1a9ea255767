// Products by warpgroups of many tiles give the same bits whenever they run: behind each other, with what they read in
// the cache and out of it. What waits for the wrong phase of a barrier shows here only, as the emulated GPU lets copies
// arrive when somebody waits for them.
#include <array>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "cuda/on_gpu.h"
#include "cuda/variable.h"

namespace tenon::test {
namespace {

struct Form {
  int64_t rows, columns, inner;
  const char* shape;
};

// Each layer changes what the next one reads, so that one wrong element reaches the end.
std::string chainOf(const Form& form, int layers) {
  std::string text = fmt::format("graph \"chain\" {{\n  input %x : f16[{0},{2}]\n  input %r : f16[{0},{1}]\n",
                                 form.rows, form.columns, form.inner);
  text += fmt::format("  const %v : f16[{1},{0}] = random(3)\n  const %w : f16[{0},{1}] = random(4)\n", form.inner,
                      form.columns);
  text += "  const %b : f16[1] = {0.0625}\n";
  std::string from = "%x";
  for (int i = 0; i < layers; ++i) {
    text += fmt::format(
        "  %y{0} : f16[{1},{2}] = matmul{{epilogue=\"mul(x0,x1);add(t0,x2);tanh(t1)\"}}({3}, %w, %b, %r) \"a{0}\"\n", i,
        form.rows, form.columns, from);
    text += fmt::format(
        "  %x{0} : f16[{1},{2}] = matmul{{epilogue=\"mul(x0,x1);add(t0,x2);tanh(t1)\"}}(%y{0}, %v, %b, {3}) \"b{0}\"\n",
        i, form.rows, form.inner, from);
    from = fmt::format("%x{}", i);
  }
  return text + fmt::format("  output {}\n}}", from);
}

void expectSameBits(const Form& form, int layers, int rounds) {
  const Variable on("TENON_CUDA_WARPGROUPS", "1");
  RecordingLog log;
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.device = "cuda";
  options.log = &log;
  int forced = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cuda.mma90_matmul"; });
    if (node.op.name() != "matmul" || candidates.empty()) return candidates;
    candidates.resize(1);
    candidates[0].variant = form.shape;
    ++forced;
    return candidates;
  };
  const auto engine = runtime::Engine::make(compile::build(graph::parse(chainOf(form, layers)), options), {}, log);
  EXPECT_GE(forced, 2) << form.shape;
  runtime::Context context(engine, {}, log);
  auto& device = engine->device();
  const auto x = randomTensor(DataType::kF16, {form.rows, form.inner}, 1);
  const auto r = randomTensor(DataType::kF16, {form.rows, form.columns}, 2);
  HostTensor first(DataType::kF16, {form.rows, form.inner});
  HostTensor again(DataType::kF16, {form.rows, form.inner});
  const DeviceTensor xThere(device, x.view()), rThere(device, r.view()), result(device, again.view());
  const std::array<void*, 3> addresses{xThere.data(), rThere.data(), result.data()};
  for (int i = 0; i < 3; ++i) context.setAddress(i, addresses[static_cast<size_t>(i)]);
  EXPECT_TRUE(context.inferShapes().empty());
  const size_t much = emulated() ? 16 : size_t{96} << 20;  // more than the cache, in two pieces
  void* const other = device.allocate(2 * much, 256);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 1 + round % 4; ++i) context.enqueue(nullptr);
    if (round % 2 == 1)
      device.copy(other, static_cast<char*>(other) + much, much, runtime::CopyKind::kDeviceToDevice, nullptr);
    context.enqueue(nullptr);
    device.synchronize(nullptr);
    result.readBack();
    if (round == 0) std::memcpy(first.view().data, again.view().data, first.view().bytes());
    ASSERT_EQ(std::memcmp(first.view().data, again.view().data, first.view().bytes()), 0)
        << form.shape << " of " << form.rows << "x" << form.columns << "x" << form.inner << ", round " << round;
  }
  device.free(other);
}

TEST_F(OnGpu, ProductsOfManyTilesRepeatToTheBit) {
  if (const auto missing = backends::cuda::mma90Missing(); !missing.empty()) GTEST_SKIP() << missing;
  if (emulated()) {
    for (const char* shape : {"32x1x1,1,2t", "32x1x1,2,3c"}) expectSameBits({70, 136, 72, shape}, 1, 2);
    return;
  }
  constexpr int kLayers = 8, kRounds = 24;
  for (const char* shape :
       {"192x2x1,1,4t", "160x2x1,1,5t", "144x2x1,1,3t", "96x2x1,1,6t", "32x2x1,1,2t", "256x1x1,1,4t", "192x2x1,2,4t",
        "128x2x1,2,5t", "192x1x1,1,4c", "256x1x1,2,4c", "128x2x1,2,3c", "64x1x1,1,7c"}) {
    expectSameBits({4096, 768, 768, shape}, kLayers, kRounds);
    expectSameBits({1501, 200, 72, shape}, kLayers, kRounds);
    expectSameBits({6304, 1024, 328, shape}, kLayers, kRounds);
  }
}

// Blocks of clusters give each other sums, in as many forms as there are ways to divide rows and groups.
TEST_F(OnGpu, ProductsOfClustersRepeatToTheBit) {
  if (const auto missing = backends::cuda::mma90Missing(); !missing.empty()) GTEST_SKIP() << missing;
  if (emulated()) {
    for (const char* shape : {"24x1x1,2,2", "40x1x2,3,4"}) expectSameBits({70, 136, 392, shape}, 1, 2);
    return;
  }
  constexpr int kLayers = 8, kRounds = 24;
  for (const char* shape : {"128x1x1,4,7", "104x1x2,4,8", "64x1x2,4,2x2", "40x2x1,8,4"}) {
    expectSameBits({256, 1024, 3072, shape}, kLayers, kRounds);
    if (backends::cuda::Mma90Shape::parse(shape).depth == 1)  // its rows are no whole steps
      expectSameBits({197, 1000, 4096, shape}, kLayers, kRounds);
    expectSameBits({1, 2048, 1024, shape}, kLayers, kRounds);
  }
}

// By the compiler that a GPU's machine has, where it is installed: what the emulated one takes may be refused there.
TEST(Mma90, ManyTilesCompile) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  struct Text {
    const char *epilogue, *params;
  };
  for (const auto& [epilogue, params] :
       {Text{"add(x0,x1);add(t0,x2)", "768,768,0;192x2x1,1,4t;cw [f16,f16,f16,f16] [f16]"},
        Text{"add(x0,x1);relu(t0)", "768,768,9;160x2x1,2,4t;c [bf16,bf16,bf16] [bf16]"},
        Text{"add(x0,x1);cast.f32(t0)", "50257,768,0;256x1x1,1,4t;c [f16,f16,f16] [f32]"},
        Text{"add(x0,x1);add(t0,x2)", "768,768,0;144x1x1,1,4c;sw [f32,f32,f32,f32] [f32]"},
        Text{"add(x0,x1);add(t0,x2)", "768,768,9;192x2x1,2,3c;ww [f16,f16,f16,f16] [f16]"}}) {
    ops::MatMul op;
    op.epilogue = ops::parseScalarExpr(epilogue);
    plan::KernelRecord record;
    record.params = params;
    EXPECT_FALSE(backends::cuda::compile(backends::cuda::Mma90Record(op, record).code().source(), 90).empty())
        << params;
  }
}

}  // namespace
}  // namespace tenon::test
