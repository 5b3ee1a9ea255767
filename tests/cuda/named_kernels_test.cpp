// Records that name kernels of a file: which of them run, and texts that name none.
#include "backends/cuda/kernels/common/named_kernels.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

using backends::cuda::NamedKernels;

plan::KernelRecord recordOf(std::string params) {
  plan::KernelRecord record;
  record.params = std::move(params);
  return record;
}

TEST(NamedKernels, AreReadAsTheyAreWritten) {
  const std::vector<std::string> names{"tenon_a", "tenon_b_16"};
  const NamedKernels named(recordOf(backends::cuda::namedParameters(names, "[f16,f32] [f16]")));
  EXPECT_EQ(named.names, names);
  EXPECT_EQ(named.types.text(), "[f16,f32] [f16]");
  backends::cuda::Code code;
  named.addTo(code);
  EXPECT_EQ(code.source(), "#define NAMED_KERNELS \n#define HAS_tenon_a ,\n#define HAS_tenon_b_16 ,\n");
  const NamedKernels all(recordOf(backends::cuda::namedParameters({}, "[f16] [f16]")));
  EXPECT_TRUE(all.names.empty());
  all.addTo(code = {});
  EXPECT_TRUE(code.defines.empty());
}

TEST(NamedKernels, OthersAreRefused) {
  for (const char* text :
       {"", "tenon_a", "tenon_a\n#error [f16] [f16]", "other [f16] [f16]", "tenon_a,,tenon_b [f16] [f16]",
        "tenon_a(){}, [f16] [f16]", "tenon_a [f16", "tenon_a,tenon_B [f16] [f16]"})
    EXPECT_THROW((void)NamedKernels(recordOf(text)), Error) << text;
}

// A plan for another number of multiprocessors holds other kernels than this chip would take, and runs; one whose
// kernel does not take its extents says so.
TEST_F(OnGpu, NormalizationsRunByTheKernelsOfTheirPlans) {
  const auto graph = graph::parse(R"g(graph "g" {
  input %x : f16[5,512]
  input %s : f16[512]
  input %b : f16[512]
  %y : f16[5,512] = normalization{axes=[-1]}(%x, %s, %b) "n"
  output %y
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  auto plan = compile::build(graph, options);
  ASSERT_EQ(plan.programs.size(), 1u);
  plan::KernelRecord* record = nullptr;
  for (auto& step : plan.programs[0].steps) {
    if (step.kernel.name == "normalization") record = &step.kernel;
  }
  ASSERT_NE(record, nullptr);
  const std::string types = " [f16,f16,f16] [f16]";
  ASSERT_TRUE(record->params.starts_with("tenon_normalize_")) << record->params;
  ASSERT_TRUE(record->params.ends_with(types)) << record->params;
  record->nativeCode = -1;
  std::vector<HostTensor> inputs;
  for (const auto input : graph.inputs())
    inputs.push_back(randomTensor(DataType::kF16, evaluate(graph.value(input).type.shape, {}), inputs.size() + 1));
  const auto expected = graph::evaluate(graph, views(inputs));
  for (const char* names :
       {"tenon_normalize_few_rows_block,tenon_normalize_4", "tenon_normalize_few_rows_warp_4,tenon_normalize_16",
        "tenon_normalize_4", "tenon_normalize_16", "tenon_normalize_planes,tenon_normalize_4"}) {
    record->params = names + types;
    const auto run = runOnGpu(plan, inputs);
    EXPECT_LT(relativeError(run.outputs[0].view(), expected[0].view()), 2e-3) << names;
  }
  for (const char* names : {"tenon_normalize_warp", "tenon_normalize_few_rows_block"}) {
    record->params = names + types;
    EXPECT_THROW((void)runOnGpu(plan, inputs), Unsupported) << names;
  }
}

}  // namespace
}  // namespace tenon::test
