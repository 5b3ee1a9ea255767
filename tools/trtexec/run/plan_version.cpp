// Tells from the first bytes of an engine file which version wrote it.
#include "plan_version.h"

#include "failure.h"
#include "files.h"
#include "log.h"

namespace tenon::trtexec {

namespace {

// The beginning of an engine file, which no later format moves: 8 bytes of signature, u32 version of the format, u32
// bytes of the header, i32 version of Tenon, i32 version of the interface; all little-endian.
constexpr size_t kHead = 24;
constexpr size_t kTenonVersion = 16;
constexpr size_t kInterfaceVersion = 20;

int32_t readNumber(const unsigned char* bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  }
  return static_cast<int32_t>(value);
}

std::string versionText(int32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

void printPlanVersion(const std::string& path) {
  const files::InputFile file = readPlan(path, "is not an engine");
  if (file.size() < kHead) {
    throw Failure("the file '{}' is not an engine: it has only {} bytes, but its header alone has {}", path,
                  file.size(), kHead);
  }
  const auto* head = reinterpret_cast<const unsigned char*>(file.data());
  info("Plan was created with TensorRT version {}, by Tenon {}", versionText(readNumber(head + kInterfaceVersion)),
       versionText(readNumber(head + kTenonVersion)));
}

}  // namespace tenon::trtexec
