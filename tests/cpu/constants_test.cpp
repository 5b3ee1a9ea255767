// Weights that kernels hold in a layout of their own are not kept a second time, and come back to the bit.
#include <cstring>

#include "core/large_memory.h"
#include "cpu/vendor_kernels.h"
#include "runtime/engine_parts.h"
#include "runtime/hooks.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Products and a convolution of a megabyte and more each, and one constant that is read where it lies.
constexpr const char* kText = R"text(graph "g" {
  input %x : f32[N,128,4,4]
  const %w : f32[256,128,3,3] = random(1)
  const %m : f32[1024,512] = random(2)
  const %v : f32[512,700] = random(3)
  const %t : f32[512,700] = random(4)
  %c : f32[N,256,2,2] = convolution(%x, %w) "conv"
  %f : f32[N,1024] = reshape{shape=[N,1024]}(%c) "flatten"
  %p : f32[N,512] = matmul(%f, %m) "first"
  %q : f32[N,700] = matmul(%p, %v) "second"
  %s : f32[512,700] = pointwise{expr="mul(x0,2)"}(%t) "table"
  %z : f32[N,700] = matmul(%p, %s) "third"
  output %q
  output %z
})text";

struct Built {
  graph::Graph graph;
  LargeVector<std::byte> bytes;
};

// Every product by `gemm`, every convolution by `convolution`.
Built buildWith(const std::string& gemm, const std::string& convolution) {
  Built built{graph::parse(kText), {}};
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.optimizationLevel = 0;
  options.log = &log;
  options.profiles = {{{"x", {{1, 128, 4, 4}, {4, 128, 4, 4}, {8, 128, 4, 4}, {}, {}, {}}}}};
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    const auto wanted = [&](const compile::Candidate& candidate) {
      return candidate.tactic == (node.op.name() == "matmul" ? gemm : convolution);
    };
    if (std::any_of(candidates.begin(), candidates.end(), wanted))
      std::erase_if(candidates, [&](const auto& candidate) { return !wanted(candidate); });
    return candidates;
  };
  const auto engine = runtime::Engine::make(compile::build(built.graph, options), {}, log);
  built.bytes = engine->serialize();
  return built;
}

struct Reader final : runtime::StreamReader {
  explicit Reader(const LargeVector<std::byte>& bytes) : bytes(bytes) {}
  size_t read(void* to, size_t count) override {
    count = std::min({count, bytes.size() - at, size_t{100'001}});
    std::memcpy(to, bytes.data() + at, count);
    at += count;
    return count;
  }
  const LargeVector<std::byte>& bytes;
  size_t at = 0;
};

void expectRight(const Built& built, const std::shared_ptr<const runtime::Engine>& engine, int64_t batch) {
  RecordingLog log;
  const std::vector<HostTensor> inputs = [&] {
    std::vector<HostTensor> result;
    result.push_back(randomTensor(DataType::kF32, {batch, 128, 4, 4}, static_cast<uint64_t>(batch)));
    return result;
  }();
  const auto got = run(engine, inputs, log);
  const auto expected = graph::evaluate(built.graph, views(inputs));
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(relativeError(got[i].view(), expected[i].view()), 1e-4) << "output " << i << " of batch " << batch;
}

class Held : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Held, WeightsAreThereOnce) {
  const auto built = buildWith(std::get<0>(GetParam()), std::get<1>(GetParam()));
  RecordingLog log;
  for (const std::string way : {"lent", "lent at an odd address", "read"}) {
    SCOPED_TRACE(way);
    std::shared_ptr<const runtime::Engine> engine;
    if (way == "read") {
      Reader reader(built.bytes);
      engine = runtime::Engine::loadFrom(reader, {}, log);
    } else {
      LargeVector<std::byte> copy(built.bytes.size() + 1);
      std::byte* const at = copy.data() + (way == "lent" ? 0 : 1);
      std::memcpy(at, built.bytes.data(), built.bytes.size());
      engine = runtime::Engine::load({at, built.bytes.size()}, {}, log);
      std::memset(copy.data(), 0xff, copy.size());  // NaN, before it is freed
    }
    const auto [gemm, convolution] = GetParam();  // oneDNN reads some where they lie
    const size_t least =
        (gemm == std::string("cpu.gemm") ? 2 : 0) + (convolution == std::string("cpu.convolution") ? 1 : 0);
    EXPECT_GE(engine->parts().held.size(), least) << "a kernel holds what it packs, and it is there a second time";
    for (const auto& held : engine->parts().held) EXPECT_EQ(engine->plan().constants[held.record].data, nullptr);
    for (const int64_t batch : {4, 1, 8}) expectRight(built, engine, batch);
    const auto again = engine->serialize();
    ASSERT_EQ(again.size(), built.bytes.size());
    EXPECT_EQ(std::memcmp(again.data(), built.bytes.data(), again.size()), 0)
        << "the plan of a loaded engine is another";
    const auto second = runtime::Engine::load(again, {}, log);
    EXPECT_EQ(second->constantBytes(), engine->constantBytes());
    expectRight(built, second, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Constants, Held,
                         testing::Combine(testing::Values("cpu.gemm", "cpu.dnnl_matmul"),
                                          testing::Values("cpu.dnnl_convolution", "cpu.convolution", "cpu.winograd")));

// Signs of zero, numbers below the smallest normal one, infinities, and what is no number in any of its forms.
TEST(Constants, EveryPatternOfBitsComesBack) {
  constexpr int64_t kDepth = 512, kColumns = 513;
  for (const std::string tactic : {"cpu.gemm", "cpu.dnnl_matmul"}) {
    if (tactic == "cpu.dnnl_matmul" && kOfOneDnn == 0) continue;
    SCOPED_TRACE(tactic);
    auto graph =
        graph::parse(fmt::format("graph \"g\" {{\n input %x : f32[2,{0}]\n const %w : f32[{0},{1}] = random(1)\n"
                                 " %y : f32[2,{1}] = matmul(%x, %w) \"op\"\n output %y\n}}",
                                 kDepth, kColumns));
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.optimizationLevel = 0;
    options.log = &log;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
      return candidates;
    };
    auto plan = compile::build(graph, options);
    ASSERT_EQ(plan.constants.size(), 1u);
    const auto blob = plan::Blob::allocate(plan.constants[0].bytes);
    std::mt19937 generator(5);
    for (size_t i = 0; i < blob.bytes() / 4; ++i) {
      const uint32_t value = generator() % 3 == 0
                                 ? generator()
                                 : std::array{0x80000000u, 1u, 0x7f800001u, 0xffc00000u, 0xff800000u}[generator() % 5];
      std::memcpy(blob.data() + 4 * i, &value, 4);
    }
    plan.constants[0].data = blob.share(0);
    const auto bytes = runtime::Engine::make(std::move(plan), {}, log)->serialize();
    const auto engine = runtime::Engine::load(bytes, {}, log);
    if (tactic == "cpu.gemm") {  // oneDNN may read it where it lies
      EXPECT_EQ(engine->parts().held.size(), 1u);
    }
    const auto again = engine->serialize();
    ASSERT_EQ(again.size(), bytes.size());
    EXPECT_EQ(std::memcmp(again.data(), bytes.data(), bytes.size()), 0);
  }
}

}  // namespace
}  // namespace tenon::test
