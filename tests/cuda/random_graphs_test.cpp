// Random graphs on a GPU, by every kind of build: results beside the reference, and the same bits whenever and however
// they are executed.
#include <array>
#include <set>

#include "backends/cuda/driver/libraries.h"
#include "cuda/on_gpu.h"
#include "ops/op/scatter.h"
#include "ops/within.h"
#include "passes/random_builds.h"
#include "passes/random_graph.h"

namespace tenon::test {
namespace {

namespace cuda = backends::cuda;
using graph::Graph;

constexpr int kFree = 0xff, kOther = 0x7b;  // bytes: NaN in every floating type; large numbers

// Memory of the device for an output whose shape only the execution tells.
class GrowingDeviceOutput final : public runtime::OutputAllocatorHook {
 public:
  explicit GrowingDeviceOutput(runtime::Device& device) : device_(device) {}
  ~GrowingDeviceOutput() override { device_.free(data_); }
  void* reallocate(const std::string&, void*, uint64_t bytes, uint64_t, runtime::StreamHandle) override {
    if (bytes > bytes_) {
      device_.free(data_);
      data_ = device_.allocate(bytes_ = bytes, 256);
    }
    return data_;
  }
  void notifyShape(const std::string&, const Dims& dims) override { dims_ = dims; }
  void* data() const { return data_; }
  const Dims& dims() const { return dims_; }

 private:
  runtime::Device& device_;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  Dims dims_;
};

// A context with a stream, memory and tensors of its own.
class Caller {
 public:
  Caller(const std::shared_ptr<const runtime::Engine>& engine, const std::vector<HostTensor>& inputs, bool ownsArena,
         Log& log)
      : engine_(engine),
        device_(engine->device()),
        context_(engine, {ownsArena ? runtime::MemoryStrategy::kUserManaged : runtime::MemoryStrategy::kStatic, 0},
                 log) {
    cuda::check(cuda::driver().streamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    size_t next = 0;
    for (size_t i = 0; i < engine->io().size(); ++i) {
      const auto& io = engine->io()[i];
      if (!io.isInput) continue;
      const auto& view = inputs.at(next++).view();
      if (!isConstant(io.shape)) context_.setInputShape(static_cast<int>(i), view.dims);
      place(i, storageBytes(io.dtype, view.dims, io.layout));
    }
    EXPECT_TRUE(context_.inferShapes().empty());
    for (size_t i = 0; i < engine->io().size(); ++i) {
      const auto& io = engine->io()[i];
      if (io.isInput) continue;
      const Dims dims = context_.shape(static_cast<int>(i));
      if (std::find(dims.begin(), dims.end(), -1) != dims.end()) {
        growing_[i] = std::make_unique<GrowingDeviceOutput>(device_);
        context_.setOutputAllocator(static_cast<int>(i), growing_[i].get());
      } else {
        place(i, storageBytes(io.dtype, dims, io.layout));
      }
    }
    if (!ownsArena) return;
    arenaBytes_ = context_.memoryBytes();
    arena_ = device_.allocate(std::max<uint64_t>(arenaBytes_, 1), 256);
    context_.setMemory(arena_, arenaBytes_);
  }
  ~Caller() {
    cuda::driver().streamSynchronize(stream_);
    for (const auto& [i, memory] : memory_) device_.free(memory.first);
    device_.free(arena_);
    cuda::driver().streamDestroy(stream_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Puts an execution on the stream, whose outputs and arena are filled with a byte before.
  void start(const std::vector<HostTensor>& inputs, int poison) {
    size_t next = 0;
    for (size_t i = 0; i < engine_->io().size(); ++i) {
      const auto& io = engine_->io()[i];
      if (io.isInput) {
        const auto& view = inputs.at(next++).view();
        stored_[i] = storedAs(io.layout, view);
        device_.copy(memory_[i].first, stored_[i].view().data, memory_[i].second, runtime::CopyKind::kHostToDevice,
                     stream_);
      } else if (growing_.count(i) == 0) {
        poisonMemory(memory_[i].first, memory_[i].second, poison);
      }
    }
    poisonMemory(arena_, arenaBytes_, poison);
    context_.enqueue(stream_);
  }

  std::vector<HostTensor> finish() {
    device_.synchronize(stream_);
    std::vector<HostTensor> outputs;
    for (size_t i = 0; i < engine_->io().size(); ++i) {
      const auto& io = engine_->io()[i];
      if (io.isInput) continue;
      const bool grows = growing_.count(i) > 0;
      outputs.emplace_back(io.dtype, grows ? growing_[i]->dims() : context_.shape(static_cast<int>(i)));
      auto& view = outputs.back().view();
      HostTensor bytes(DataType::kU8, {static_cast<int64_t>(storageBytes(io.dtype, view.dims, io.layout))});
      device_.copy(bytes.view().data, grows ? growing_[i]->data() : memory_[i].first, bytes.view().bytes(),
                   runtime::CopyKind::kDeviceToHost, stream_);
      device_.synchronize(stream_);
      copyTo(Layout::kLinear, {bytes.view().data, view.dtype, view.dims}, io.layout, view.data);
    }
    return outputs;
  }

 private:
  void place(size_t i, size_t bytes) {
    memory_[i] = {device_.allocate(std::max<size_t>(bytes, 1), 256), bytes};
    context_.setAddress(static_cast<int>(i), memory_[i].first);
  }
  void poisonMemory(void* memory, size_t bytes, int value) {
    if (bytes == 0) return;
    cuda::check(cuda::driver().memsetAsync(reinterpret_cast<CUdeviceptr>(memory), static_cast<unsigned char>(value),
                                           bytes, stream_),
                "cuMemsetD8Async");
  }

  std::shared_ptr<const runtime::Engine> engine_;
  runtime::Device& device_;
  runtime::Context context_;
  CUstream stream_ = nullptr;
  std::map<size_t, std::pair<void*, size_t>> memory_;  // with bytes; by number of the tensor
  std::map<size_t, HostTensor> stored_;                // what is being copied
  std::map<size_t, std::unique_ptr<GrowingDeviceOutput>> growing_;
  void* arena_ = nullptr;
  size_t arenaBytes_ = 0;
};

void expectSameBits(const std::vector<HostTensor>& got, const std::vector<HostTensor>& first, const std::string& what) {
  ASSERT_EQ(got.size(), first.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].view().dims, first[i].view().dims) << what << ", output " << i;
    EXPECT_EQ(std::memcmp(got[i].view().data, first[i].view().data, first[i].view().bytes()), 0)
        << what << ", output " << i << " is not what it was at first: it differs by "
        << relativeError(got[i].view(), first[i].view());
  }
}

// Which of several updates of an element is the last depends on the order of threads; the random ones have such.
bool hasScatter(const Graph& graph) {
  bool has = false;
  for (const auto id : graph.order())
    ops::forEachOf<ops::Scatter>(graph.node(id).op, [&](const ops::Scatter&) { has = true; });
  return has;
}

struct Way {
  const char* name;
  int level = 0;
  bool anyOf = false;
  DataType half = DataType::kF32;
  bool tf32 = false;
  Graph (*make)(uint64_t seed) = passes::randomGraph;
};

int executions() { return static_cast<int>(passes::variable("TENON_RANDOM_EXECUTIONS", emulated() ? 2 : 8)); }

// Two contexts side by side, of which one's memory is the caller's; inputs alternate.
void expectRepeats(const std::shared_ptr<const runtime::Engine>& engine,
                   const std::array<std::vector<HostTensor>, 2>& inputs, std::vector<HostTensor>& first, Log& log) {
  Caller one(engine, inputs[0], false, log);
  one.start(inputs[0], kFree);
  first = one.finish();
  Caller two(engine, inputs[0], true, log);
  std::vector<HostTensor> other;
  for (int i = 0; i < executions(); ++i) {
    const size_t set = static_cast<size_t>(i + 1) % 2;
    one.start(inputs[set], kOther);
    two.start(inputs[set], i / 2 % 2 == 0 ? kFree : kOther);
    auto got = one.finish();
    if (set == 1 && other.empty()) other = std::move(got);
    else expectSameBits(got, set == 0 ? first : other, fmt::format("execution {}", i + 1));
    expectSameBits(two.finish(), set == 0 ? first : other, fmt::format("execution {} with poisoned memory", i + 1));
  }
}

void checkGraph(const Way& way, uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}, {}", seed, way.name));
  if (passes::isTraced()) fmt::print("begin {}\n", seed), std::fflush(stdout);
  const Graph graph = way.make(seed);
  if (passes::variable("TENON_RANDOM_TRACE", 0) > 1) fmt::print("{}\n", graph::text(graph)), std::fflush(stdout);
  if (hasScatter(graph)) return;
  const std::array<std::vector<HostTensor>, 2> inputs{passes::randomInputs(graph, 2, seed),
                                                      passes::randomInputs(graph, 2, seed + 1000)};
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = way.level;
  options.tf32 = way.tf32;
  if (way.half != DataType::kF32) options.types.halves = {way.half};
  if (way.anyOf) options.filter = passes::anyCandidate(seed);
  options.profiles = passes::profilesOf(graph, inputs[0]);
  options.log = &log;
  try {
    const auto made = runtime::Engine::make(passes::buildIfPossible(graph, options), {}, log);
    const auto engine = runtime::Engine::load(made->serialize(), {}, log);
    std::vector<HostTensor> got;
    expectRepeats(engine, inputs, got, log);
    const auto expected = graph::evaluate(graph, views(inputs[0]));
    passes::allowNumbersForNaN(expected, got);
    // TF32 has the fraction of f16, and more room.
    const auto narrow = way.tf32 ? DataType::kF16 : way.half;
    passes::expectClose(graph, inputs[0], got, expected, 1e-4, 100, "", narrow);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << graph::text(graph);
  }
}

void checkGraphs(const Way& way) {
  passes::Failures failures;
  const uint64_t first = passes::variable("TENON_RANDOM_FIRST", 1);
  const uint64_t count = passes::variable("TENON_RANDOM_GRAPHS", emulated() ? 4 : 30);
  for (uint64_t seed = first; seed < first + count && !failures.tooMany(); ++seed) {
    checkGraph(way, seed);
    failures.note(seed);
  }
}

TEST_F(OnGpu, RandomGraphsUnmeasured) { checkGraphs({.name = "level 0"}); }
TEST_F(OnGpu, RandomGraphsMeasured) { checkGraphs({.name = "level 1", .level = 1}); }
TEST_F(OnGpu, RandomGraphsOfAnyCandidates) { checkGraphs({.name = "any candidates", .anyOf = true}); }
TEST_F(OnGpu, RandomGraphsInF16) { checkGraphs({.name = "f16", .anyOf = true, .half = DataType::kF16}); }
TEST_F(OnGpu, RandomGraphsInBf16) { checkGraphs({.name = "bf16", .anyOf = true, .half = DataType::kBF16}); }
TEST_F(OnGpu, RandomGraphsInTf32) { checkGraphs({.name = "tf32", .anyOf = true, .tf32 = true}); }
TEST_F(OnGpu, RandomGraphsOfRegions) { checkGraphs({.name = "regions", .make = passes::randomRegions}); }
TEST_F(OnGpu, RandomGraphsLarger) {
  checkGraphs({.name = "larger, any candidates", .anyOf = true, .make = passes::largeRandomGraph});
}
TEST_F(OnGpu, RandomGraphsLargerInF16) {
  checkGraphs({.name = "larger, f16", .anyOf = true, .half = DataType::kF16, .make = passes::largeRandomGraph});
}

}  // namespace
}  // namespace tenon::test
