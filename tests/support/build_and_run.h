// Builds a graph into an engine and runs it on host memory: what tests of passes, tactics and the builder compare with
// the graph's reference evaluation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "compile/builder.h"
#include "compile/tune/timing_cache.h"
#include "graph/graph.h"
#include "runtime/context.h"

namespace tenon::test {

// Collects messages, so that tests can look at them.
class RecordingLog final : public Log {
 public:
  void write(Severity severity, const char* message) noexcept override {
    const std::lock_guard lock(mutex_);
    lines.emplace_back(severity, message);
  }
  bool contains(std::string_view part) const {
    for (const auto& [severity, line] : lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  std::vector<std::pair<Severity, std::string>> lines;

 private:
  std::mutex mutex_;
};

// Uniform in [-1, 1) for floating types, small integers and truth values for the others.
inline HostTensor randomTensor(DataType dtype, const Dims& dims, uint64_t seed) {
  HostTensor tensor(dtype, dims);
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    if (isFloating(dtype)) {
      tensor.view().storeDouble(i, unit * 2 - 1);
    } else {
      tensor.view().storeInt(i, static_cast<int64_t>(unit * (dtype == DataType::kBool ? 2 : 5)));
    }
  }
  return tensor;
}

inline std::vector<TensorView> views(const std::vector<HostTensor>& tensors) {
  std::vector<TensorView> result;
  for (const auto& tensor : tensors) result.push_back(tensor.view());
  return result;
}

// Largest difference over the norm of the expected values (or absolutely where those are tiny); infinity when one side
// has a NaN that the other has not.
inline double relativeError(const TensorView& got, const TensorView& expected) {
  double difference = 0;
  double norm = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = got.loadDouble(i);
    const double b = expected.loadDouble(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  if (std::isnan(difference)) return INFINITY;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double b = expected.loadDouble(i);
    if (std::isfinite(b) && got.loadDouble(i) == b) norm += b * b;
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-6);
}

// An output whose shape only the execution tells.
class GrowingOutput final : public runtime::OutputAllocatorHook {
 public:
  explicit GrowingOutput(DataType dtype) : dtype_(dtype) {}
  void* reallocate(const std::string&, void*, uint64_t bytes, uint64_t, runtime::StreamHandle) override {
    memory_ = HostTensor(DataType::kU8, {static_cast<int64_t>(bytes)});
    return memory_.view().data;
  }
  void notifyShape(const std::string&, const Dims& dims) override { dims_ = dims; }
  HostTensor take() const {
    HostTensor result(dtype_, dims_);
    std::memcpy(result.view().data, memory_.view().data, result.view().bytes());
    return result;
  }

 private:
  DataType dtype_;
  HostTensor memory_;
  Dims dims_;
};

inline std::vector<HostTensor> run(const std::shared_ptr<const runtime::Engine>& engine,
                                   const std::vector<HostTensor>& inputs, Log& log) {
  runtime::Context context(engine, {}, log);
  const auto& io = engine->io();
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    if (!io[static_cast<size_t>(i)].isInput) continue;
    const auto& view = inputs.at(next++).view();
    if (!isConstant(io[static_cast<size_t>(i)].shape)) context.setInputShape(i, view.dims);
    context.setAddress(i, view.data);
  }
  EXPECT_TRUE(context.inferShapes().empty());
  std::vector<HostTensor> outputs;
  std::map<size_t, GrowingOutput> growing;
  for (int i = 0; i < static_cast<int>(io.size()); ++i) {
    const DataType dtype = io[static_cast<size_t>(i)].dtype;
    if (io[static_cast<size_t>(i)].isInput) continue;
    const Dims dims = context.shape(i);
    if (std::find(dims.begin(), dims.end(), -1) != dims.end()) {
      context.setOutputAllocator(i, &growing.try_emplace(outputs.size(), dtype).first->second);
      outputs.emplace_back();
      continue;
    }
    outputs.emplace_back(dtype, dims);
    context.setAddress(i, outputs.back().view().data);
  }
  context.enqueue(nullptr);
  engine->device().synchronize(nullptr);
  for (const auto& [output, memory] : growing) outputs[output] = memory.take();
  return outputs;
}

// Builds, goes through the serialized plan, runs, and compares every output with the reference.
inline void expectMatchesReference(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                                   compile::BuildOptions options = {}, double tolerance = 1e-4) {
  RecordingLog log;
  if (options.device.empty()) options.device = "cpu";
  options.log = &log;
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto made = runtime::Engine::make(compile::build(graph, options), {}, log);
  const auto engine = runtime::Engine::load(made->serialize(), {}, log);
  const auto got = run(engine, inputs, log);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].view().dims, expected[i].view().dims) << got[i].view().dims.text();
    EXPECT_LE(relativeError(got[i].view(), expected[i].view()), tolerance) << "output " << i << " of\n"
                                                                           << graph::text(graph);
  }
}

inline void expectMatchesReference(const std::string& text, std::vector<Dims> inputDims = {},
                                   compile::BuildOptions options = {}) {
  const auto graph = graph::parse(text);
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto& type = graph.value(graph.inputs()[i]).type;
    const Dims dims = i < inputDims.size() ? inputDims[i] : evaluate(type.shape, {});
    inputs.push_back(randomTensor(type.dtype, dims, i + 1));
  }
  expectMatchesReference(graph, inputs, std::move(options));
}

}  // namespace tenon::test
