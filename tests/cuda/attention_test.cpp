// Attention by each candidate under masks that leave keys out: some, a whole tile, all; the lowest numbers; scores that
// grow.
#include <cmath>
#include <limits>
#include <set>

#include "backends/cuda/kernels/attention/attention_problem.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/kernels/attention/row_attention.h"
#include "backends/cuda/kernels/attention/stream_attention.h"
#include "cuda/on_gpu.h"
#include "runtime/engine_parts.h"
#include "support/tactic_ranges.h"

namespace tenon::test {
namespace {

constexpr int64_t kRows = 37;
constexpr int64_t kKeys = 150;  // beyond one tile of any form

struct Kind {
  DataType type;
  bool tf32;
  double tolerance;  // of outputs in [-1,1]
  int64_t columns = 16;
};

double lowest(DataType type) {
  if (type == DataType::kF16) return -65504;
  return type == DataType::kBF16 ? -3.3895e38 : -3.4028e38;
}

// A row of the mask each; the rows behind leave out keys here and there.
HostTensor maskOf(DataType type) {
  const double out = -std::numeric_limits<double>::infinity();
  HostTensor mask = randomTensor(type, {1, 1, kRows, kKeys}, 4);
  const auto& view = mask.view();
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t key = 0; key < kKeys; ++key) {
      const int64_t at = row * kKeys + key;
      const bool last = key + 1 == kKeys;
      if (row == 0) view.storeDouble(at, 0);
      if (row == 1 || row == 17) view.storeDouble(at, out);
      if (row == 2) view.storeDouble(at, lowest(type));
      if (row == 3) view.storeDouble(at, last ? 0 : out);
      if (row == 4) view.storeDouble(at, key < 128 ? out : 0);
      if (row == 5) view.storeDouble(at, key >= 16 ? out : 0);
      if (row == 6) view.storeDouble(at, key % 7 == 3 ? 0 : lowest(type));
      if (row == 7) view.storeDouble(at, last ? 40 : 0);
      if (row > 7 && row != 17 && (row * 31 + key * 7) % 5 < 2) view.storeDouble(at, out);
    }
  }
  return mask;
}

// The greatest difference; infinite where one is a number and the other is not. f32 on tensor cores is the sum of two
// parts, and of an infinite value the second one is no number: there what is not finite need only stay so.
double difference(const TensorView& got, const TensorView& want) {
  double worst = 0;
  const bool isInParts = want.dtype == DataType::kF32;
  for (int64_t i = 0; i < want.count(); ++i) {
    const double a = got.loadDouble(i);
    const double b = want.loadDouble(i);
    const bool differ = isInParts ? std::isfinite(a) != std::isfinite(b) : std::isnan(a) != std::isnan(b);
    if (differ) return std::numeric_limits<double>::infinity();
    if (std::isfinite(b)) worst = std::max(worst, std::fabs(a - b));
  }
  return worst;
}

graph::Graph attention(const Kind& kind, bool emptyIsZero) {
  const auto type = name(kind.type);
  return graph::parse(fmt::format(
      "graph \"case\" {{\ninput %q : {0}[1,1,{1},{3}]\ninput %k : {0}[1,1,{2},{3}]\ninput %v : {0}[1,1,{2},{3}]\ninput %m : {0}[1,1,{1},{2}]\n"
      "%y : {0}[1,1,{1},{3}] = attention{{scale={5} hasMask=true emptyIsZero={4}}}(%q, %k, %v, %m) \"op\" from(\"op\")\noutput %y\n}}",
      type, kRows, kKeys, kind.columns, emptyIsZero, kind.columns > 16 ? 1 : 2));
}

// By every candidate.
void check(const Kind& kind, const graph::Graph& graph, const std::vector<HostTensor>& inputs) {
  const auto expected = graph::evaluate(graph, views(inputs));
  std::set<std::string> names;
  const auto run = [&](const std::string& forced) {
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.tf32 = kind.tf32;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      for (const auto& candidate : candidates) names.insert(candidate.text());
      if (!forced.empty()) std::erase_if(candidates, [&](const auto& candidate) { return candidate.text() != forced; });
      return candidates;
    };
    const auto result = runOnGpu(graph, inputs, options);
    EXPECT_LE(difference(result.outputs[0].view(), expected[0].view()), kind.tolerance)
        << name(kind.type) << (kind.tf32 ? " by TF32 " : " ") << (forced.empty() ? "the first" : forced) << "\n"
        << graph::text(graph);
  };
  run("");
  const auto all = names;
  for (const auto& candidate : all) run(candidate);
  EXPECT_GT(all.size(), 2u);
}

std::vector<HostTensor> operands(const Kind& kind) {
  std::vector<HostTensor> inputs;
  for (const int64_t rows : {kRows, kKeys, kKeys}) {
    inputs.push_back(randomTensor(kind.type, {1, 1, rows, kind.columns}, inputs.size() + 1));
  }
  return inputs;
}

void check(const Kind& kind, bool emptyIsZero) {
  auto inputs = operands(kind);
  const auto& k = inputs[1].view();
  for (int64_t i = 0; i < k.count(); ++i) {  // scores grow from tile to tile
    k.storeDouble(i, k.loadDouble(i) * (1 + 4 * static_cast<double>(i) / static_cast<double>(k.count())));
  }
  inputs.push_back(maskOf(kind.type));
  check(kind, attention(kind, emptyIsZero), inputs);
}

// Rows without a key have weights of 0, and 0 times an infinite value is no number.
void checkInfiniteValue(const Kind& kind) {
  auto inputs = operands(kind);
  const auto& q = inputs[0].view();
  for (int64_t i = 0; i < q.count(); ++i) q.storeDouble(i, q.loadDouble(i) / 4);  // no other weight is 0 in f16
  inputs[2].view().storeDouble(41 * kind.columns + 3, std::numeric_limits<double>::infinity());
  HostTensor mask(kind.type, {1, 1, kRows, kKeys});
  for (int64_t i = 0; i < kRows * kKeys; ++i)
    mask.view().storeDouble(i, i / kKeys % 3 == 1 ? -std::numeric_limits<double>::infinity() : 0);
  inputs.push_back(std::move(mask));
  check(kind, attention(kind, true), inputs);
}

// The error of attention in one form of a tactic, which is forced.
double errorOfForm(const std::string& form, int64_t width, bool hasMask, bool causal,
                   std::string_view tactic = "cuda.stream_attention", int64_t queries = 200, bool isOfRows = true) {
  const auto graph = graph::parse(fmt::format(
      "graph \"case\" {{\ninput %q : f16[1,2,{0},{2}]\ninput %k : f16[1,1,{1},{2}]\ninput %v : f16[1,1,{1},{2}]\n{3}"
      "%y : f16[1,2,{0},{2}] = attention{{scale=0.3{4}}}(%q, %k, %v{5}) \"op\" from(\"op\")\noutput %y\n}}",
      queries, kKeys, width, hasMask ? fmt::format("input %m : f16[1,1,{},{}]\n", isOfRows ? queries : 1, kKeys) : "",
      hasMask  ? " hasMask=true"
      : causal ? " causal=true"
               : "",
      hasMask ? ", %m" : ""));
  std::vector<HostTensor> inputs;
  for (const auto id : graph.inputs()) {
    const auto& type = graph.value(id).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), inputs.size() + 1));
  }
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  bool offered = false;
  options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
    if (candidates.empty()) return candidates;
    candidates.resize(1);
    candidates[0].variant = form;
    offered = true;
    return candidates;
  };
  const auto result = runOnGpu(graph, inputs, options);
  EXPECT_TRUE(offered) << form;
  return relativeError(result.outputs[0].view(), graph::evaluate(graph, views(inputs))[0].view());
}

// Kernels read the keys of a head once: 8 heads with `queries` each, of 2 that have keys.
void expectHeads(int64_t queries, const std::vector<int64_t>& mask, bool causal, int64_t heads) {
  ops::Attention op;
  op.causal = causal;
  op.hasMask = !mask.empty();
  const auto shape = [](const std::vector<int64_t>& extents) {
    runtime::TensorShape result{DataType::kF16, {}};
    for (const int64_t extent : extents) result.dims.push(extent);
    return result;
  };
  std::vector<runtime::TensorShape> inputs{shape({3, 8, queries, 64}), shape({3, 2, 100, 64}), shape({3, 2, 100, 64})};
  const std::vector<runtime::TensorShape> outputs{inputs[0]};
  if (op.hasMask) inputs.push_back(shape(mask));
  const auto p = backends::cuda::dnn::attentionProblem(op, {inputs, outputs, nullptr});
  const int64_t joined = 8 / heads;
  EXPECT_EQ(p.heads, heads);
  EXPECT_EQ(p.sharing, 4 / joined);
  EXPECT_EQ(p.queries, queries * joined);
  for (const auto* operand : {&p.q, &p.output}) {
    EXPECT_EQ(operand->batchStride, 8 * queries * 64);
    EXPECT_EQ(operand->headStride, joined * queries * 64);
    EXPECT_EQ(operand->rowStride, 64);
  }
  EXPECT_EQ(p.k.headStride, 100 * 64);
}

TEST(Attention, FewQueriesOfHeadsThatShareKeysAreRowsOfOne) {
  for (const int64_t queries : {1, 4, 15}) expectHeads(queries, {}, false, 2);
  expectHeads(1, {3, 1, 1, 100}, false, 2);
  expectHeads(5, {100}, false, 2);
  expectHeads(16, {}, false, 8);
  expectHeads(1, {}, true, 8);
  expectHeads(1, {1, 8, 1, 100}, false, 8);
  expectHeads(2, {2, 100}, false, 8);
}

TEST_F(OnGpu, AttentionByStagesOfKeysInEveryForm) {
  if (!backends::cuda::streamMissing().empty()) GTEST_SKIP() << backends::cuda::streamMissing();
  for (const char* form : {"f16,48,1x64x2,0,0", "f16,48,2x32x4,1,0", "f16,48,3x128x2,1,0", "f16,48,3x48x1,0,0"}) {
    EXPECT_LE(errorOfForm(form, 40, false, false), 2e-3) << form;
    EXPECT_LE(errorOfForm(form, 40, false, true), 2e-3) << form;
  }
  EXPECT_LE(errorOfForm("f16,128,3x64x2,1,0", 128, false, false), 2e-3);
  EXPECT_LE(errorOfForm("f16,80,3x32x3,0,1", 72, true, false), 2e-3);
  // Masks that are one for all rows, keys that fill no last stage.
  for (const char* form : {"f16,48,2x128x2,1,1", "f16,48,2x128x2,1,2", "f16,48,1x64x3,0,2", "f16,48,3x48x2,1,2"})
    EXPECT_LE(errorOfForm(form, 40, true, false, "cuda.stream_attention", 200, false), 2e-3) << form;
  EXPECT_LE(errorOfForm("f16,256,2x16x2,1,0", 256, false, false), 2e-3);
}

TEST_F(OnGpu, AttentionOfFewQueriesInEveryForm) {
  for (const char* form : {"f16,128,16,1x12", "f16,128,8,2x5", "f16,128,16,3x1", "f16,128,8,8x2"}) {
    EXPECT_LE(errorOfForm(form, 120, false, false, "cuda.row_attention", 7), 2e-3) << form;
    EXPECT_LE(errorOfForm(form, 128, true, false, "cuda.row_attention", 16), 2e-3) << form;
    EXPECT_LE(errorOfForm(form, 128, false, true, "cuda.row_attention", 9), 2e-3) << form;
  }
  for (const char* form : {"f16,64,8,1x16", "f16,64,16,1x1", "f16,64,8,7x3"})
    EXPECT_LE(errorOfForm(form, 64, true, false, "cuda.row_attention", 3), 2e-3) << form;
}

// The form is for the opt shapes; with others there are more queries than a block takes, more keys than all warps take
// at a time, or fewer keys than warps.
TEST_F(OnGpu, AttentionOfFewQueriesThatBecomeMany) {
  const auto graph = graph::parse(R"g(graph "open" {
  symbol "Q" = extent(%q, 2)
  symbol "T" = extent(%k, 2)
  input %q : f16[1,4,Q,64]
  input %k : f16[1,2,T,64]
  input %v : f16[1,2,T,64]
  %y : f16[1,4,Q,64] = attention{scale=0.2}(%q, %k, %v) "op" from("op")
  output %y
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;
  bool offered = false;
  options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cuda.row_attention"; });
    offered = offered || !candidates.empty();
    return candidates;
  };
  options.profiles = {{{"q", {{1, 4, 1, 64}, {1, 4, 2, 64}, {1, 4, 70, 64}, {}, {}, {}}},
                       {"k", {{1, 2, 1, 64}, {1, 2, 300, 64}, {1, 2, 900, 64}, {}, {}, {}}},
                       {"v", {{1, 2, 1, 64}, {1, 2, 300, 64}, {1, 2, 900, 64}, {}, {}, {}}}}};
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  EXPECT_TRUE(offered);
  runtime::Context context(engine, {}, log);
  auto& device = engine->device();
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{2, 300}, {70, 900}, {17, 31}, {1, 1}, {4, 16}}) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys", queries, keys));
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {1, 4, queries, 64}, 1));
    for (const uint64_t seed : {2, 3}) inputs.push_back(randomTensor(DataType::kF16, {1, 2, keys, 64}, seed));
    const auto wanted = graph::evaluate(graph, views(inputs));
    const HostTensor got(DataType::kF16, {1, 4, queries, 64});
    std::memset(got.view().data, 0x7b, got.view().bytes());
    std::deque<DeviceTensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors.emplace_back(device, inputs[i].view());
      context.setInputShape(i, inputs[i].view().dims);
      context.setAddress(i, tensors.back().data());
    }
    const DeviceTensor output(device, got.view());
    context.setAddress(inputs.size(), output.data());
    context.enqueue(nullptr);
    device.synchronize(nullptr);
    output.readBack();
    EXPECT_LE(relativeError(got.view(), wanted[0].view()), 2e-3);
  }
}

// Beside kernels that have all keys of a head at once, where groups of four warps would have to share these.
TEST(Attention, ManyKeysComeByStages) {
  for (const int64_t keys : {197, 384}) {
    ops::Attention op;
    op.heads = 12;
    op.packed = true;
    const runtime::TensorShape x{DataType::kF16, {16, keys, 2304}}, y{DataType::kF16, {16, keys, 768}};
    const auto p = backends::cuda::dnn::attentionProblem(op, {std::span(&x, 1), std::span(&y, 1), nullptr});
    EXPECT_EQ(backends::cuda::streamChoices(p).empty(), keys == 197);
    EXPECT_TRUE(backends::cuda::flashChoices(p, false, false)[0].groups);
  }
}

// Kernels that have all keys of a head at once are for as many as there are: of any batch, not of any length.
TEST_F(OnGpu, AttentionOfAnyBatchHasAllKeysAtOnce) {
  for (const bool isLong : {false, true}) {
    const auto graph = graph::parse(fmt::format(
        "graph \"open\" {{\n  symbol \"N\" = extent(%x, {})\n  input %x : f16[{}]\n"
        "  %y : f16[{}] = attention{{heads=3 scale=0.125 packed=true}}(%x) \"op\" from(\"op\")\n  output %y\n}}",
        isLong ? 1 : 0, isLong ? "2,N,576" : "N,100,576", isLong ? "2,N,192" : "N,100,192"));
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cuda";
    options.log = &log;
    options.optimizationLevel = 0;
    bool offered = false;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      const auto hasGroups = [](const auto& one) { return one.variant.find("groups") != std::string::npos; };
      offered |= std::any_of(candidates.begin(), candidates.end(), hasGroups);
      if (!isLong) std::erase_if(candidates, [&](const auto& one) { return !hasGroups(one); });
      return candidates;
    };
    const auto shape = [&](int64_t extent) { return isLong ? Dims{2, extent, 576} : Dims{extent, 100, 576}; };
    options.profiles = {{{"x", {shape(1), shape(100), shape(130), {}, {}, {}}}}};
    const auto plan = compile::build(graph, options);
    EXPECT_EQ(offered, !isLong);
    for (const int64_t extent : {1, 67, 130}) {
      std::vector<HostTensor> inputs;
      inputs.push_back(randomTensor(DataType::kF16, shape(extent), 1));
      const auto got = runOnGpu(plan, inputs);
      EXPECT_LE(relativeError(got.outputs[0].view(), graph::evaluate(graph, views(inputs))[0].view()), 2e-3) << extent;
    }
  }
}

TEST(Attention, FormsOfFewQueriesAreReadAsTheyAreWritten) {
  using backends::cuda::RowAttentionChoice;
  for (const char* text : {"f16,128,8,8x9", "bf16,16,16,1x16", "f16,64,8,3x1,capped"})
    EXPECT_EQ(RowAttentionChoice::parse(text).text(), text);
  for (const char* text : {"f32,128,8,8x9", "f16,136,8,8x9", "f16,144,8,8x9", "f16,128,12,8x9", "f16,128,24,8x9",
                           "f16,128,8,9x9", "f16,128,16,8x13", "f16,64,8,0x1", "f16,64,8,1x1,caps", "f16,64,8,1"})
    EXPECT_THROW(RowAttentionChoice::parse(text), UserError) << text;
}

TEST_F(OnGpu, AttentionUnderMasks) {
  for (const bool emptyIsZero : {false, true}) {
    check({DataType::kF16, false, 6e-3}, emptyIsZero);
    check({DataType::kF16, false, 6e-3, 64}, emptyIsZero);
    check({DataType::kF16, false, 6e-3, 128}, emptyIsZero);
    check({DataType::kF32, false, 2e-4}, emptyIsZero);
  }
  check({DataType::kBF16, false, 3e-2}, true);
  check({DataType::kBF16, false, 3e-2, 64}, true);
  check({DataType::kF32, true, 3e-2}, false);
}

TEST_F(OnGpu, AttentionOfInfiniteValues) {
  checkInfiniteValue({DataType::kF16, false, 6e-3, 64});
  checkInfiniteValue({DataType::kF16, false, 6e-3, 128});
  checkInfiniteValue({DataType::kF32, false, 2e-4});
}

}  // namespace
}  // namespace tenon::test
