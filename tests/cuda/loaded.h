// Engines of a graph that are loaded with an allocator which counts, run on the GPU and compared with the reference.
#pragma once

#include <map>
#include <string>

#include "cuda/on_gpu.h"

namespace tenon::test {

// Counts, and refuses the request of one number.
class CountingAllocator final : public runtime::AllocatorHook {
 public:
  explicit CountingAllocator(int refused = -1) : refused_(refused) {}
  void* allocate(size_t bytes, size_t alignment, runtime::StreamHandle) override {
    if (requests++ == refused_) return nullptr;
    void* const memory = backends::cuda::cudaDevice().allocate(bytes, alignment);
    live[memory] = bytes;
    all += bytes;
    return memory;
  }
  void free(void* pointer, runtime::StreamHandle) noexcept override {
    if (live.erase(pointer) == 1) {
      backends::cuda::cudaDevice().free(pointer);
    } else {
      ++strangers;
    }
  }

  int requests = 0;
  uint64_t all = 0;
  std::map<void*, size_t> live;
  int strangers = 0;  // freed, but never given or given back before

 private:
  int refused_;
};

struct Made {
  explicit Made(const std::string& text, compile::BuildOptions options = {}) : graph(graph::parse(text)) {
    options.device = "cuda";
    options.log = &log;
    if (!options.filter) options.optimizationLevel = 0;
    const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
    bytes = engine->serialize();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const auto& type = graph.value(graph.inputs()[i]).type;
      inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), i + 1));
    }
  }

  // Loads with an allocator, runs, compares with the reference.
  void expectRight(const std::shared_ptr<const runtime::Engine>& engine) {
    runtime::Context context(engine, {}, log);
    expectRight(engine, context);
  }
  void expectRight(const std::shared_ptr<const runtime::Engine>& engine, runtime::Context& context) {
    std::vector<std::unique_ptr<DeviceTensor>> buffers;
    std::vector<HostTensor> outputs;
    std::deque<HostTensor> stored;
    const auto& io = engine->io();
    for (size_t i = 0; i < io.size(); ++i) {
      ASSERT_EQ(io[i].layout, Layout::kLinear);
      if (!io[i].isInput) outputs.emplace_back(io[i].dtype, context.shape(static_cast<int>(i)));
      const auto& view = io[i].isInput ? inputs.at(buffers.size()).view() : outputs.back().view();
      buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), view));
      context.setAddress(static_cast<int>(i), buffers.back()->data());
    }
    context.enqueue(nullptr);
    engine->device().synchronize(nullptr);
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& wanted = expected[i].view();
      for (int64_t k = 0; k < wanted.count(); ++k)
        ASSERT_TRUE(std::isfinite(wanted.loadDouble(k))) << "of the reference";
      buffers[inputs.size() + i]->readBack();
      EXPECT_LE(relativeError(outputs[i].view(), expected[i].view()), 2e-2) << "output " << i;
    }
  }

  RecordingLog log;
  graph::Graph graph;
  LargeVector<std::byte> bytes;
  std::vector<HostTensor> inputs;
};

}  // namespace tenon::test
