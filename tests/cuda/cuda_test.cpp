// The CUDA backend: generated code for every chip by NVRTC (needs no GPU), and engines on a GPU against the reference.
#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_code.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// A device buffer with the contents of a host tensor.
class DeviceTensor {
 public:
  DeviceTensor(runtime::Device& device, const TensorView& view) : device_(device), view_(view) {
    data_ = device.allocate(view.bytes(), 256);
    device.copy(data_, view.data, view.bytes(), runtime::CopyKind::kHostToDevice, nullptr);
    device.synchronize(nullptr);
  }
  ~DeviceTensor() { device_.free(data_); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  void* data() const { return data_; }
  void readBack() const {
    device_.copy(view_.data, data_, view_.bytes(), runtime::CopyKind::kDeviceToHost, nullptr);
    device_.synchronize(nullptr);
  }

 private:
  runtime::Device& device_;
  TensorView view_;
  void* data_ = nullptr;
};

void expectMatchesOnGpu(const std::string& text, const std::vector<HostTensor>& inputs, build::BuildOptions options = {}) {
  RecordingLog log;
  options.device = "cuda";
  options.log = &log;
  const auto graph = graph::parse(text);
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto made = runtime::Engine::make(build::build(graph, options), {}, log);
  const auto engine = runtime::Engine::load(made->serialize(), {}, log);
  runtime::Context context(engine, {}, log);
  std::vector<std::unique_ptr<DeviceTensor>> buffers;
  std::vector<HostTensor> got;
  const auto& io = engine->io();
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    if (!io[static_cast<size_t>(i)].isInput) continue;
    const auto& view = inputs.at(static_cast<size_t>(i)).view();
    if (!isConstant(io[static_cast<size_t>(i)].shape)) context.setInputShape(i, view.dims);
    buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), view));
    context.setAddress(i, buffers.back()->data());
  }
  ASSERT_TRUE(context.inferShapes().empty());
  const size_t firstOutput = buffers.size();
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    if (io[static_cast<size_t>(i)].isInput) continue;
    got.emplace_back(io[static_cast<size_t>(i)].dtype, context.shape(i));
    buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), got.back().view()));
    context.setAddress(i, buffers.back()->data());
  }
  for (int repeat = 0; repeat < 2; ++repeat) context.enqueue(nullptr);
  engine->device().synchronize(nullptr);
  for (size_t i = 0; i < got.size(); ++i) {
    buffers[firstOutput + i]->readBack();
    EXPECT_LE(relativeError(got[i].view(), expected[i].view()), 1e-5) << text;
  }
}

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& reason = backends::cuda::unavailableReason();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(OnGpu, FusedPointwiseWithBroadcast) {
  for (const Dims& dims : {Dims{1, 1, 1}, Dims{3, 5, 7}, Dims{64, 33, 257}}) {
    const auto shape = text(toShape(dims));
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, dims, 1));
    inputs.push_back(randomTensor(DataType::kF32, {dims[1], 1}, 2));
    expectMatchesOnGpu(fmt::format(R"g(graph "pw" {{
      input %x : f32{0}
      input %y : f32[{1},1]
      %a : f32{0} = pointwise{{expr="mul(x0,x1)"}}(%x, %y) "mul" from("mul")
      %b : f32{0} = pointwise{{expr="sigmoid(x0)"}}(%a) "sigmoid" from("sigmoid")
      %c : f32{0} = pointwise{{expr="add(x0,x1)"}}(%b, %x) "add" from("add")
      output %c
    }})g", shape, dims[1]), inputs);
  }
}

TEST_F(OnGpu, MatMulWithEpilogueAndDynamicRows) {
  build::BuildOptions options;
  plan::InputRange range;
  range.min = {1, 96};
  range.opt = {64, 96};
  range.max = {512, 96};
  options.profiles = {{{"x", range}}};
  for (const int64_t rows : {1, 7, 64, 512}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, {rows, 96}, 1));
    expectMatchesOnGpu(R"g(graph "mm" {
      symbol "N" = extent(%x, 0)
      input %x : f32[N,96]
      const %w : f32[96,130] = random(5)
      const %b : f32[1,130] = random(6)
      const %v : f32[10,130] = random(7)
      %m : f32[N,130] = matmul(%x, %w) "fc1" from("fc1")
      %a : f32[N,130] = pointwise{expr="add(x0,x1)"}(%m, %b) "bias" from("bias")
      %r : f32[N,130] = pointwise{expr="relu(x0)"}(%a) "relu" from("relu")
      %y : f32[N,10] = matmul{transposeB=true}(%r, %v) "fc2" from("fc2")
      output %y
    })g", inputs, options);
  }
}

TEST_F(OnGpu, BatchedMatMul) {
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {4, 3, 17, 31}, 1));
  inputs.push_back(randomTensor(DataType::kF32, {4, 3, 31, 5}, 2));
  expectMatchesOnGpu(R"g(graph "bmm" {
    input %x : f32[4,3,17,31]
    input %y : f32[4,3,31,5]
    %m : f32[4,3,17,5] = matmul(%x, %y) "bmm"
    output %m
  })g", inputs);
}

TEST(Cuda, AbsenceIsAClearRefusal) {
  const auto& reason = backends::cuda::unavailableReason();
  if (reason.empty()) GTEST_SKIP() << "a GPU is here";
  RecordingLog log;
  build::BuildOptions options;
  options.device = "cuda";
  options.log = &log;
  try {
    build::build(graph::parse(R"g(graph "g" {
      input %x : f32[2]
      %y : f32[2] = pointwise{expr="relu(x0)"}(%x) "r"
      output %y
    })g"), options);
    FAIL();
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

// Every row of the table, alone and with broadcast operands, compiles for every chip.
TEST(Cuda, EveryScalarOperatorCompilesForEveryChip) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  ops::ScalarExpr all;
  for (size_t i = 0; i < ops::scalarTable().size(); ++i) {
    const auto op = static_cast<ops::ScalarOp>(i);
    auto instruction = ops::ScalarExpr::of(op).instructions[0];
    all.instructions.push_back(instruction);
  }
  const std::vector<DataType> types(3, DataType::kF32);
  const auto source = backends::cuda::pointwiseSource(all, types, DataType::kF32);
  for (const int capability : {80, 89, 90, 100, 120}) EXPECT_FALSE(backends::cuda::compile(source, capability).empty()) << capability;
}

}  // namespace
}  // namespace tenon::test
