// Header fields at fixed offsets, little endian.
#include "plan/header.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "plan/checksum.h"

namespace tenon::plan {
namespace {

constexpr std::string_view kMagic = "TENONPLN";
constexpr size_t kManifestAt = 32;
constexpr size_t kConstantsAt = 56;
constexpr size_t kNativeCodeAt = 80;
constexpr size_t kZerosAt = 104;
constexpr size_t kChecksumAt = 120;
static_assert(std::endian::native == std::endian::little,
              "plans are little endian; a big-endian machine needs swaps here");

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

template <typename T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

void putSection(std::byte* to, const Section& section) {
  put(to, section.offset);
  put(to + 8, section.bytes);
  put(to + 16, section.checksum);
}

Section getSection(const std::byte* from) {
  return {get<uint64_t>(from), get<uint64_t>(from + 8), get<uint64_t>(from + 16)};
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode(const Header& header) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::byte* const at = bytes.data();
  std::memcpy(at, kMagic.data(), kMagic.size());
  put(at + 8, header.facts.formatVersion);
  put(at + 12, static_cast<uint32_t>(kHeaderBytes));
  put(at + 16, header.facts.tenonVersion);
  put(at + 20, header.facts.apiVersion);
  put(at + 24, header.facts.fileBytes);
  putSection(at + kManifestAt, header.manifest);
  putSection(at + kConstantsAt, header.constants);
  putSection(at + kNativeCodeAt, header.nativeCode);
  put(at + kChecksumAt, checksum(at, kChecksumAt));
  return bytes;
}

Header decode(std::span<const std::byte> start) {
  const size_t seen = std::min(start.size(), kMagic.size());
  checkUser(seen > 0, "plan: it is empty, expected a serialized engine");
  checkUser(
      std::memcmp(start.data(), kMagic.data(), seen) == 0,
      "plan: these bytes are not an engine of Tenon (they do not begin with '{}'); engines of NVIDIA TensorRT must be "
      "built again from the model",
      kMagic);
  checkUser(start.size() >= kHeaderBytes, "plan: it has only {} bytes, but its header alone has {}", start.size(),
            kHeaderBytes);
  const std::byte* const at = start.data();
  Header header;
  header.facts.formatVersion = get<uint32_t>(at + 8);
  header.facts.tenonVersion = get<int32_t>(at + 16);
  header.facts.apiVersion = get<int32_t>(at + 20);
  header.facts.fileBytes = get<uint64_t>(at + 24);
  // A format of another version may end its header elsewhere: say so before the checksum does.
  checkUser(
      header.facts.formatVersion == kFormatVersion || get<uint64_t>(at + kChecksumAt) == checksum(at, kChecksumAt),
      "plan: the header is damaged (checksum)");
  checkUser(header.facts.formatVersion == kFormatVersion,
            "plan: its format has version {}, this Tenon reads version {}; build the engine again with this version",
            header.facts.formatVersion, kFormatVersion);
  checkUser(get<uint64_t>(at + kChecksumAt) == checksum(at, kChecksumAt), "plan: the header is damaged (checksum)");
  checkUser(get<uint32_t>(at + 12) == kHeaderBytes && get<uint64_t>(at + kZerosAt) == 0 &&
                get<uint64_t>(at + kZerosAt + 8) == 0,
            "plan: the header is not of format version {}", kFormatVersion);
  header.manifest = getSection(at + kManifestAt);
  header.constants = getSection(at + kConstantsAt);
  header.nativeCode = getSection(at + kNativeCodeAt);
  return header;
}

FileFacts peek(std::span<const std::byte> start) { return decode(start).facts; }

}  // namespace tenon::plan
