// Every case of the operators on the GPU, by each of its candidates in turn, against the reference.
#include <cstdio>
#include <cstdlib>

#include "cuda/on_gpu.h"
#include "cuda/operator_cases.h"
#include "ops/op/attention.h"
#include "ops/op/reformat.h"

namespace tenon::test {
namespace {

double toleranceOf(DataType type) {
  switch (type) {
    case DataType::kF16: return 1.5e-3;
    case DataType::kBF16: return 1e-2;
    case DataType::kF8E4M3: return 0.06;
    default: return isFloating(type) ? 2e-5 : 0;
  }
}

// Random values; those of large tensors repeat, because making them would take longer than all else.
HostTensor valuesFor(const ops::TensorType& type, uint64_t seed) {
  constexpr int64_t kPeriod = 1 << 20;
  const Dims dims = evaluate(type.shape, {});
  if (dims.count() <= kPeriod) return randomTensor(type.dtype, dims, seed);
  const HostTensor period = randomTensor(type.dtype, {kPeriod}, seed);
  HostTensor tensor(type.dtype, dims);
  const size_t step = period.view().bytes();
  for (size_t at = 0; at < tensor.view().bytes(); at += step) {
    std::memcpy(tensor.view().as<char>() + at, period.view().data, std::min(step, tensor.view().bytes() - at));
  }
  return tensor;
}

std::vector<HostTensor> inputsOf(const OperatorCase& c) {
  std::vector<HostTensor> inputs;
  size_t scalar = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.constantWeights && i == 1) continue;
    const auto type = parseType(c.inputs[i]);
    inputs.push_back(valuesFor(type, i + 1));
    const auto& view = inputs.back().view();
    if (type.shape.empty() && scalar < c.scalars.size()) view.storeDouble(0, c.scalars[scalar++]);
    for (int64_t k = 0; k < view.count(); ++k) {
      if (i == 1 && c.indexLimit > 0) view.storeInt(k, (k * 7919 + 3) % (2 * c.indexLimit) - c.indexLimit);
      if (i > 0 && c.positive && isFloating(type.dtype)) view.storeDouble(k, 0.75 + view.loadDouble(k) / 4);
    }
  }
  return inputs;
}

// Takes candidate `turn` of every node (counted around), and remembers the texts and how many turns there are.
struct Turn {
  size_t turn = 0;
  size_t turns = 1;
  std::string taken;

  std::vector<compile::Candidate> operator()(std::vector<compile::Candidate> candidates) {
    if (candidates.empty()) return candidates;
    turns = std::max(turns, candidates.size());
    const auto chosen = candidates[turn % candidates.size()];
    taken += (taken.empty() ? "" : " ") + chosen.text();
    return {chosen};
  }
};

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

// TENON_TEST_BY=text: only candidates in whose text that stands.
bool isLeftOut(const compile::Candidate& candidate) {
  static const char* const kBy = std::getenv("TENON_TEST_BY");
  return kBy != nullptr && candidate.text().find(kBy) == std::string::npos;
}

// Runs every candidate; `visit(candidates, run)` sees each.
template <typename Visit>
void eachCandidate(const OperatorCase& c, Visit visit) {
  const auto graph = graph::parse(graphOf(c));
  const auto inputs = inputsOf(c);
  for (size_t turn = 0, turns = 1; turn < turns; ++turn) {
    Turn choice{turn, 1, {}};
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.as<ops::Reformat>() != nullptr) return candidates;
      std::erase_if(candidates, isLeftOut);
      return choice(std::move(candidates));
    };
    try {
      const auto run = runOnGpu(graph, inputs, options);
      visit(choice.taken, graph, inputs, run);
    } catch (const std::exception& error) {
      if (choice.taken.empty() && std::getenv("TENON_TEST_BY") != nullptr) return;
      ADD_FAILURE() << c.op << " " << fmt::format("{}", fmt::join(c.inputs, " ")) << " by " << choice.taken << ": "
                    << error.what();
    }
    turns = choice.turns;
  }
}

// Times every candidate on tensors that lie as it takes them.
template <typename Visit>
void timeCandidates(const OperatorCase& c, Visit visit) {
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
          return takesMinutes || isLeftOut(candidate) || (!candidate.inputs.empty() && candidate.inputs[0] != from) ||
                 candidate.outputs[0] != (narrow ? Layout::kLinear : to);
        });
        return choice(std::move(candidates));
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

class Operators : public ::testing::TestWithParam<OperatorCases> {
 protected:
  void SetUp() override {
    if (const auto reason = noGpu(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(Operators, EveryCandidateMatchesTheReference) {
  for (const auto& c : GetParam().cases) {
    std::vector<HostTensor> expected;
    eachCandidate(c, [&](const std::string& taken, const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                         const GpuRun& run) {
      if (expected.empty()) expected = graph::evaluate(graph, views(inputs));
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto& want = expected[i].view();
        const double error = relativeError(run.outputs.at(i).view(), want);
        const double limit = c.tolerance != 0 ? c.tolerance : toleranceOf(want.dtype);
        std::printf("%-10s error %.2e of %.0e  %s %s by %s\n", error <= limit ? "right" : "WRONG", error, limit,
                    c.op.c_str(), fmt::format("{}", fmt::join(c.inputs, " ")).c_str(), taken.c_str());
        EXPECT_LE(error, limit) << c.op << " " << fmt::format("{}", fmt::join(c.inputs, " ")) << " by " << taken
                                << ", output " << i;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, Operators, ::testing::ValuesIn(operatorCases()),
                         [](const auto& info) { return info.param.name; });

// Of attention's two products; of other operators 0.
double attentionOperations(const OperatorCase& c) {
  const auto op = ops::Operator::parse(c.op);
  const auto* attention = op.as<ops::Attention>();
  if (attention == nullptr) return 0;
  const Dims q = evaluate(parseType(c.inputs[0]).shape, {});
  const Dims k = evaluate(parseType(c.inputs[attention->packed ? 0 : 1]).shape, {});
  return 4.0 * static_cast<double>(q.count()) / (attention->packed ? 3 : 1) * static_cast<double>(k[k.rank - 2]);
}

// No check of correctness: large tensors through every candidate, with the bandwidth (and of attention the operations)
// that each reaches. TENON_TEST_SPEED_OF=text: the operators in whose text that stands.
TEST_F(OnGpu, SpeedOfLargeTensors) {
  if (emulated()) GTEST_SKIP() << "the GPU is emulated, its times say nothing";
  const char* only = std::getenv("TENON_TEST_SPEED_OF");
  for (const auto& c : speedCases()) {
    if (only != nullptr && c.op.find(only) == std::string::npos) continue;
    timeCandidates(c, [&](const std::string& taken, const std::vector<HostTensor>& inputs, const GpuRun& run) {
      size_t bytes = 0;
      for (const auto& tensor : inputs) bytes += tensor.view().bytes();
      for (const auto& tensor : run.outputs) bytes += tensor.view().bytes();
      std::printf("%9.2f us %8.1f GB/s %7.1f TFLOP/s  %s %s by %s\n", run.seconds * 1e6,
                  static_cast<double>(bytes) / run.seconds * 1e-9, attentionOperations(c) / run.seconds * 1e-12,
                  c.op.c_str(), fmt::format("{}", fmt::join(c.inputs, " ")).c_str(), taken.c_str());
    });
  }
}

}  // namespace
}  // namespace tenon::test
