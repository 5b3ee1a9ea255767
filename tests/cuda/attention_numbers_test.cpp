// Attention by each candidate where rows are no numbers: queries with a NaN, rows that see no key, masks of infinity.
// What is no number stays in its row.
#include <cmath>
#include <set>

#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

void checkNumbers(int64_t queries, int64_t keys, const std::string& type, bool emptyIsZero) {
  const auto graph = graph::parse(fmt::format(R"g(graph "numbers" {{
  input %q : {0}[1,2,{1},64]
  input %k : {0}[1,2,{2},64]
  input %v : {0}[1,2,{2},64]
  input %m : {0}[1,1,{1},{2}]
  %y : {0}[1,2,{1},64] = attention{{scale=0.125 hasMask=true{3}}}(%q, %k, %v, %m) "op"
  output %y
}})g",
                                              type, queries, keys, emptyIsZero ? " emptyIsZero=true" : ""));
  std::vector<HostTensor> inputs;
  for (const auto id : graph.inputs()) {
    const auto& known = graph.value(id).type;
    inputs.push_back(randomTensor(known.dtype, evaluate(known.shape, {}), inputs.size() + 1));
  }
  const auto put = [&](size_t input, int64_t place, double value) {
    storeDouble(inputs[input].view().dtype, inputs[input].view().data, place, value);
  };
  put(0, 1 * 64 + 7, NAN);                                             // of the first head's second query
  for (int64_t t = 0; t < keys; ++t) put(3, 2 * keys + t, -INFINITY);  // the third row sees nothing
  for (int64_t t = 0; t < 20; ++t) put(3, 3 * keys + t, -INFINITY);    // the fourth not the first keys
  put(3, 4 * keys + keys - 1, INFINITY);
  const auto expected = graph::evaluate(graph, views(inputs));
  std::set<std::string> tactics;
  for (size_t turn = 0, count = 1; turn < count; ++turn) {
    std::string name;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      count = candidates.size();
      candidates = {candidates.at(turn)};
      name = candidates[0].text();
      tactics.insert(candidates[0].tactic);
      return candidates;
    };
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs[0].view(), expected[0].view()), type == "bf16" ? 2e-2 : 3e-3) << name;
  }
  EXPECT_GE(tactics.size(), 2u);
  EXPECT_EQ(tactics.contains("cuda.row_attention"), queries <= 16 && type != "f32");
}

TEST_F(OnGpu, AttentionOfRowsThatAreNoNumbers) {
  for (const bool emptyIsZero : {false, true}) {
    checkNumbers(5, 90, "f16", emptyIsZero);
    checkNumbers(11, 90, "bf16", emptyIsZero);
    checkNumbers(37, 150, "f16", emptyIsZero);
    checkNumbers(70, 640, "f16", emptyIsZero);
  }
}

}  // namespace
}  // namespace tenon::test
