// Packed weights on the host: shared by kernels that pack alike, in the user's memory, and given back.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "core/platform/threads.h"
#include "runtime/engine_parts.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

class CountingAllocator final : public runtime::AllocatorHook {
 public:
  explicit CountingAllocator(int refused = -1) : refused_(refused) {}
  void* allocate(size_t bytes, size_t alignment, runtime::StreamHandle) override {
    if (requests++ == refused_) return nullptr;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    live[memory] = bytes;
    all += bytes;
    sizes.push_back(bytes);
    return memory;
  }
  void free(void* pointer, runtime::StreamHandle) noexcept override {
    if (live.erase(pointer) == 1) {
      std::free(pointer);
    } else {
      ++strangers;
    }
  }

  // Bytes of the first requests.
  uint64_t first(size_t count) const {
    return std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(std::min(count, sizes.size())),
                           uint64_t{0});
  }

  int requests = 0;
  uint64_t all = 0;
  std::vector<uint64_t> sizes;
  std::map<void*, size_t> live;
  int strangers = 0;

 private:
  int refused_;
};

// Weights of every kernel that packs, and one matrix that three products read, one of them the other way round.
constexpr const char* kText = R"text(graph "g" {
  input %x : f32[1,33,12,12]
  input %a : f32[5,64]
  const %w : f32[40,33,3,3] = random(1)
  const %d : f32[40,1,3,3] = random(2)
  const %u : f32[40,7,2,2] = random(3)
  const %s1 : f32[19,7,1,1] = random(4)
  const %m : f32[64,64] = random(5)
  %c : f32[1,40,12,12] = convolution{prePadding=[1,1] postPadding=[1,1]}(%x, %w) "window"
  %e : f32[1,40,10,10] = convolution{groups=40}(%c, %d) "depthwise"
  %f : f32[1,7,20,20] = deconvolution{strides=[2,2]}(%e, %u) "upsample"
  %g : f32[1,19,20,20] = convolution(%f, %s1) "points"
  %p : f32[5,64] = matmul(%a, %m) "first"
  %q : f32[5,64] = matmul{epilogue="max(x0,0)"}(%p, %m) "second"
  %r : f32[5,64] = matmul{transposeB=true}(%q, %m) "third"
  output %g
  output %r
})text";

struct Made {
  explicit Made(const std::string& window) : graph(graph::parse(kText)) {
    compile::BuildOptions options;
    options.device = "cpu";
    options.optimizationLevel = 0;
    options.log = &log;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      const std::map<std::string, std::string> wanted{{"window", window},           {"depthwise", "cpu.depthwise"},
                                                      {"upsample", "cpu.upsample"}, {"points", "cpu.convolution"},
                                                      {"first", "cpu.gemm"},        {"second", "cpu.gemm"},
                                                      {"third", "cpu.gemm"}};
      const auto at = wanted.find(node.name);
      if (at != wanted.end()) {
        std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != at->second; });
        EXPECT_FALSE(candidates.empty()) << node.name << " by " << at->second;
      }
      return candidates;
    };
    bytes = runtime::Engine::make(compile::build(graph, options), {}, log)->serialize();
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      inputs.push_back(randomTensor(DataType::kF32, evaluate(graph.value(graph.inputs()[i]).type.shape, {}), i + 1));
  }
  void expectRight(const std::shared_ptr<const runtime::Engine>& engine) {
    const auto got = run(engine, inputs, log);
    const auto expected = graph::evaluate(graph, views(inputs));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(relativeError(got[i].view(), expected[i].view()), 1e-4) << "output " << i;
  }

  RecordingLog log;
  graph::Graph graph;
  LargeVector<std::byte> bytes;
  std::vector<HostTensor> inputs;
};

// Six layouts and the arena; and workspace of the context where threads keep what each of them transforms, as plans do
// not depend on how many there are.
int requestsOf(std::string_view window) { return window == "cpu.winograd" && platform::coreCount() > 1 ? 8 : 7; }

class PackedWeights : public testing::TestWithParam<const char*> {};

TEST_P(PackedWeights, AreCountedAndComeFromTheAllocator) {
  Made made(GetParam());
  CountingAllocator allocator;
  {
    const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
    const auto& constants = *engine->parts().constants;
    EXPECT_EQ(constants.packedCount(), 6u) << "two products share one layout, the third has another";
    EXPECT_EQ(allocator.requests, 6);
    // Small constants are kept row-major as well.
    uint64_t plain = 0;
    for (const auto& constant : engine->plan().constants) plain += constant.bytes;
    EXPECT_EQ(allocator.all + plain, engine->constantBytes());
    made.expectRight(engine);
    EXPECT_EQ(allocator.requests, requestsOf(GetParam()));
    EXPECT_EQ(allocator.first(7) + plain, engine->constantBytes() + engine->arenaBytes());
    const auto again = engine->serialize();
    ASSERT_EQ(again.size(), made.bytes.size());
    EXPECT_EQ(std::memcmp(again.data(), made.bytes.data(), again.size()), 0);
  }
  EXPECT_TRUE(allocator.live.empty());
  EXPECT_EQ(allocator.strangers, 0);
}

TEST_P(PackedWeights, LeaveNothingWhereARequestFails) {
  Made made(GetParam());
  int failures = 0;
  for (int refused = 0;; ++refused) {
    ASSERT_LT(refused, 100);
    CountingAllocator allocator(refused);
    bool whole = false;
    try {
      made.expectRight(runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log));
      whole = true;
    } catch (const OutOfMemory&) {
      ++failures;
    }
    EXPECT_TRUE(allocator.live.empty()) << "request " << refused;
    EXPECT_EQ(allocator.strangers, 0);
    if (whole) break;
  }
  EXPECT_EQ(failures, requestsOf(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Cpu, PackedWeights, testing::Values("cpu.convolution", "cpu.winograd"));

// A plan that says half as many bytes as its tensor has, or another type, is refused before anything is packed.
TEST(PackedWeightsOfPlans, AreCheckedBeforeTheyAreRead) {
  Made made("cpu.convolution");
  const auto whole = runtime::Engine::load(made.bytes, {}, made.log)->plan();
  for (size_t i = 0; i < whole.constants.size(); ++i) {
    SCOPED_TRACE(i);
    auto small = whole;
    small.constants[i].bytes /= 2;
    EXPECT_THROW((void)runtime::Engine::make(small, {}, made.log), Error);
    auto other = whole;
    other.constants[i].dtype = DataType::kF16;
    other.constants[i].bytes /= 2;
    for (auto& tensor : other.programs[0].tensors) {
      if (tensor.storage == plan::Storage::kConstant && tensor.index == static_cast<int32_t>(i))
        tensor.dtype = DataType::kF16;
    }
    EXPECT_THROW((void)runtime::Engine::make(other, {}, made.log), Error);
  }
}

}  // namespace
}  // namespace tenon::test
