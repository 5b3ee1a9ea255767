// What plans say of the GPU and the libraries they need, and plans that another GPU made.
#include "compile/requirements.h"

#include "backends/cuda/driver/cuda_device.h"
#include "cuda/regions.h"
#include "runtime/kernel.h"
#include "runtime/requirements.h"

namespace tenon::test {
namespace {

constexpr const char* kNetwork = R"g(graph "net" {
  input %x : f32[3,7]
  %s : f32[3,7] = softmax{axis=1}(%x) "s"
  %y : f32[3,7] = pointwise{expr="exp(x0);mul(t0,2)"}(%s) "y"
  output %y
})g";

class Requirements : public OnGpu {
 protected:
  static plan::Plan built(RecordingLog& log) {
    compile::BuildOptions options;
    options.device = "cuda";
    options.optimizationLevel = 0;
    options.log = &log;
    return compile::build(graph::parse(kNetwork), options);
  }
  static std::string chip() { return fmt::format("sm:{}", backends::cuda::computeCapability()); }
};

TEST_F(Requirements, OwnCodeIsForTheChipAndItsKernelsForAny) {
  RecordingLog log;
  const auto plan = built(log);
  EXPECT_EQ(plan.target.requirements, std::vector<std::string>{"code:" + chip()});
  const auto& asked = dynamic_cast<const runtime::Requirements&>(runtime::backend("cuda"));
  EXPECT_EQ(asked.requirementsOf({"cuda", "softmax", 1, "", "", -1}), std::vector<std::string>{});
  EXPECT_EQ(asked.requirementsOf({"cuda", "cublaslt_matmul", 1, "", "", -1}), std::vector<std::string>{chip()});
  EXPECT_EQ(asked.requirementsOf({"cuda", "mma90_matmul", 1, "", "", 3}),
            (std::vector<std::string>{"code:" + chip(), chip()}));
  const auto ofCudnn = asked.requirementsOf({"cuda", "cudnn_convolution", 1, "", "", -1});
  ASSERT_EQ(ofCudnn.size(), 2U);
  EXPECT_EQ(ofCudnn[1].rfind("cudnn:", 0), 0U);
  EXPECT_TRUE(runtime::backend("cuda").device().meets(ofCudnn[1]));
  EXPECT_FALSE(runtime::backend("cuda").device().meets("cudnn:7"));
}

// A body multiplies by cuBLASLt, whose choices are bound to the chip; a loop around kernels of our own alone is not.
TEST_F(Requirements, BodiesOfLoopsAndConditionalsAreAsked) {
  RecordingLog log;
  auto options = unmeasured();
  options.device = "cuda";
  options.log = &log;
  const auto asked = [&](const std::string& text) {
    return compile::build(graph::parse(text), options).target.requirements;
  };
  const std::vector<std::string> both{"code:" + chip(), chip()};
  EXPECT_EQ(asked(recurrent(3, 1, 8, constantCount(3))), both);
  EXPECT_EQ(asked(R"g(graph "g" {
  input %x : f32[9,17]
  input %c : bool[]
  const %n : i64[] = {2}
  const %w : f32[17,17] = random(3)
  %y : f32[9,17] = if{then={3 [{loop{states=1 counted=true next={2 [{matmul [0,1] 1 "m"}] [2]}} [2,0,1] 1 "loop"}] [3]} otherwise={3 [{pointwise{expr="neg(x0)"} [0] 1 "n"}] [3]}}(%c, %x, %w, %n) "choice"
  output %y
})g"),
            both);
  EXPECT_EQ(asked(untilLarge()), std::vector<std::string>{"code:" + chip()});
}

// The code of the plan is no code at all: where it is for another chip, nothing reads it.
TEST_F(Requirements, CodeOfAnotherChipIsCompiledAgain) {
  RecordingLog log;
  auto plan = built(log);
  ASSERT_FALSE(plan.nativeCode.empty());
  for (auto& code : plan.nativeCode) std::fill(code.begin(), code.end(), std::byte{0x5a});
  plan.target.requirements = {"code:sm:12"};
  const auto engine = runtime::Engine::make(plan, {}, log);
  EXPECT_TRUE(log.contains("is for sm:12; this device"));
  EXPECT_TRUE(log.contains("Using an engine plan file across different models of devices is not recommended"));
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {3, 7}, 1));
  const auto expected = graph::evaluate(graph::parse(kNetwork), views(inputs));
  runtime::Context context(engine, {}, log);
  const DeviceTensor x(engine->device(), inputs[0].view());
  HostTensor got(DataType::kF32, {3, 7});
  const DeviceTensor y(engine->device(), got.view());
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.enqueue(nullptr);
  engine->device().synchronize(nullptr);
  y.readBack();
  EXPECT_LE(relativeError(got.view(), expected[0].view()), 1e-5);
}

TEST_F(Requirements, WhatIsBoundToAnotherChipIsRefused) {
  RecordingLog log;
  auto plan = built(log);
  plan.target.requirements = {"sm:12"};
  try {
    runtime::Engine::make(plan, {}, log);
    FAIL() << "expected an error";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("The engine plan file is generated on an incompatible device, expecting compute ", 0), 0U);
    EXPECT_NE(message.find(" got compute 1.2, please rebuild."), std::string::npos) << message;
  }
  // A kernel that cannot be made here from its record.
  plan.target.requirements = {"code:sm:12"};
  plan.programs[0].steps[0].kernel.name = "of_that_chip";
  try {
    runtime::Engine::make(plan, {}, log);
    FAIL() << "expected an error";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("got compute 1.2, please rebuild. (step '"), std::string::npos) << message;
    EXPECT_NE(message.find("of_that_chip"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tenon::test
