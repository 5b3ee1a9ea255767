// The speed of every candidate of operators whose time is worth knowing (speed.cases), on a GPU.
#include <cstdio>
#include <cstdlib>

#include "cases/cases.h"
#include "cases/turn.h"
#include "cuda/on_gpu.h"
#include "ops/op/attention.h"

namespace tenon::test {
namespace {

// Network inputs and outputs of four axes in these formats, so that no change of format is timed with an operator.
graph::Graph inFormats(graph::Graph graph, Layout inputs, Layout outputs) {
  const auto demand = [&](graph::ValueId id, Layout format) {
    auto& value = graph.value(id);
    if (value.type.shape.size() >= 4) value.constraints.layouts = {format};
  };
  for (const auto id : graph.inputs()) demand(id, inputs);
  for (const auto id : graph.outputs()) demand(id, outputs);
  return graph;
}

// Times every candidate on tensors that lie as it takes them.
template <typename Visit>
void timeCandidates(const Case& c, Visit visit) {
  const auto inputs = inputsOf(c);
  constexpr std::pair<Layout, Layout> kFormats[] = {{Layout::kLinear, Layout::kLinear},
                                                    {Layout::kChannelsLast, Layout::kChannelsLast},
                                                    {Layout::kLinear, Layout::kChannelsLast}};
  for (const auto& [from, to] : kFormats) {
    const auto graph = inFormats(graph::parse(graphOf(c)), from, to);
    const bool isFlat = graph.inputs().empty() || graph.value(graph.inputs()[0]).type.shape.size() < 4;
    if (to != Layout::kLinear && isFlat) continue;
    const bool narrow = graph.value(graph.outputs()[0]).type.shape.size() < 4;
    for (size_t turn = 0, turns = 1; turn < turns; ++turn) {
      Turn choice{turn, 0, {}};
      compile::BuildOptions options;
      options.optimizationLevel = 0;
      options.filter = [&, from = from, to = to](const graph::Node& node, std::vector<compile::Candidate> candidates) {
        if (node.op.as<ops::Reformat>() != nullptr) return candidates;
        std::erase_if(candidates, [&](const auto& candidate) {
          const bool takesMinutes = candidate.tactic == "cuda.host_evaluate" || candidate.tactic == "cuda.attention";
          return takesMinutes || (!candidate.inputs.empty() && candidate.inputs[0] != from) ||
                 candidate.outputs[0] != (narrow ? Layout::kLinear : to);
        });
        return choice(node, std::move(candidates));
      };
      try {
        const auto run = runOnGpu(graph, inputs, options, true);
        visit(choice.taken, inputs, run);
      } catch (const Unsupported& error) {
        if (choice.turns > 0)
          ADD_FAILURE() << c.op << " by " << choice.taken << ": " << error.what();  // else: none in this format
      }
      turns = choice.turns;
    }
  }
}

// Of attention's two products; of other operators 0.
double attentionOperations(const Case& c) {
  const auto op = ops::Operator::parse(c.op);
  const auto* attention = op.as<ops::Attention>();
  if (attention == nullptr) return 0;
  const Dims q = evaluate(parseType(c.operands[0]).shape, {});
  const Dims k = evaluate(parseType(c.operands[attention->packed ? 0 : 1]).shape, {});
  return 4.0 * static_cast<double>(q.count()) / (attention->packed ? 3 : 1) * static_cast<double>(k[k.rank - 2]);
}

// No check of correctness: large tensors through every candidate, with the bandwidth (and of attention the operations)
// that each reaches. TENON_TEST_SPEED_OF=text: the operators in whose text that stands.
TEST_F(OnGpu, SpeedOfLargeTensors) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  const char* only = std::getenv("TENON_TEST_SPEED_OF");
  for (const auto& c : readCases(pathOf("tests/cuda/speed.cases"))) {
    if (only != nullptr && c.op.find(only) == std::string::npos) continue;
    timeCandidates(c, [&](const std::string& taken, const std::vector<HostTensor>& inputs, const GpuRun& run) {
      size_t bytes = 0;
      for (const auto& tensor : inputs) bytes += tensor.view().bytes();
      for (const auto& tensor : run.outputs) bytes += tensor.view().bytes();
      std::printf("%9.2f us %8.1f GB/s %7.1f TFLOP/s  %s %s by %s\n", run.seconds * 1e6,
                  static_cast<double>(bytes) / run.seconds * 1e-9, attentionOperations(c) / run.seconds * 1e-12,
                  c.op.c_str(), fmt::format("{}", fmt::join(c.operands, " ")).c_str(), taken.c_str());
    });
  }
}

}  // namespace
}  // namespace tenon::test
