// Plans whose manifest was changed and signed again: loading and running them gives errors or results, never a crash.
#include <cstring>
#include <random>

#include "plan/checksum.h"
#include "plan/file.h"
#include "plan/header.h"
#include "runtime_test_support.h"

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

TEST(HostilePlans, LoadAndRunOrRefuse) {
  auto plan = test::smallPlan(true);
  plan.profiles[0]["x"].min[0] = 2;
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

}  // namespace
}  // namespace tenon::runtime
