// Channel shuffles: recognised, and right in both memory formats.
#include "ops/op/gather.h"
#include "passes/pipeline.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

constexpr const char* kShuffle = R"g(graph "g" {
  input %x : f32[2,12,5,4]
  const %w : f32[12,12,1,1] = random(1)
  %c : f32[2,12,5,4] = convolution(%x, %w) "first"
  %a : f32[2,3,4,5,4] = reshape{shape=[2,3,4,5,4]}(%c) "split"
  %b : f32[2,4,3,5,4] = transpose{permutation=[0,2,1,3,4]}(%a) "swap"
  %d : f32[2,12,5,4] = reshape{shape=[2,12,5,4]}(%b) "join"
  %e : f32[2,12,5,4] = convolution(%d, %w) "second"
  output %e
})g";

int countGathers(graph::Graph graph, const std::string& device) {
  passes::Options options;
  options.device = device;
  passes::run(graph, options);
  int count = 0;
  for (const auto id : graph.order()) count += graph.node(id).op.as<ops::Gather>() != nullptr ? 1 : 0;
  return count;
}

TEST(Shuffle, BecomesAPickOfChannelsOnTheCpu) {
  EXPECT_EQ(countGathers(graph::parse(kShuffle), "cpu"), 1);
  EXPECT_EQ(countGathers(graph::parse(kShuffle), "cuda"), 0);
}

TEST(Shuffle, IsRight) {
  expectMatchesReference(kShuffle);
  compile::BuildOptions options;
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Gather>() == nullptr) return candidates;
    std::erase_if(candidates, [](const auto& c) { return c.outputs[0] != Layout::kChannelsLast; });
    return candidates;
  };
  expectMatchesReference(kShuffle, {}, options);
}

TEST(Shuffle, PicksOfEveryKindAreRight) {
  compile::BuildOptions options;
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.name == "pick")
      std::erase_if(candidates, [](const auto& c) { return c.outputs[0] != Layout::kChannelsLast; });
    return candidates;
  };
  const auto expectRight = [&](int64_t channels, const std::vector<int64_t>& picks) {
    SCOPED_TRACE(fmt::format("{} of {}", fmt::join(picks, ","), channels));
    expectMatchesReference(fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},3,5]
  const %i : i64[{1}] = {{{2}}}
  %y : f32[2,{1},3,5] = gather{{axis=1}}(%x, %i) "pick"
  output %y
}})g",
                                       channels, picks.size(), fmt::join(picks, ",")),
                           {}, options);
  };
  for (const int64_t parts : {1, 2, 3, 4, 5, 6}) {
    for (const int64_t each : {1, 2, 7, 34}) {
      std::vector<int64_t> picks;
      for (int64_t k = 0; k < parts * each; ++k) picks.push_back(k % parts * each + k / parts);
      expectRight(parts * each, picks);
    }
  }
  expectRight(8, {0, 4, 1, 5});  // halves of shuffles
  expectRight(8, {2, 6, 3, 7});
  expectRight(9, {1, 4, 7, 2, 5, 8});
  expectRight(12, {3, 6, 9, 0, 4, 7, 10, 1});
  expectRight(6, {5, 3, 5, 3});
  expectRight(8, {0, 2, 4, 6, 1, 3, 5, 6});
  expectRight(8, {0, 4, 1, 5});
  expectRight(6, {0, 4, 2, 0, 4, 2});
  expectRight(4, {-4, -2, -3, -1});
}

TEST(Shuffle, OtherPermutationsStay) {
  std::string text = kShuffle;
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("%b : f32[2,4,3,5,4] = transpose{permutation=[0,2,1,3,4]}",
          "%b : f32[2,4,3,4,5] = transpose{permutation=[0,2,1,4,3]}");
  EXPECT_EQ(countGathers(graph::parse(text), "cpu"), 0);
  expectMatchesReference(text);
}

}  // namespace
}  // namespace tenon::test
