// How many launches a concatenation takes, which only the emulated GPU counts.
#include <dlfcn.h>

#include "cuda/on_gpu.h"
#include "ops/op/concat.h"
#include "ops/op/reformat.h"

namespace tenon::test {
namespace {

// Kernels launched in two executions of the concatenation of these parts along axis 1 by the GPU's kernel.
uint64_t launchesOf(const std::vector<std::string>& parts, const std::string& result) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto count =
      driver == nullptr ? nullptr : reinterpret_cast<unsigned long (*)()>(dlsym(driver, "emulatedLaunches"));
  if (count == nullptr) throw InternalError("the emulated driver does not count launches");
  std::string text = "graph \"g\" {\n";
  std::string names;
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("  input %x{} : {}\n", i, parts[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  const auto graph =
      graph::parse(text + fmt::format("  %y : {} = concat{{axis=1}}({}) \"join\"\n  output %y\n}}\n", result, names));
  for (const auto id : graph.inputs())
    inputs.push_back(randomTensor(graph.value(id).type.dtype, evaluate(graph.value(id).type.shape, {}), id + 1));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Concat>() != nullptr)
      std::erase_if(candidates,
                    [](const auto& c) { return c.tactic != "cuda.concat" || c.outputs[0] != Layout::kLinear; });
    return candidates;
  };
  const uint64_t before = count();
  const auto run = runOnGpu(graph, inputs, options);
  const uint64_t launches = count() - before;
  const auto expected = graph::evaluate(graph, views(inputs));
  EXPECT_EQ(relativeError(run.outputs.at(0).view(), expected[0].view()), 0) << parts.size() << " parts";
  return launches;
}

TEST(Concatenations, OfManyPartsAreOneLaunch) {
  if (const auto reason = noGpu(); !reason.empty()) GTEST_SKIP() << reason;
  if (!emulated()) GTEST_SKIP() << "only the emulated driver counts launches";
  constexpr uint64_t kRuns = 2;
  const auto same = [](size_t parts) { return std::vector<std::string>(parts, "f16[3,8,5]"); };
  EXPECT_EQ(launchesOf(same(2), "f16[3,16,5]"), kRuns);
  EXPECT_EQ(launchesOf(same(64), "f16[3,512,5]"), kRuns);
  EXPECT_EQ(launchesOf(same(65), "f16[3,520,5]"), 2 * kRuns);
  EXPECT_EQ(launchesOf(same(200), "f16[3,1600,5]"), 4 * kRuns);
  // Parts whose rows are whole packs do not wait for those that have none.
  EXPECT_EQ(launchesOf({"f16[1,64]", "f16[1,64]", "f16[1,3]", "f16[1,5]"}, "f16[1,136]"), 2 * kRuns);
  EXPECT_EQ(launchesOf({"f16[1,0]", "f16[1,64]", "f16[1,0]"}, "f16[1,64]"), kRuns);
}

// The frames that a streaming network keeps, in front of new ones: a constant whose order in memory is not that of the
// result, and a part that stands in its place already.
TEST(Concatenations, CopyWhatDoesNotStandInItsPlace) {
  if (const auto reason = noGpu(); !reason.empty()) GTEST_SKIP() << reason;
  const auto graph = graph::parse(R"g(graph "frames" {
  input %x : f32[1,5,16]
  const %kept : f32[1,16,4,1] = random(1)
  const %w : f32[16,1,5,1] = random(2)
  const %v : f32[16,16] = random(3)
  %h : f32[1,5,16] = matmul{epilogue="relu(x0)"}(%x, %v) "product"
  %s : f32[1,1,5,16] = reshape{shape=[1,1,5,16]}(%h) "shaped"
  %t : f32[1,16,5,1] = transpose{permutation=[0,3,2,1]}(%s) "turned"
  %c : f32[1,16,9,1] = concat{axis=2}(%kept, %t) "frames"
  %m : f32[1,16,5,1] = convolution{groups=16 epilogue="add(x0,x1)"}(%c, %w, %t) "memory"
  %r : f32[1,1,5,16] = transpose{permutation=[0,3,2,1]}(%m) "back"
  %y : f32[1,1,5,16] = matmul{transposeB=true}(%r, %v) "behind"
  output %y
})g");
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {1, 5, 16}, 4));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const int level : {0, 3}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    const auto run = runOnGpu(graph, inputs, options);
    EXPECT_LE(relativeError(run.outputs.at(0).view(), expected[0].view()), 1e-5) << level;
  }
}

}  // namespace
}  // namespace tenon::test
