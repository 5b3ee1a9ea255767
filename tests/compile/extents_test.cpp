// Extents that are negative, empty where an operator forbids it, or beyond memory: refused before anything is tried.
#include <algorithm>

#include "passes/pipeline.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

plan::InputRange range(const Dims& min, const Dims& opt, const Dims& max) {
  plan::InputRange result;
  result.min = min;
  result.opt = opt;
  result.max = max;
  return result;
}

// The message of a build that must be refused, the same at every level.
std::string refusal(const std::string& text, std::vector<plan::InputRange> profiles = {}) {
  std::string message;
  for (int level = 0; level <= 5; ++level) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = level;
    for (const auto& profile : profiles) options.profiles.push_back({{"x", profile}});
    try {
      compile::build(graph::parse("graph \"g\" {\n" + text + "\n}"), options);
      ADD_FAILURE() << "built at level " << level << ": " << text;
    } catch (const UserError& error) {
      EXPECT_TRUE(level == 0 || message == error.what()) << message << "\n" << error.what();
      message = error.what();
    }
  }
  return message;
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

constexpr const char* kWindow = R"g(symbol "N" = extent(%x, 2)
  input %x : f32[1,1,N]
  const %w : f32[8,1,512] = random(1)
  %y : f32[1,8,N-511] = convolution(%x, %w) "stft" from("stft")
  output %y)g";

TEST(Extents, WindowLongerThanTheInput) {
  for (const int64_t samples : {1, 2, 6, 511}) {
    const auto message = refusal(kWindow, {range({1, 1, samples}, {1, 1, 1024}, {1, 1, 2048})});
    EXPECT_SAYS(message, "layer 'stft' (convolution) at the min shapes of optimization profile 0");
    EXPECT_SAYS(message,
                fmt::format("the kernel covers 512 elements of spatial axis 0, the padded input has {}", samples));
    EXPECT_SAYS(message, fmt::format("'x' 1x1x{}", samples));
    EXPECT_SAYS(message, "change the profile (IOptimizationProfile::setDimensions; trtexec --minShapes");
  }
  const auto message =
      refusal(kWindow, {range({1, 1, 600}, {1, 1, 700}, {1, 1, 700}), range({1, 1, 9}, {1, 1, 9}, {1, 1, 9})});
  EXPECT_SAYS(message, "at the min, opt, max shapes of optimization profile 1");
  auto options = compile::BuildOptions{};
  options.profiles = {{{"x", range({1, 1, 512}, {1, 1, 600}, {1, 1, 700})}}};
  for (const int64_t samples : {512, 513, 700})
    expectMatchesReference("graph \"g\" {\n" + std::string(kWindow) + "\n}", {{1, 1, samples}}, options);
}

TEST(Extents, PoolingAndPaddingOfTooLittle) {
  EXPECT_SAYS(refusal(R"g(symbol "H" = extent(%x, 2)
    symbol "W" = extent(%x, 3)
    input %x : f32[1,1,H,W]
    %y : f32[1,1,H-2,W-2] = pooling{type=max window=[3,3]}(%x) "pool"
    output %y)g",
                      {range({1, 1, 1, 4}, {1, 1, 8, 8}, {1, 1, 8, 8})}),
              "the kernel covers 3 elements of spatial axis 0, the padded input has 1");
  const auto message = refusal(R"g(symbol "W" = extent(%x, 1)
    input %x : f32[1,W]
    %y : f32[1,W-5] = slice{start=[0,0] size=[1,W-5] mode=fill}(%x) "crop"
    output %y)g",
                               {range({1, 4}, {1, 8}, {1, 8})});
  EXPECT_SAYS(message, "layer 'crop' (slice) at the min shapes of optimization profile 0");
  EXPECT_SAYS(message, "[1,-1] has a negative extent");
}

// An operator with extents in its fields whose input and output say nothing of them.
TEST(Extents, SliceThatLeavesItsInput) {
  EXPECT_SAYS(refusal(R"g(symbol "N" = extent(%x, 0)
    input %x : f32[N]
    const %c : f32[8] = random(1)
    %s : f32[3] = slice{start=[N-5] size=[3]}(%c) "window"
    %r : f32[N,1] = reshape{shape=[N,1]}(%x) "column"
    %y : f32[N,3] = pointwise{expr="add(x0,x1)"}(%r, %s) "sum"
    output %y)g",
                      {range({2}, {8}, {8})}),
              "layer 'window' (slice) at the min shapes of optimization profile 0");
}

TEST(Extents, MoreThanCanBeAddressed) {
  EXPECT_SAYS(
      refusal(
          "input %x : f32[4611686018427387904,4]\n%y : f32[4611686018427387904,4] = pointwise{expr=\"relu(x0)\"}(%x) \"act\"\noutput %y"),
      "network input 'x': tensor 'x' of f32 4611686018427387904x4 would have more than 140737488355328 bytes");
  EXPECT_SAYS(
      refusal(
          "input %x : f32[1,1]\n%y : f32[1073741824,1073741824] = slice{start=[0,0] size=[1073741824,1073741824] mode=clamp}(%x) \"expand\"\n"
          "output %y"),
      "layer 'expand' (slice): tensor 'y' of f32 1073741824x1073741824 would have more than");
  // Beside an extent of zero, too: products in another order would overflow.
  EXPECT_SAYS(
      refusal(
          "input %x : f32[4611686018427387904,4,0]\n%y : f32[4611686018427387904,4,0] = pointwise{expr=\"relu(x0)\"}(%x) \"act\"\noutput %y"),
      "network input 'x'");
}

TEST(Extents, OfAProfile) {
  constexpr const char* kRelu =
      "symbol \"N\" = extent(%x, 0)\ninput %x : f32[N,4]\n%y : f32[N,4] = pointwise{expr=\"relu(x0)\"}(%x) \"act\"\noutput %y";
  EXPECT_SAYS(refusal(kRelu, {range({-1, 4}, {2, 4}, {4, 4})}), "input 'x', axis 0: min -1 is negative");
  EXPECT_SAYS(refusal(kRelu, {range({1, 4}, {2, 4}, {int64_t{1} << 62, 4})}),
              "network input 'x' at the max shapes of optimization profile 0");
  EXPECT_SAYS(refusal(kRelu, {range({1, 4}, {int64_t{1} << 44, 4}, {int64_t{1} << 44, 4})}),
              "network input 'x' at the opt, max shapes");
  // Kernels are tried at the opt shapes, so these must fit into memory.
  const auto message = refusal(kRelu, {range({1, 4}, {int64_t{1} << 42, 4}, {int64_t{1} << 42, 4})});
  EXPECT_SAYS(
      message,
      "layer 'act' (pointwise) at the opt shapes of optimization profile 0: its tensors take 140737488355328 bytes, this machine has");
  EXPECT_SAYS(message, "Make them smaller");
  EXPECT_SAYS(refusal(kRelu, {range({1, 4}, {2, 4}, {int64_t{1} << 42, 4})}),
              "layer 'act' (pointwise) at the max shapes of optimization profile 0");
}

TEST(Extents, DoubledSeventyTimes) {
  std::string text = "input %x : f32[1,4]\n";
  std::string previous = "x";
  for (int i = 0; i < 70; ++i) {
    const int64_t extent = i < 62 ? int64_t{1} << (i + 1) : INT64_MAX;
    text += fmt::format("%d{0} : f32[{1},4] = concat{{axis=0}}(%{2}, %{2}) \"double{0}\"\n", i, extent, previous);
    previous = fmt::format("d{}", i);
  }
  EXPECT_SAYS(refusal(text + "output %" + previous),
              "layer 'double43' (concat): tensor 'd43' of f32 17592186044416x4 would have more than");
}

// A constant operand does not fold into what no memory holds.
TEST(Extents, ConstantPaddedBeyondMemory) {
  EXPECT_SAYS(refusal(R"g(input %x : f32[1]
    const %c : f32[4] = random(1)
    %k : f32[1099511627776] = slice{start=[0] size=[1099511627776] mode=clamp}(%c) "pad"
    %y : f32[1099511627776] = pointwise{expr="add(x0,x1)"}(%x, %k) "sum"
    output %y)g"),
              "bytes, this machine has");
}

// The extents of a profile's min, opt and max are in order, those between are not: (N - 4) * (N - 4) - 1.
TEST(Extents, ShapesBetweenThoseOfTheProfile) {
  constexpr const char* kText = R"g(graph "g" {
    symbol "N" = extent(%x, 0)
    input %x : f32[N]
    %m : f32[N*N-8*N+15] = slice{start=[0] size=[N*N-8*N+15] mode=fill}(%x) "cut"
    OUTPUT
  })g";
  const std::string whole = "output %m";
  const std::string inside = "%y : f32[1] = reduce{op=sum axes=[0] keepDims=true}(%m) \"sum\"\noutput %y";
  for (const auto& outputs : {whole, inside}) {
    std::string text = kText;
    text.replace(text.find("OUTPUT"), 6, outputs);
    compile::BuildOptions options;
    options.profiles = {{{"x", range({1}, {2}, {9})}}};
    for (const int64_t n : {1, 2, 3, 5, 9}) expectMatchesReference(text, {{n}}, options);
    RecordingLog log;
    options.device = "cpu";
    options.log = &log;
    const auto engine = runtime::Engine::make(compile::build(graph::parse(text), options), {}, log);
    runtime::Context context(engine, {}, log);
    std::vector<float> x(9), y(99);
    context.setAddress(0, x.data());
    context.setAddress(1, y.data());
    for (int again = 0; again < 2; ++again) {
      context.setInputShape(0, {4});
      try {
        context.enqueue(nullptr);
        FAIL() << "ran with a negative extent";
      } catch (const UserError& error) {
        EXPECT_SAYS(std::string(error.what()), outputs == whole ? "output 'm' would have the shape -1 = [N*N-8*N+15]"
                                                                : "tensor 'm' would have the shape -1 = [N*N-8*N+15]");
        EXPECT_SAYS(std::string(error.what()), "give");
      }
      context.setInputShape(0, {5});
      EXPECT_NO_THROW(context.enqueue(nullptr));
      engine->device().synchronize(nullptr);
    }
  }
}

// oneDNN multiplies nothing with an inner extent of 0, which the minimum is: what was the fastest at the opt shapes
// gives way.
TEST(Extents, MinimumThatOnlySomeKernelsTake) {
  constexpr const char* kText = R"g(graph "g" {
    symbol "K" = extent(%x, 1)
    input %x : f32[4,K]
    input %w : f32[K,5]
    %y : f32[4,5] = matmul(%x, %w) "product"
    output %y
  })g";
  for (const int level : {0, 3}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    options.profiles = {{{"x", range({4, 0}, {4, 64}, {4, 64})}, {"w", range({0, 5}, {64, 5}, {64, 5})}}};
    for (const int64_t k : {0, 1, 7, 64}) expectMatchesReference(kText, {{4, k}, {k, 5}}, options);
    RecordingLog log;
    options.device = "cpu";
    options.log = &log;
    options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
      std::erase_if(candidates,
                    [](const auto& candidate) { return candidate.tactic.find("dnnl_matmul") == std::string::npos; });
      return candidates;
    };
    try {
      compile::build(graph::parse(kText), options);
      FAIL() << "no kernel takes the minimum";
    } catch (const Unsupported& error) {
      EXPECT_SAYS(std::string(error.what()), "node 'product'");
      EXPECT_SAYS(
          std::string(error.what()),
          "does not support the min shapes of optimization profile 0: oneDNN does not support a matmul with K = 0");
    }
  }
}

// Nodes that are alike are refused together.
TEST(Extents, MinimumThatOnlySomeKernelsTakeTwice) {
  constexpr const char* kText = R"g(graph "g" {
    symbol "K" = extent(%x, 1)
    input %x : f32[5,K]
    input %w : f32[K,5]
    input %v : f32[K,5]
    %y : f32[5,5] = matmul(%x, %w) "first"
    %z : f32[5,5] = matmul(%x, %v) "second"
    output %y
    output %z
  })g";
  for (const int level : {0, 3}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    const auto rows = range({0, 5}, {64, 5}, {64, 5});
    options.profiles = {{{"x", range({5, 0}, {5, 64}, {5, 64})}, {"w", rows}, {"v", rows}}};
    for (const int64_t k : {0, 1, 64}) expectMatchesReference(kText, {{5, k}, {k, 5}, {k, 5}}, options);
  }
}

// Constants that are computed while building grow by a limit, all together; beyond it they stay computations.
TEST(Extents, ManyLargeConstants) {
  constexpr int64_t kCount = int64_t{1} << 26;  // floats: what one may have
  std::string text = "input %x : f32[1]\n";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format(
        "const %c{0} : f32[1] = random({0})\n%k{0} : f32[{1}] = slice{{start=[0] size=[{1}] mode=clamp}}(%c{0}) \"k{0}\"\n"
        "%s{0} : f32[{1}] = pointwise{{expr=\"add(x0,x1)\"}}(%x, %k{0}) \"s{0}\"\n"
        "%m{0} : f32[1] = reduce{{op=max axes=[0] keepDims=true}}(%s{0}) \"m{0}\"\noutput %m{0}\n",
        i, kCount);
  }
  auto graph = graph::parse("graph \"g\" {\n" + text + "}");
  passes::run(graph, {});
  uint64_t folded = 0;
  for (graph::ValueId id = 0; id < graph.valueCount(); ++id) {
    if (graph.value(id).constant != nullptr && graph.value(id).name.starts_with("k"))
      folded += graph.value(id).constant->bytes();
  }
  EXPECT_GT(folded, 0U);
  EXPECT_LE(folded, uint64_t{1} << 30);
}

// What a reference would take for rows that nothing is written to.
TEST(Extents, EmptyBesideHuge) {
  for (const int level : {0, 2}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    expectMatchesReference(R"g(graph "g" {
      input %x : f32[0,2147483644]
      %c : f32[0,2147483644] = fill{shape=[0,2147483644]}() "made"
      %s : f32[0,2147483644] = softmax{axis=1}(%c) "folded"
      %t : f32[0,2147483644] = softmax{axis=1}(%x) "run"
      %r : f32[0,4294967288] = resize{mode=linear shape=[0,4294967288]}(%x) "wide"
      %f : f32[0,2147483999] = slice{start=[0,0] size=[0,2147483999] mode=fill}(%x) "pad"
      output %s
      output %t
      output %r
      output %f
    })g",
                           {}, options);
  }
}

// The user's constants, not a fault of the pass that computes them.
TEST(Extents, ConstantsThatCannotBeComputed) {
  EXPECT_SAYS(refusal(R"g(input %x : f32[1]
    const %c : f32[4] = random(1)
    const %i : i32[2] = {3,4}
    %k : f32[2] = gather{axis=0}(%c, %i) "pick"
    %y : f32[2] = pointwise{expr="add(x0,x1)"}(%x, %k) "sum"
    output %y)g"),
              "of constants cannot be evaluated: gather: index 4 is outside axis 0 of extent 4");
}

// Kernels would refuse them, and no implementation would be left.
TEST(Extents, ConstantIndicesOutsideTheData) {
  const auto rows = [](const char* indices, const char* mode) {
    return fmt::format(R"g(symbol "N" = extent(%x, 0)
      input %x : f32[N,3]
      const %i : i64{}
      %y : f32[2,3] = gather{{{}}}(%x, %i) "pick" from("pick")
      output %y)g",
                       indices, mode);
  };
  const auto message = refusal(rows("[2] = {0,4}", "axis=0"), {range({4, 3}, {5, 3}, {6, 3})});
  EXPECT_SAYS(
      message,
      "layer 'pick' (gather) at the min shapes of optimization profile 0: index 4 is outside axis 0 of extent 4 of the "
      "data 4x3; the network's inputs are 'x' 4x3 there: change the profile");
  EXPECT_SAYS(refusal(rows("[2] = {-7,1}", "axis=0"), {range({6, 3}, {6, 3}, {6, 3})}), "index -7 is outside axis 0");
  EXPECT_SAYS(refusal(rows("[2,1] = {0,9}", "mode=nd"), {range({4, 3}, {5, 3}, {9, 3})}),
              "index 9 is outside axis 0 of extent 4");
  EXPECT_SAYS(refusal(R"g(input %x : f32[4,3]
    const %i : i64[2,2] = {3,2,0,3}
    %y : f32[2] = gather{mode=nd}(%x, %i) "pick" from("pick")
    output %y)g"),
              "layer 'pick' (gather): index 3 is outside axis 1 of extent 3 of the data 4x3; change the layer");
  EXPECT_SAYS(refusal(R"g(input %x : f32[4,3]
    const %i : i32[1,3] = {0,9223372036854775,0}
    %y : f32[1,3] = gather{mode=element axis=0}(%x, %i) "pick" from("pick")
    output %y)g"),
              "is outside axis 0 of extent 4");
  compile::BuildOptions options;
  options.profiles = {{{"x", range({4, 3}, {5, 3}, {6, 3})}}};
  for (const int64_t n : {4, 6})
    expectMatchesReference("graph \"g\" {\n" + rows("[2] = {-4,3}", "axis=0") + "\n}", {{n, 3}}, options);
}

}  // namespace
}  // namespace tenon::test
