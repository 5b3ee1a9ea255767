// Networks that leave their types to the builder, in half precision: right within its accuracy, and only where allowed.
#include "compile/types/lower.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

constexpr const char* kNetwork = R"g(graph "net" {
  symbol "N" = extent(%x, 0)
  input %x : f32[N,3,9,9]
  input %ids : i64[5]
  const %table : f32[11,6] = random(3)
  const %w1 : f32[8,3,3,3] = random(4)
  const %b1 : f32[8] = random(5)
  const %w2 : f32[8,6] = random(6)
  %c : f32[N,8,7,7] = convolution{hasBias=true epilogue="relu(x0)"}(%x, %w1, %b1) "conv" from("conv")
  %p : f32[N,8,1,1] = reduce{op=avg axes=[2,3] keepDims=true}(%c) "pool" from("pool")
  %f : f32[N,8] = reshape{shape=[N,8]}(%p) "flat" from("flat")
  %m : f32[N,6] = matmul(%f, %w2) "fc" from("fc")
  %e : f32[N,6] = pointwise{expr="exp(x0)"}(%m) "exp" from("exp")
  %g : f32[5,6] = gather{axis=0}(%table, %ids) "embedding" from("embedding")
  %s : f32[5,6] = pointwise{expr="mul(x0,1e30)"}(%g) "huge" from("huge")
  output %e
  output %s
})g";

const compile::KernelExists kEverything = [](const graph::Node&, const compile::Problem&) { return true; };

// By the rule.
graph::Graph lowered(const graph::Graph& graph, const compile::TypeOptions& options,
                     const compile::KernelExists& kernels = kEverything, Log* log = nullptr) {
  const SymbolValues symbols{{"N", 2}};
  const compile::TypeSets sets(graph, options, symbols, kernels);
  const auto types = compile::typesByRule(sets, false);
  if (log != nullptr) sets.reportUnmet(types, *log);
  auto result = compile::lowerPrecision(graph, options, types, false);
  graph::verify(result);
  return result;
}

const compile::KernelExists kNoMatMul = [](const graph::Node& node, const compile::Problem&) {
  return node.op.name() != "matmul";
};

// Type of the first output of the node that computes a layer.
DataType typeOf(const graph::Graph& graph, std::string_view layer) {
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    if (node.origins == std::vector<std::string>{std::string(layer)}) return graph.value(node.outputs[0]).type.dtype;
  }
  ADD_FAILURE() << "no node for " << layer;
  return DataType::kBool;
}

std::vector<HostTensor> inputsOf(int64_t batch) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {batch, 3, 9, 9}, 1));
  inputs.push_back(randomTensor(DataType::kI64, {5}, 2));
  return inputs;
}

TEST(Precision, HalvesAreWithinTheirAccuracy) {
  const auto graph = graph::parse(kNetwork);
  for (const auto half : {DataType::kF16, DataType::kBF16}) {
    const auto changed = lowered(graph, {{half}, {}, {}});
    for (const int64_t batch : {1, 3}) {
      const auto inputs = inputsOf(batch);
      const auto expected = graph::evaluate(graph, views(inputs));
      const auto got = graph::evaluate(changed, views(inputs));
      EXPECT_EQ(got[0].view().dtype, DataType::kF32);
      EXPECT_LE(relativeError(got[0].view(), expected[0].view()), half == DataType::kF16 ? 5e-3 : 4e-2);
      EXPECT_GT(relativeError(got[0].view(), expected[0].view()), 0) << "nothing was computed in halves";
    }
  }
}

TEST(Precision, WhatIsHalfAndWhatIsNot) {
  const auto changed = lowered(graph::parse(kNetwork), {{DataType::kF16}, {}, {}});
  for (const char* layer : {"conv", "pool", "flat", "fc", "embedding"})
    EXPECT_EQ(typeOf(changed, layer), DataType::kF16) << layer;
  EXPECT_EQ(typeOf(changed, "exp"), DataType::kF32);
  EXPECT_EQ(changed.value(changed.inputs()[0]).type.dtype, DataType::kF32);
  for (const auto output : changed.outputs()) EXPECT_EQ(changed.value(output).type.dtype, DataType::kF32);
}

// A cast stands where less passes through it.
TEST(Precision, WhatEnlargesAnOutputStays) {
  const auto typeOfResize = [](const std::string& size, const std::string& behind, compile::TypeOptions options) {
    const auto graph = graph::parse(fmt::format(R"g(graph "net" {{
  symbol "N" = extent(%x, 0)
  input %x : f32[N,3,9,9]
  const %w : f32[8,3,1,1] = random(4)
  %c : f32[N,8,9,9] = convolution(%x, %w) "conv" from("conv")
  %r : f32[N,8,{0}] = resize{{mode=linear shape=[N,8,{0}]}}(%c) "resize" from("resize")
{1}}})g",
                                                size, behind));
    const auto changed = lowered(graph, options);
    EXPECT_EQ(typeOf(changed, "conv"), DataType::kF16);
    return typeOf(changed, "resize");
  };
  const std::string output = "  output %r\n";
  const std::string more = "  %s : f32[N,8,18,18] = pointwise{expr=\"relu(x0)\"}(%r) \"s\" from(\"s\")\n  output %s\n";
  const compile::TypeOptions halves{{DataType::kF16}, {}, {}};
  EXPECT_EQ(typeOfResize("18,18", output, halves), DataType::kF32);
  EXPECT_EQ(typeOfResize("5,5", output, halves), DataType::kF16);
  EXPECT_EQ(typeOfResize("18,18", more, halves), DataType::kF16);
  EXPECT_EQ(typeOfResize("18,18", output + more, halves), DataType::kF16);
  EXPECT_EQ(typeOfResize("18,18", output, {{DataType::kF16}, {{"resize", DataType::kF16}}, {}}), DataType::kF16);
}

TEST(Precision, DemandsOfLayersCount) {
  const auto graph = graph::parse(kNetwork);
  const auto changed = lowered(graph, {{DataType::kF16}, {{"conv", DataType::kF32}, {"exp", DataType::kF16}}, {}});
  EXPECT_EQ(typeOf(changed, "conv"), DataType::kF32);
  EXPECT_EQ(typeOf(changed, "pool"), DataType::kF32) << "it follows the convolution";
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kF16);
  EXPECT_EQ(typeOf(changed, "exp"), DataType::kF16);
}

TEST(Precision, WhatTheDeviceLacksStays) {
  const auto changed = lowered(graph::parse(kNetwork), {{DataType::kF16}, {}, {}}, kNoMatMul);
  EXPECT_EQ(typeOf(changed, "conv"), DataType::kF16);
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kF32);
}

TEST(Precision, DemandsThatTheDeviceCannotMeetAreSaid) {
  const auto graph = graph::parse(kNetwork);
  RecordingLog log;
  compile::TypeOptions options{{DataType::kF16}, {{"conv", DataType::kF16}, {"fc", DataType::kF16}}, {}};
  const auto changed = lowered(graph, options, kNoMatMul, &log);
  EXPECT_EQ(typeOf(changed, "conv"), DataType::kF16);
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kF32);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].first, Severity::kWarning);
  EXPECT_EQ(log.lines[0].second,
            "No implementation of layer fc obeys the requested constraints: the requested precision f16 is ignored, fc "
            "(matmul) computes in f32: the device has no kernel for it in f16");
  options.obey = true;
  try {
    lowered(graph, options, kNoMatMul, &log);
    ADD_FAILURE() << "a demand was left out";
  } catch (const Unsupported& error) {
    EXPECT_EQ(std::string(error.what()),
              "Could not find any implementation for node fc (matmul) that obeys the requested constraints: layer 'fc' "
              "shall compute in f16, and the device has no kernel for it in f16. Clear "
              "BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, or the precision of the layer");
  }
  EXPECT_EQ(log.lines.size(), 1U);
}

// One network may have both halves, where layers demand them.
TEST(Precision, LayersMayHaveDifferentHalves) {
  const auto graph = graph::parse(kNetwork);
  RecordingLog log;
  const compile::TypeOptions options{
      {DataType::kF16, DataType::kBF16}, {{"fc", DataType::kBF16}, {"exp", DataType::kF16}}, {}};
  const auto changed = lowered(graph, options, kEverything, &log);
  EXPECT_EQ(typeOf(changed, "conv"), DataType::kF16);
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kBF16);
  EXPECT_EQ(typeOf(changed, "exp"), DataType::kF16);
  EXPECT_TRUE(log.lines.empty());
  const auto inputs = inputsOf(2);
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto got = graph::evaluate(changed, views(inputs));
  EXPECT_LE(relativeError(got[0].view(), expected[0].view()), 4e-2);
}

// A device that gains nothing by halves takes them where they are demanded, and nowhere else.
TEST(Precision, WithoutGainOnlyDemandsCount) {
  const auto graph = graph::parse(kNetwork);
  const SymbolValues symbols{{"N", 2}};
  const compile::TypeOptions options{{DataType::kF16}, {{"fc", DataType::kF16}}, {}};
  const compile::TypeSets sets(graph, options, symbols, kEverything);
  const auto changed = compile::lowerPrecision(graph, options, compile::typesByRule(sets, true), false);
  EXPECT_EQ(typeOf(changed, "conv"), DataType::kF32);
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kF16);
  EXPECT_EQ(typeOf(changed, "embedding"), DataType::kF32);
}

// What reads a tensor gets the type that is demanded of it, however it was computed.
TEST(Precision, OutputTypesAreWhatIsRead) {
  const auto graph = graph::parse(kNetwork);
  const compile::TypeOptions options{{DataType::kF16}, {{"fc", DataType::kF32}}, {{"m", DataType::kF16}}};
  const auto changed = lowered(graph, options);
  EXPECT_EQ(typeOf(changed, "fc"), DataType::kF32);
  bool isRounded = false;
  for (const auto id : changed.order()) {
    const auto& node = changed.node(id);
    if (node.name == "Cast m to f16") isRounded = true;
    if (node.name == "exp") {
      EXPECT_EQ(changed.node(changed.value(node.inputs[0]).producer).name, "Cast m to f32");
    }
  }
  EXPECT_TRUE(isRounded);
  const auto untouched = lowered(graph, {{}, {}, {{"nothing", DataType::kF16}}});
  EXPECT_EQ(graph::text(untouched).find("f16"), std::string::npos);
}

// A half at the border goes into what computes in that half without a way over f32.
TEST(Precision, HalvesAtTheBorderStayHalves) {
  const auto graph = graph::parse(R"g(graph "net" {
    input %x : f16[2,8]
    const %w : f32[8,8] = random(1)
    %f : f32[2,8] = pointwise{expr="cast.f32(x0)"}(%x) "f" from("f")
    %y : f32[2,8] = matmul(%f, %w) "y" from("y")
    output %y
  })g");
  const auto changed = lowered(graph, {{DataType::kF16}, {}, {}});
  for (const auto id : changed.order()) {
    const auto& node = changed.node(id);
    if (node.name == "y") {
      EXPECT_TRUE(changed.value(node.inputs[0]).isInput);
    }
  }
  EXPECT_EQ(typeOf(changed, "y"), DataType::kF16);
}

TEST(Precision, NothingIsAskedNothingChanges) {
  const auto graph = graph::parse(kNetwork);
  EXPECT_EQ(graph::text(lowered(graph, {})), graph::text(graph));
}

TEST(Precision, BeyondTheRangeIsTheGreatestValue) {
  const auto graph = graph::parse(R"g(graph "mask" {
    input %a : f32[2,2]
    const %w : f32[2,2] = {1,0,0,1}
    const %mask : f32[2] = {0,-3e38}
    %m : f32[2,2] = matmul(%a, %w) "m" from("m")
    %y : f32[2,2] = pointwise{expr="add(x0,x1)"}(%m, %mask) "masked" from("masked")
    %z : f32[2,2] = softmax{axis=1}(%y) "softmax" from("softmax")
    output %z
  })g");
  const auto changed = lowered(graph, {{DataType::kF16}, {}, {}});
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {2, 2}, 1));
  const auto got = graph::evaluate(changed, views(inputs));
  for (int64_t row = 0; row < 2; ++row) {
    EXPECT_EQ(got[0].view().loadDouble(row * 2), 1);
    EXPECT_EQ(got[0].view().loadDouble(row * 2 + 1), 0);
  }
}

// The whole way on the CPU, whose kernels of halves are the references.
TEST(Precision, EnginesRunInHalvesWhereLayersDemandIt) {
  const auto graph = graph::parse(kNetwork);
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.types.halves = {DataType::kF16};
  for (const char* layer : {"conv", "pool", "fc", "embedding"}) options.types.layers[layer] = DataType::kF16;
  options.types.obey = true;
  options.log = &log;
  plan::InputRange range;
  range.min = {1, 3, 9, 9};
  range.opt = {2, 3, 9, 9};
  range.max = {4, 3, 9, 9};
  options.profiles = {{{"x", range}}};
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  int halves = 0;
  for (const auto& tensor : engine->plan().programs[0].tensors) halves += tensor.dtype == DataType::kF16;
  EXPECT_GT(halves, 3);
  for (const int64_t batch : {1, 4}) {
    const auto inputs = inputsOf(batch);
    const auto expected = graph::evaluate(graph, views(inputs));
    const auto got = run(engine, inputs, log);
    EXPECT_LE(relativeError(got[0].view(), expected[0].view()), 5e-3);
  }
}

// A row that leaves all keys out is 0: with the greatest half in place of infinity it would be the mean of all.
TEST(Precision, MasksKeepTheirInfinities) {
  const auto graph = graph::parse(R"g(graph "net" {
  input %x : f32[1,2,4]
  input %m : bool[1,1,1,2]
  const %w : f32[4,12] = random(1)
  const %c : f32[2,2] = {0,0,-inf,-inf}
  %p : f32[1,2,12] = matmul(%x, %w) "p" from("p")
  %a : f32[1,1,1,2] = pointwise{expr="select(x0,0,-inf)"}(%m) "a" from("a")
  %y : f32[1,2,4] = attention{heads=2 hasMask=true packed=true emptyIsZero=true}(%p, %a) "y" from("y")
  %z : f32[1,2,4] = attention{heads=2 hasMask=true packed=true emptyIsZero=true}(%p, %c) "z" from("z")
  output %y
  output %z
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {1, 2, 4}, 1));
  inputs.push_back(HostTensor(DataType::kBool, Dims{1, 1, 1, 2}));
  for (int64_t i = 0; i < 2; ++i) inputs[1].view().storeInt(i, 0);
  for (const auto half : {DataType::kF16, DataType::kBF16}) {
    const auto changed = lowered(graph, {{half}, {}, {}});
    EXPECT_EQ(typeOf(changed, "y"), half);
    const auto expected = graph::evaluate(graph, views(inputs));
    const auto got = graph::evaluate(changed, views(inputs));
    for (size_t output = 0; output < 2; ++output) {
      EXPECT_LE(relativeError(got[output].view(), expected[output].view()), 2e-2);
      const int64_t closed = output == 0 ? 0 : 4;  // the first element of a row without keys
      for (int64_t i = closed; i < 8; ++i) EXPECT_EQ(got[output].view().loadDouble(i), 0);
    }
  }
}

// What is written in place is the caller's memory, in the caller's type, though the new rows are halves.
TEST(Precision, CachesKeepTheirType) {
  const auto graph = graph::parse(R"g(graph "net" {
  input %cache : f32[1,2,8,6]
  input %x : f32[1,2,3,5]
  input %start : i32[1]
  const %w : f32[5,6] = random(1)
  %u : f32[1,2,3,6] = matmul(%x, %w) "product" from("product")
  %y : f32[1,2,8,6] = cache_update(%cache, %u, %start) "update" from("update")
  output %y
})g");
  const auto changed = lowered(graph, {{DataType::kF16}, {}, {}});
  EXPECT_EQ(typeOf(changed, "product"), DataType::kF16);
  for (const auto id : changed.order()) {
    const auto& node = changed.node(id);
    if (node.op.name() != "cache_update") continue;
    EXPECT_TRUE(changed.value(node.inputs[0]).isInput);
    EXPECT_EQ(changed.value(node.outputs[0]).type.dtype, DataType::kF32);
  }
}

}  // namespace
}  // namespace tenon::test
