// Bytes of plans, signed again so that what is behind the checksums is reached: loading and running gives an error or
// an end, never a crash.
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "core/error.h"
#include "plan/checksum.h"
#include "plan/file.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "support.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxBytes = 1 << 14;  // of a tensor or the memory of a context that is still run
constexpr size_t kSectionsAt = 32;       // offset, bytes and checksum of three sections
constexpr size_t kChecksumAt = 120;

void sign(std::vector<std::byte>& bytes) {
  if (bytes.size() < plan::kHeaderBytes) return;
  const uint64_t fileBytes = bytes.size();
  std::memcpy(bytes.data() + 24, &fileBytes, sizeof(fileBytes));
  for (size_t at = kSectionsAt; at < kSectionsAt + 72; at += 24) {
    uint64_t place[2];
    std::memcpy(place, bytes.data() + at, sizeof(place));
    if (place[0] > bytes.size() || place[1] > bytes.size() - place[0]) continue;
    const uint64_t sum = plan::checksum(bytes.data() + place[0], place[1]);
    std::memcpy(bytes.data() + at + 16, &sum, sizeof(sum));
  }
  const uint64_t sum = plan::checksum(bytes.data(), kChecksumAt);
  std::memcpy(bytes.data() + kChecksumAt, &sum, sizeof(sum));
}

void runOnce(const std::shared_ptr<const runtime::Engine>& engine, Log& log) {
  if (engine->arenaBytes() > kMaxBytes) return;
  runtime::Context context(engine, {}, log);
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
  engine->device().synchronize(nullptr);
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  static NullLog log;
  static const int isLimited = setenv("TENON_LOOP_LIMIT", "200", 1);  // conditions may hold for ever
  fuzz::require(isLimited == 0, "the limit of iterations can be set");
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  sign(bytes);
  try {
    const auto engine = runtime::Engine::load(bytes, {}, log);
    (void)engine->engineJson(0);
    (void)engine->engineText(0);
    const auto written = engine->serialize();
    const auto again = runtime::Engine::load(written, {}, log);
    fuzz::require(again->serialize() == written, "a plan that was read is written as it was");
    runOnce(engine, log);
  } catch (const InternalError& error) {
    fuzz::require(false, "a plan breaks an invariant", error.what());
  } catch (const Error&) {
  }
  return 0;
}
