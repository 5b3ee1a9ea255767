// Constants that are added one after the other.
#include "check_pass.h"

namespace tenon::passes {
namespace {

const std::string kTables = R"g(input %x : f32[2,3,8]
  const %c : f32[2,3,8] = random(1)
  const %d : f32[3,8] = random(2)
  const %e : f32[1,3,8] = random(3)
  const %v : f32[8] = random(4)
  const %p : f32[2,1,8] = random(5)
)g";

std::string sum(const char* result, const char* operands, const char* expr = "add(x0,x1)") {
  return fmt::format("%{0} : f32[2,3,8] = pointwise{{expr=\"{2}\"}}({1}) \"{0}\" from(\"{0}\")\n", result, operands,
                     expr);
}

TEST(MergeConstants, TablesBecomeOne) {
  const std::string sums = sum("a", "%x, %c") + sum("b", "%e, %a") + sum("y", "%b, %d");
  const auto after = expectPass("merge_constants", kTables + sums + "output %y\n", "pointwise");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.origins, (std::vector<std::string>{"a", "b", "y"}));
  EXPECT_EQ(after.value(node.inputs[1]).constant->dims().text(), (Dims{2, 3, 8}).text());
}

TEST(MergeConstants, OthersStay) {
  const auto stays = [](const std::string& body) {
    SCOPED_TRACE(body);
    expectPass("merge_constants", kTables + body + "output %y\n", "pointwise pointwise");
  };
  stays(sum("a", "%x, %v") + sum("y", "%a, %d"));  // a vector along an axis
  stays(sum("a", "%x, %d") + sum("y", "%a, %p"));  // more elements together than either
  stays(sum("a", "%x, %d", "mul(x0,x1)") + sum("y", "%a, %e"));
  stays(sum("a", "%x, %d") + sum("y", "%a, %e", "sub(x0,x1)"));
  stays(sum("a", "%x, %d") + sum("y", "%a, %e") + "output %a\n");  // somebody else reads the first sum
  // What is no constant.
  stays("input %i : f32[1,3,8]\n" + sum("a", "%x, %d") + sum("y", "%a, %i"));
}

TEST(MergeConstants, EmbeddingsAreOnePickAndOneNormalization) {
  Options onGpu;
  onGpu.device = "cuda";
  const auto before = graph::parse(R"g(graph "embeddings" {
    input %ids : i32[2,3]
    const %words : f32[2,8] = random(1)
    const %segments : f32[2,3,8] = random(2)
    const %positions : f32[1,3,8] = random(3)
    const %s : f32[8] = random(4)
    const %b : f32[8] = random(5)
    %w : f32[2,3,8] = gather(%words, %ids) "words"
    %t : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%w, %segments) "segments"
    %p : f32[2,3,8] = pointwise{expr="add(x0,x1)"}(%t, %positions) "positions"
    %n : f32[2,3,8] = normalization{axes=[-1]}(%p, %s, %b) "norm"
    output %n
})g");
  auto after = before;
  run(after, onGpu);
  EXPECT_EQ(operators(after), "gather normalization");
}

}  // namespace
}  // namespace tenon::passes
