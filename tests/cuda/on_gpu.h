// Engines on the GPU from graphs, and tests that need one.
#pragma once

#include <cstdlib>
#include <cstring>
#include <deque>

#include "backends/cuda/driver/cuda_device.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "support/build_and_run.h"

namespace tenon::test {

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

// The bytes of a tensor in a layout.
inline HostTensor storedAs(Layout layout, const TensorView& view) {
  HostTensor memory(DataType::kU8, Dims{static_cast<int64_t>(storageBytes(view.dtype, view.dims, layout))});
  copyTo(layout, view, Layout::kLinear, memory.view().data);
  return memory;
}

struct GpuRun {
  std::vector<HostTensor> outputs;
  double seconds = 0;  // of one enqueue, when asked for
};

// Inputs are row-major and laid out as the engine wants them, outputs the other way round. Goes through the serialized
// plan, runs twice and, with `timed`, often.
inline GpuRun runOnGpu(const plan::Plan& plan, const std::vector<HostTensor>& inputs, bool timed = false) {
  RecordingLog log;
  const auto engine = runtime::Engine::load(runtime::Engine::make(plan, {}, log)->serialize(), {}, log);
  runtime::Context context(engine, {}, log);
  std::deque<HostTensor> stored;  // what buffers hold
  std::vector<Layout> layouts;    // of outputs
  std::vector<std::unique_ptr<DeviceTensor>> buffers;
  GpuRun result;
  const auto& io = engine->io();
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    if (!io[static_cast<size_t>(i)].isInput) continue;
    const auto& view = inputs.at(static_cast<size_t>(i)).view();
    if (!isConstant(io[static_cast<size_t>(i)].shape)) context.setInputShape(i, view.dims);
    stored.push_back(storedAs(io[static_cast<size_t>(i)].layout, view));
    buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), stored.back().view()));
    context.setAddress(i, buffers.back()->data());
  }
  EXPECT_TRUE(context.inferShapes().empty());
  const size_t firstOutput = buffers.size();
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    if (io[static_cast<size_t>(i)].isInput) continue;
    result.outputs.emplace_back(io[static_cast<size_t>(i)].dtype, context.shape(i));
    auto& view = result.outputs.back().view();
    std::memset(view.data, 0x7b, view.bytes());  // what is not written is no zero
    const Layout layout = io[static_cast<size_t>(i)].layout;
    layouts.push_back(layout);
    stored.emplace_back(DataType::kU8, Dims{static_cast<int64_t>(storageBytes(view.dtype, view.dims, layout))});
    std::memset(stored.back().view().data, 0x7b, stored.back().view().bytes());
    buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), stored.back().view()));
    context.setAddress(i, buffers.back()->data());
  }
  for (int repeat = 0; repeat < 2; ++repeat) context.enqueue(nullptr);
  engine->device().synchronize(nullptr);
  if (timed) {
    constexpr int kRuns = 20;
    const auto timer = engine->device().makeTimer(2);
    timer->mark(0, nullptr);
    for (int run = 0; run < kRuns; ++run) context.enqueue(nullptr);
    timer->mark(1, nullptr);
    engine->device().synchronize(nullptr);
    result.seconds = timer->milliseconds(0, 1) * 1e-3 / kRuns;
  }
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    buffers[firstOutput + i]->readBack();
    auto& memory = stored[firstOutput + i].view();
    auto& view = result.outputs[i].view();
    copyTo(Layout::kLinear, {memory.data, view.dtype, view.dims}, layouts[i], view.data);
    // Padding is zero.
    const auto again = storedAs(layouts[i], view);
    EXPECT_EQ(std::memcmp(again.view().data, memory.data, memory.bytes()), 0) << name(layouts[i]);
  }
  return result;
}

// The same with the engine that is built of a graph.
inline GpuRun runOnGpu(const graph::Graph& graph, const std::vector<HostTensor>& inputs, compile::BuildOptions options,
                       bool timed = false) {
  RecordingLog log;
  options.device = "cuda";
  options.log = &log;
  return runOnGpu(compile::build(graph, options), inputs, timed);
}

inline bool emulated() { return backends::cuda::cudaDevice().name() == "emulated GPU"; }

// Why a test cannot run, or empty. TENON_TEST_EMULATED says that there must be a GPU, if only the emulated one.
inline std::string noGpu() {
  const auto& reason = backends::cuda::unavailableReason();
  if (!reason.empty() && std::getenv("TENON_TEST_EMULATED") != nullptr)
    ADD_FAILURE() << "the emulated GPU does not answer: " << reason;
  return reason;
}

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = noGpu(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace tenon::test
