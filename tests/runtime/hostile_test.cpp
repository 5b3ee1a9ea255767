// Plans whose manifest was changed and signed again: loading and running them gives errors or results, never a crash.
#include <cstring>
#include <functional>
#include <random>

#include "plan/checksum.h"
#include "plan/file.h"
#include "plan/header.h"
#include "runtime_test_support.h"
#include "support/shape_plan.h"
#include "support/sized_plan.h"

namespace tenon::runtime {
namespace {

constexpr uint64_t kMaxBytes = 1 << 20;  // larger inputs are not tried

void sign(LargeVector<std::byte>& bytes) {
  plan::Header header = plan::decode(bytes);
  header.manifest.checksum = plan::checksum(bytes.data() + header.manifest.offset, header.manifest.bytes);
  const auto head = plan::encode(header);
  std::memcpy(bytes.data(), head.data(), head.size());
}

// Runs the first profile at its smallest shapes, with memory of exactly the sizes that the context names.
void runOnce(const std::shared_ptr<const Engine>& engine) {
  if (engine->arenaBytes() > kMaxBytes) return;
  Context context(engine, {}, log());
  for (size_t i = 0; i < engine->io().size(); ++i) {
    const auto* range = engine->range(0, static_cast<int>(i));
    if (engine->io()[i].isInput && range != nullptr && range->minValues.empty())
      context.setInputShape(static_cast<int>(i), range->min);
  }
  std::vector<std::vector<std::byte>> buffers;
  for (size_t i = 0; i < engine->io().size(); ++i) {
    const uint64_t bytes = context.tensorBytes(static_cast<int>(i));
    if (bytes > kMaxBytes) return;
    buffers.emplace_back(bytes + 1);
    context.setAddress(static_cast<int>(i), buffers.back().data());
  }
  context.enqueue(nullptr);
  finishWork(*engine);
}

// Changes one to three bytes of the manifest, 5,000 times.
void changeAndRun(const plan::Plan& plan) {
  const auto good = plan::write(plan);
  const auto header = plan::decode(good);
  std::mt19937_64 random(9);
  int ran = 0;
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    auto bytes = good;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      auto& byte = bytes[header.manifest.offset + random() % header.manifest.bytes];
      byte = random() % 2 == 0 ? byte ^ std::byte{static_cast<unsigned char>(1u << (random() % 8))}
                               : std::byte{static_cast<unsigned char>(random())};
    }
    sign(bytes);
    try {
      runOnce(Engine::load(bytes, {}, log()));
      ++ran;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 1000);
}

TEST(HostilePlans, LoadAndRunOrRefuse) {
  auto plan = test::smallPlan(true);
  plan.profiles[0]["x"].min[0] = 2;
  changeAndRun(plan);
}

TEST(HostilePlans, ShapeProgramsRunOrRefuse) {
  auto plan = test::shapePlan();
  plan.profiles[0]["x"].min[0] = 3;
  changeAndRun(plan);
}

TEST(HostilePlans, SizesRunOrRefuse) {
  auto plan = test::sizedPlan();
  plan.profiles[0]["x"].min[0] = 3;
  changeAndRun(plan);
}

// What a host could be kept busy or filled with by a small file.
TEST(HostilePlans, HugeShapeProgramsAreRefusedWithTheirLayer) {
  const auto refusal = [](const std::function<void(plan::Plan&)>& change) {
    auto plan = test::shapePlan();
    change(plan);
    return messageOf([&] { runOnce(engineOf(plan)); });
  };
  expectContains(refusal([](plan::Plan& p) {
                   p.shapes.steps[2].op = "fill{shape=[4611686018427387904] type=i64}";
                   p.shapes.steps[2].inputs.clear();
                 }),
                 {"layer 'half'", "4611686018427387904 elements", "at most 65536"});
  expectContains(refusal([](plan::Plan& p) { p.shapes.steps[2].op = "slice{start=[0] size=[2305843009213693952]}"; }),
                 {"layer 'half'"});
  expectContains(refusal([](plan::Plan& p) { p.shapes.steps[2].op = "reshape{shape=[4294967296,4294967296]}"; }),
                 {"layer 'half'"});
  expectContains(refusal([](plan::Plan& p) {
                   p.shapes.steps[2].op = "pointwise{expr=\"div(x0,x0)\"}", p.shapes.steps[0].extents[0] = 0;
                 }),
                 {"layer 'half'", "divides by 0"});
  expectContains(refusal([](plan::Plan& p) { p.shapes.steps[2].op = "pointwise{expr=\"mul(x0,x1)\"}"; }),
                 {"layer 'half'", "i64", "f32"});
  expectContains(refusal([](plan::Plan& p) {
                   p.shapes.steps[2].op = "fill{shape=[P] type=i64}";
                   p.shapes.steps[2].inputs.clear();
                 }),
                 {"layer 'half'", "cannot be evaluated"});
  expectContains(refusal([](plan::Plan& p) {
                   p.programs[0].shapeBounds[0] = {5, 5};
                 }),
                 {"layer 'half'", "is 0", "expected 5 to 5", "profile 0"});
}

}  // namespace
}  // namespace tenon::runtime
