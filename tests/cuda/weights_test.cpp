// Weights on a device that is not the host: once, in the layouts that kernels read, in the user's memory, and counted.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "compile/tune/whole.h"
#include "cuda/loaded.h"
#include "cuda/variable.h"
#include "ops/op/convolution.h"
#include "runtime/engine_parts.h"

namespace tenon::test {
namespace {

// An image, a window, a depthwise window, points between few channels, and a product.
constexpr const char* kNetwork = R"g(graph "weights" {
  input %x : f16[2,3,20,22]
  const %wi : f16[16,3,3,3] = random(1)
  const %bi : f16[16] = random(2)
  const %ww : f16[24,16,3,3] = random(3)
  const %wd : f16[24,1,3,3] = random(4)
  const %wn : f16[16,24,1,1] = random(5)
  const %wp : f16[1120,17] = random(6)
  %i : f16[2,16,10,11] = convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true}(%x, %wi, %bi) "image"
  %w : f16[2,24,10,11] = convolution{prePadding=[1,1] postPadding=[1,1]}(%i, %ww) "window"
  %d : f16[2,24,7,10] = convolution{groups=24 prePadding=[0,1] postPadding=[-1,0]}(%w, %wd) "depthwise"
  %n : f16[2,16,7,10] = convolution(%d, %wn) "narrow"
  %f : f16[2,1120] = reshape{shape=[2,1120]}(%n) "flat"
  %p : f16[2,17] = matmul(%f, %wp) "product"
  output %p
})g";

compile::BuildOptions only(const std::string& tactic) {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [tactic](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.as<ops::Convolution>() == nullptr) return candidates;
    const auto other = [&](const compile::Candidate& candidate) { return candidate.tactic != tactic; };
    if (!std::all_of(candidates.begin(), candidates.end(), other)) std::erase_if(candidates, other);
    return candidates;
  };
  return options;
}

// Without windows whose few channels and columns are filled up to whole panels, which take several times the memory.
compile::BuildOptions withoutPanels() {
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const compile::Candidate& candidate) {
      return candidate.tactic == "cuda.mma90_convolution" || candidate.tactic == "cuda.mma90_cell_convolution";
    });
    return candidates;
  };
  return options;
}

TEST_F(OnGpu, WeightsAndArenaAreAllThatTheAllocatorIsAskedFor) {
  Made made(kNetwork, withoutPanels());
  CountingAllocator allocator;
  {
    const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
    EXPECT_EQ(allocator.requests, 1) << "weights are one allocation";
    EXPECT_EQ(allocator.all, engine->constantBytes());
    uint64_t plain = 0;
    for (const auto& constant : engine->plan().constants) plain += constant.bytes;
    EXPECT_GE(engine->constantBytes(), plain) << "nothing is smaller when it is packed";
    // 256 bytes for each, and what halves of panels are filled up to.
    EXPECT_LE(engine->constantBytes(), plain + plain / 4 + 256 * engine->plan().constants.size())
        << "something is there a second time";
    runtime::Context context(engine, {}, made.log);
    EXPECT_EQ(allocator.all, engine->constantBytes() + engine->arenaBytes());
    made.expectRight(engine, context);
    EXPECT_EQ(allocator.all, engine->constantBytes() + engine->arenaBytes()) << "running asks for nothing";
    EXPECT_EQ(allocator.live.size(), 2u);
  }
  EXPECT_TRUE(allocator.live.empty());
  EXPECT_EQ(allocator.strangers, 0);
}

// A loop reads its weights as what stands beside it does, or also as they are.
TEST_F(OnGpu, WeightsOfLoopsAreThereOnce) {
  const Variable loopsStay("TENON_DISABLE", "unroll_loops");
  Made made(R"g(graph "weights" {
  input %x : f16[5,16,64]
  const %w : f16[64,64] = random(1)
  const %v : f16[64,64] = random(2)
  const %h : f16[16,64] = random(3)
  const %n : i64[] = {5}
  %l : f16[16,64] = loop{states=1 counted=true next={4 [{matmul [0,2] 1 "m"},{pointwise{expr="add(x0,x1);tanh(t0)"} [4,1] 1 "a"},{matmul [5,3] 1 "k"}] [6]} slices=[{0 false -1}]}(%n, %h, %x, %w, %v) "loop"
  %p : f16[16,64] = matmul(%l, %w) "product"
  output %p
})g");
  CountingAllocator allocator;
  {
    const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
    EXPECT_EQ(allocator.requests, 1) << "weights are one allocation";
    EXPECT_EQ(allocator.all, engine->constantBytes());
    EXPECT_LE(engine->constantBytes(), 2 * 64 * 64 * 2 + 16 * 64 * 2 + 8 + 5 * 256) << "a weight is there twice";
    runtime::Context context(engine, {}, made.log);
    made.expectRight(engine, context);
    EXPECT_EQ(allocator.all, engine->constantBytes() + engine->arenaBytes()) << "running asks for nothing";
  }
  EXPECT_TRUE(allocator.live.empty());
}

// The n-th request fails, for every n.
TEST_F(OnGpu, WeightsThatFindNoMemoryLeaveNothing) {
  Made made(kNetwork);
  int failures = 0;
  for (int refused = 0;; ++refused) {
    CountingAllocator allocator(refused);
    bool whole = false;
    try {
      const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
      runtime::Context context(engine, {}, made.log);
      made.expectRight(engine, context);
      whole = true;
    } catch (const OutOfMemory& error) {
      EXPECT_NE(std::string(error.what()).find(refused == 0 ? "weights" : "context"), std::string::npos)
          << error.what();
      ++failures;
    }
    EXPECT_TRUE(allocator.live.empty()) << "request " << refused;
    EXPECT_EQ(allocator.strangers, 0);
    if (whole) break;
    ASSERT_LT(refused, 100);
  }
  EXPECT_EQ(failures, 2);
}

// What a kernel packs is there packed, and in no other layout. Which kernels there are depends on the device.
TEST_F(OnGpu, WeightsThatAreReadPackedAreThereInNoOtherLayout) {
  int seen = 0;
  for (const std::string tactic : {"cuda.depthwise_convolution", "cuda.image_convolution", "cuda.narrow_convolution",
                                   "cuda.cudnn_convolution", "cuda.cudnn_packed_convolution"}) {
    SCOPED_TRACE(tactic);
    Made made(kNetwork, only(tactic));
    const auto engine = runtime::Engine::load(made.bytes, {}, made.log);
    const auto& parts = engine->parts();
    std::set<int32_t> packed;
    for (size_t step = 0; step < engine->program(0).steps.size(); ++step) {
      const auto& record = engine->program(0).steps[step];
      for (const auto& operand : parts.programs[0].kernels[step].packed) packed.insert(record.inputs[operand.input]);
      const bool packs = tactic != "cuda.cudnn_convolution" && "cuda." + record.kernel.name == tactic;
      if (!packs) continue;
      EXPECT_EQ(parts.programs[0].kernels[step].packed.size(), 1u);
      ++seen;
    }
    for (const int32_t tensor : packed)
      EXPECT_EQ(parts.programs[0].constants[static_cast<size_t>(tensor)], nullptr) << "there a second time";
    EXPECT_EQ(parts.constants->packedCount() + parts.constants->rowMajorCount(), engine->plan().constants.size());
    made.expectRight(engine);
  }
  EXPECT_GE(seen, 3);
}

// One constant, read by a kernel that packs it and by another that does not, and by two that pack alike.
TEST_F(OnGpu, WeightsOfSeveralReadersAreThereOnceInEachLayout) {
  const std::string text = R"g(graph "shared" {
  input %x : f16[1,16,9,9]
  const %w : f16[16,1,3,3] = random(1)
  %a : f16[1,16,7,7] = convolution{groups=16}(%x, %w) "first"
  %b : f16[1,16,5,5] = convolution{groups=16}(%a, %w) "second"
  %c : f16[1,16,4,4] = convolution{groups=16 prePadding=[0,0] postPadding=[1,1]}(%b, %w) "third"
  output %c
})g";
  for (const bool mixed : {false, true}) {
    SCOPED_TRACE(mixed ? "a reader of rows among them" : "all pack");
    auto options = only("cuda.depthwise_convolution");
    const auto packing = options.filter;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (!mixed || node.name != "second") return packing(node, std::move(candidates));
      std::erase_if(candidates, [](const auto& one) { return one.tactic != "cuda.direct_convolution"; });
      return candidates;
    };
    Made made(text, options);
    const auto engine = runtime::Engine::load(made.bytes, {}, made.log);
    ASSERT_EQ(engine->plan().constants.size(), 1u);
    EXPECT_EQ(engine->parts().constants->packedCount(), 1u);
    EXPECT_EQ(engine->parts().constants->rowMajorCount(), mixed ? 1u : 0u);
    EXPECT_EQ(engine->constantBytes(), mixed ? 2u * 512 : 512u);  // 288 bytes each, in steps of 256
    made.expectRight(engine);
  }
}

// Kernels are in the plan: a process that loads it opens no compiler and none of the vendor's libraries.
TEST_F(OnGpu, WeightsAndKernelsAreAllThatLoadingNeeds) {
  constexpr const char* kPlan = "TENON_TEST_PLAN_TO_LOAD";
  if (const char* file = std::getenv(kPlan); file != nullptr) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    RecordingLog log;
    const auto engine = runtime::Engine::load(std::as_bytes(std::span(bytes)), {}, log);
    const runtime::Context context(engine, {}, log);
    std::ifstream maps("/proc/self/maps");
    const std::string opened((std::istreambuf_iterator<char>(maps)), {});
    for (const char* library : {"libnvrtc", "libcublasLt", "libcudnn"})
      EXPECT_EQ(opened.find(library), std::string::npos) << library;
    return;
  }
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& one) { return one.tactic != "cuda.mma90_matmul"; });
    return candidates;
  };
  Made made(R"g(graph "product" {
  input %x : f16[24,64]
  const %w : f16[64,72] = random(1)
  %y : f16[24,72] = matmul(%x, %w) "product"
  output %y
})g",
            options);
  const auto file = std::filesystem::temp_directory_path() / fmt::format("tenon_plan_{}", getpid());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(made.bytes.data()), static_cast<std::streamsize>(made.bytes.size()));
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto command = fmt::format("{}={} {} --gtest_brief=1 --gtest_filter=OnGpu.WeightsAndKernels*", kPlan,
                                   file.string(), program.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(file);
}

// Constants whose bytes are a part of another one's, as the halves of merged products are.
TEST_F(OnGpu, WeightsThatAreViewsOfOneAnotherArePackedApart) {
  const std::string text = R"g(graph "views" {
  input %x : f16[1,16,9,9]
  input %y : f16[1,8,9,9]
  const %w : f16[16,1,3,3] = random(1)
  const %v : f16[8,1,3,3] = random(1)
  %a : f16[1,16,7,7] = convolution{groups=16}(%x, %w) "all"
  %b : f16[1,8,7,7] = convolution{groups=8}(%y, %v) "part"
  output %a
  output %b
})g";
  Made made(text, only("cuda.depthwise_convolution"));
  auto plan = runtime::Engine::load(made.bytes, {}, made.log)->plan();
  ASSERT_EQ(plan.constants.size(), 2u);
  auto& whole = plan.constants[plan.constants[0].bytes > plan.constants[1].bytes ? 0 : 1];
  auto& part = plan.constants[&whole == plan.constants.data() ? 1 : 0];
  ASSERT_EQ(std::memcmp(whole.data.get(), part.data.get(), part.bytes), 0);
  part.data = whole.data;
  CountingAllocator allocator;
  const auto engine = runtime::Engine::make(plan, {false, "", &allocator}, made.log);
  EXPECT_EQ(engine->parts().constants->packedCount(), 2u);
  EXPECT_EQ(allocator.all, engine->constantBytes());
  made.expectRight(engine);
}

// A kernel that is tried in the place of another must not read what that one has packed, nor find nothing.
TEST_F(OnGpu, WeightsOfRivalsAreTheirOwn) {
  const std::string text = R"g(graph "rivals" {
  input %x : f16[1,16,9,9]
  const %w : f16[16,1,3,3] = random(1)
  %a : f16[1,16,7,7] = convolution{groups=16}(%x, %w) "one"
  output %a
})g";
  const auto recordOf = [&](const std::string& tactic) {
    auto options = only(tactic);
    const auto some = options.filter;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      candidates = some(node, std::move(candidates));
      if (node.name == "one")  // a plan's formats stay
        std::erase_if(candidates, [](const auto& c) { return c.outputs[0] != Layout::kChannelsLast; });
      return candidates;
    };
    Made made(text, options);
    return runtime::Engine::load(made.bytes, {}, made.log)->plan();
  };
  const auto stepOf = [](const plan::Plan& plan) {
    const auto& steps = plan.programs[0].steps;
    const auto at = std::find_if(steps.begin(), steps.end(), [](const auto& s) { return s.name == "one"; });
    return static_cast<int32_t>(at - steps.begin());
  };
  const auto packing = recordOf("cuda.depthwise_convolution");
  const auto plain = recordOf("cuda.direct_convolution");
  RecordingLog log;
  const SymbolValues none;
  for (const auto& [present, offered] : {std::pair(&packing, &plain), std::pair(&plain, &packing)}) {
    compile::Whole whole(*present, none, log);
    const int32_t step = stepOf(*present);
    auto record = offered->programs[0].steps[static_cast<size_t>(stepOf(*offered))].kernel;
    const auto& code = offered->nativeCode.at(static_cast<size_t>(record.nativeCode));
    whole.offer(std::span(&step, 1), record, code);
    const auto race = whole.race();
    EXPECT_GT(race.offered, 0);
    whole.accept();
  }
}

}  // namespace
}  // namespace tenon::test
