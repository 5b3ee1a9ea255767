// Tells from the first bytes of an engine file which version wrote it.
#include "plan_version.h"

#include "failure.h"
#include "log.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tenon::trtexec {

namespace {

// The beginning of an engine file, which no later format moves: 8 bytes of signature, u32 version of the format, u32
// bytes of the header, i32 version of Tenon, i32 version of the interface; all little-endian.
constexpr size_t kHead = 24;
constexpr char kSignature[] = "TENONPLN";
constexpr size_t kTenonVersion = 16;
constexpr size_t kInterfaceVersion = 20;

//! How engines of NVIDIA's library begin.
constexpr char kForeignSignature[] = "ftrt";

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

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

} // namespace

void printPlanVersion(const std::string& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    throw Failure("cannot open the file '{}' (engine): {}", path, std::strerror(errno));
  }
  std::array<unsigned char, kHead> head{};
  const size_t count = std::fread(head.data(), 1, head.size(), file.get());
  if (count >= 4 && std::memcmp(head.data(), kForeignSignature, 4) == 0) {
    throw Failure("the file '{}' is an engine of NVIDIA's library, which Tenon does not load; build it again from the model",
                  path);
  }
  if (count < kHead || std::memcmp(head.data(), kSignature, 8) != 0) {
    throw Failure("the file '{}' is no engine: its first bytes are not {}", path, kSignature);
  }
  info("Plan was created with TensorRT version {}, by Tenon {}", versionText(readNumber(&head[kInterfaceVersion])),
       versionText(readNumber(&head[kTenonVersion])));
}

} // namespace tenon::trtexec
