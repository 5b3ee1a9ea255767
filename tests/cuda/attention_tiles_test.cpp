// Attention by stages of keys whose blocks take one tile of rows after another.
#include <cmath>

#include "backends/cuda/kernels/attention/stream_attention.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

struct Operands {
  int64_t batch, heads, queries, keys, width;
  std::string mask;  // its shape, or empty: none
  bool causal = false;
  std::string type = "f16";

  graph::Graph asGraph() const {
    return graph::parse(fmt::format(
        "graph \"tiles\" {{\ninput %q : {7}[{0},{1},{2},{4}]\ninput %k : {7}[{0},{1},{3},{4}]\ninput %v : {7}[{0},{1},{3},{4}]\n{5}"
        "%y : {7}[{0},{1},{2},{4}] = attention{{scale=0.3{6}}}(%q, %k, %v{8}) \"op\" from(\"op\")\noutput %y\n}}",
        batch, heads, queries, keys, width, mask.empty() ? "" : fmt::format("input %m : {}[{}]\n", type, mask),
        std::string(mask.empty() ? "" : " hasMask=true") + (causal ? " causal=true" : ""), type,
        mask.empty() ? "" : ", %m"));
  }
};

// The greatest relative error of a head's rows, with the form forced. The first batch's mask is 0.
double errorOfForm(const Operands& operands, std::string_view tactic, const std::string& form) {
  const auto graph = operands.asGraph();
  std::vector<HostTensor> inputs;
  for (const auto id : graph.inputs()) {
    const auto& type = graph.value(id).type;
    inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), inputs.size() + 1));
  }
  for (int64_t i = 0; i < (operands.mask.empty() ? 0 : inputs[3].view().count() / operands.batch); ++i)
    inputs[3].view().storeDouble(i, 0);
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
  const auto run = runOnGpu(graph, inputs, options);
  EXPECT_TRUE(offered) << tactic;
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto& got = run.outputs[0].view();
  const auto& wanted = expected[0].view();
  const int64_t part = operands.queries * operands.width;
  double worst = 0;
  for (int64_t first = 0; first < wanted.count(); first += part) {
    double difference = 0, norm = 0;
    for (int64_t i = first; i < first + part; ++i) {
      difference += std::pow(got.loadDouble(i) - wanted.loadDouble(i), 2);
      norm += std::pow(wanted.loadDouble(i), 2);
    }
    const double error = std::sqrt(difference / norm);
    worst = error <= worst ? worst : error;  // a NaN stays
  }
  return worst;
}

// 160 tiles, of which 28 of 132 blocks take a second one; stages that are one, two or more for a tile, and rings that
// are longer and shorter than that.
TEST_F(OnGpu, AttentionByStagesTakesOneTileAfterAnother) {
  if (!backends::cuda::streamMissing().empty()) GTEST_SKIP() << backends::cuda::streamMissing();
  for (const char* mask : {"", "4,1,1,70", "4,1,33,70"}) {
    const Operands operands{4, 40, 33, 70, 16, mask};
    const std::string end = operands.mask.empty() ? "0" : operands.mask == "4,1,1,70" ? "2" : "1";
    for (const char* form : {"f16,16,1x32x3,0,", "f16,16,1x80x1,0,"})
      EXPECT_LE(errorOfForm(operands, "cuda.stream_attention", form + end), 2e-3) << form << end;
  }
  const Operands pairs{2, 80, 70, 64, 16, "2,1,1,64"};
  EXPECT_LE(errorOfForm(pairs, "cuda.stream_attention", "f16,16,2x48x2,1,2"), 2e-3);
  const Operands threes{1, 140, 130, 64, 16, ""};
  EXPECT_LE(errorOfForm(threes, "cuda.stream_attention", "f16,16,3x32x2,1,0"), 2e-3);
  const Operands wide{1, 140, 33, 64, 136, "", false, "bf16"};  // one tile of queries in shared memory
  EXPECT_LE(errorOfForm(wide, "cuda.stream_attention", "bf16,144,1x32x2,0,0"), 1.6e-2);
}

TEST_F(OnGpu, AttentionByStagesOfTilesThatSeeDifferentKeys) {
  if (!backends::cuda::streamMissing().empty()) GTEST_SKIP() << backends::cuda::streamMissing();
  const Operands operands{1, 3, 200, 200, 40, "", true};
  for (const char* form : {"f16,48,1x64x2,0,0,once", "f16,48,2x32x3,1,0,once", "f16,48,2x32x3,1,0"})
    EXPECT_LE(errorOfForm(operands, "cuda.stream_attention", form), 2e-3) << form;
  const Operands masked{1, 4, 200, 200, 40, "1,4,1,200", true};
  EXPECT_LE(errorOfForm(masked, "cuda.stream_attention", "f16,48,2x48x3,1,2,once"), 2e-3);
}

// More keys than the form was chosen for, fewer, and none.
TEST_F(OnGpu, AttentionByStagesOfAnyLength) {
  if (!backends::cuda::streamMissing().empty()) GTEST_SKIP() << backends::cuda::streamMissing();
  const auto graph = graph::parse(R"g(graph "open" {
  symbol "T" = extent(%k, 2)
  input %q : f16[1,2,70,16]
  input %k : f16[1,2,T,16]
  input %v : f16[1,2,T,16]
  %y : f16[1,2,70,16] = attention{scale=0.2}(%q, %k, %v) "op" from("op")
  output %y
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic != "cuda.stream_attention"; });
    return candidates;
  };
  options.profiles = {{{"k", {{1, 2, 0, 16}, {1, 2, 100, 16}, {1, 2, 300, 16}, {}, {}, {}}},
                       {"v", {{1, 2, 0, 16}, {1, 2, 100, 16}, {1, 2, 300, 16}, {}, {}, {}}}}};
  const auto plan = compile::build(graph, options);
  for (const int64_t keys : {100, 300, 1, 0}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF16, {1, 2, 70, 16}, 1));
    for (const uint64_t seed : {2, 3}) inputs.push_back(randomTensor(DataType::kF16, {1, 2, keys, 16}, seed));
    const auto run = runOnGpu(plan, inputs);
    const auto expected = graph::evaluate(graph, views(inputs));
    const auto& got = run.outputs[0].view();
    for (int64_t i = 0; keys == 0 && i < got.count(); ++i) ASSERT_EQ(got.loadDouble(i), 0);
    if (keys == 0) continue;
    EXPECT_LE(relativeError(got, expected[0].view()), 2e-3) << keys;
  }
}

// What a kernel is offered for.
backends::cuda::dnn::AttentionProblem problemOf(int64_t batch, int64_t rows, bool masked) {
  ops::Attention op;
  op.heads = 12;
  op.packed = true;
  op.hasMask = masked;
  const runtime::TensorShape x{DataType::kF16, {batch, rows, 2304}}, y{DataType::kF16, {batch, rows, 768}};
  std::vector<runtime::TensorShape> inputs{x};
  if (masked) inputs.push_back({DataType::kF16, {batch, 1, 1, rows}});
  return backends::cuda::dnn::attentionProblem(op, {inputs, std::span(&y, 1), nullptr});
}

TEST(Attention, StagesAreAsFullAsCanBe) {
  using backends::cuda::StreamMask;
  for (const int64_t keys : {384, 300, 1500}) {
    for (const auto& choice : backends::cuda::streamChoices(problemOf(16, keys, true))) {
      const int64_t stages = (keys + choice.keys - 1) / choice.keys;
      EXPECT_LT(stages * choice.keys - keys, 16 * stages) << choice.text();
      EXPECT_EQ(choice.mask, StreamMask::kOfKeys);
    }
  }
  for (const auto& choice : backends::cuda::streamChoices(problemOf(16, 384, true), true))
    EXPECT_EQ(choice.mask, StreamMask::kOfRows);
}

}  // namespace
}  // namespace tenon::test
