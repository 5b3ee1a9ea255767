// Reads a capture.
#include "player/capture_file.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

#include "common/bin_format.h"

namespace tenon::capture {
namespace {

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

files::InputFile openFile(const std::string& name, std::string_view what) {
  files::InputFile file;
  if (const std::string reason = file.open(name); !reason.empty()) {
    throw CaptureError(fmt::format("the {} '{}' cannot be read: {}", what, name, reason));
  }
  return file;
}

CaptureFile::CaptureFile(const std::string& jsonName) : jsonName_(jsonName), json_(openFile(jsonName, "capture")) {
  if (json_.size() == 0) {
    throw CaptureError(fmt::format("the capture '{}' cannot be read: it is empty", jsonName));
  }
  ++lineNumber_;
  if (json_.data()[0] != '{') {
    damaged(1, "it does not begin like a capture");
  }
  std::string_view line;
  nextText(line);
  std::string first(line);
  const std::string opening = "\"calls\":[";
  while (!first.empty() && (first.back() == '\r' || first.back() == ' ')) {
    first.pop_back();
  }
  if (first.size() < opening.size() || first.compare(first.size() - opening.size(), opening.size(), opening) != 0) {
    damaged(1, "it does not begin like a capture");
  }
  header_ = Json::parse(first + "]}", nullptr, false);
  if (!header_.is_object() || header_.value("format", Json()) != kFormatName) {
    damaged(1, fmt::format("expected the format '{}'", kFormatName));
  }
  if (header_.value("version", Json()) != kFormatVersion) {
    damaged(1, fmt::format("version {} of the format; this program reads {}", header_.value("version", Json()).dump(),
                           kFormatVersion));
  }
  if (!header_.value("bin", Json()).is_string()) {
    damaged(1, "no name of a file of weights");
  }
}

void CaptureFile::damaged(int line, const std::string& what) const {
  throw CaptureError(fmt::format("{}, line {}: {}", jsonName_, line, what));
}

// A line without its end; false behind the last.
bool CaptureFile::nextText(std::string_view& text) {
  if (at_ >= json_.size()) {
    return false;
  }
  const std::string_view rest = json_.bytes().substr(at_);
  text = rest.substr(0, rest.find('\n'));
  at_ += text.size() + 1;
  return true;
}

void CaptureFile::rewind() {
  at_ = 0;
  std::string_view first;
  nextText(first);
  lineNumber_ = 1;
  count_ = 0;
  isAtEnd_ = false;
}

bool CaptureFile::next(Line& line) {
  std::string_view text;
  if (isAtEnd_) {
    return false;
  }
  if (!nextText(text)) {
    damaged(lineNumber_, "the file ends here, before its last line");
  }
  line.number = ++lineNumber_;
  if (text.size() >= 3 && text.compare(text.size() - 3, 3, "}]}") == 0 && text.compare(0, 7, "{\"end\":") == 0) {
    text.remove_suffix(2);
    isAtEnd_ = true;
  } else if (!text.empty() && text.back() == ',') {
    text.remove_suffix(1);
  }
  line.value = Json::parse(text, nullptr, false);
  if (!line.value.is_object()) {
    damaged(lineNumber_, "not a JSON object on one line");
  }
  if (isAtEnd_) {
    if (line.value["end"] != count_) {
      damaged(lineNumber_, fmt::format("{} lines were expected, {} came", line.value["end"].dump(), count_));
    }
    return false;
  }
  ++count_;
  return true;
}

const unsigned char* CaptureFile::data(const Line& line, size_t& size) {
  const Json offset = line.value.value("offset", Json());
  const Json bytes = line.value.value("bytes", Json());
  if (!offset.is_number_unsigned() || !bytes.is_number_unsigned()) {
    damaged(line.number, "offset and bytes must be numbers");
  }
  if (bin_.size() == 0) {
    bin_ = openFile(folderOf(jsonName_) + baseName(header_["bin"].get<std::string>()), "file of weights");
    if (bin_.size() < 16 || std::memcmp(bin_.data(), binHeader().data(), 16) != 0) {
      throw CaptureError(
          fmt::format("'{}' is not a file of weights of this format", header_["bin"].get<std::string>()));
    }
  }
  const auto at = offset.get<uint64_t>();
  size = bytes.get<uint64_t>();
  if (at > bin_.size() || size > bin_.size() - at) {
    damaged(line.number, fmt::format("bytes {} to {} of a file of weights of {} bytes", at, at + size, bin_.size()));
  }
  const XXH128_hash_t hash = XXH3_128bits(bin_.data() + at, size);
  if (line.value.value("xxh3", Json()) != fmt::format("{:016x}{:016x}", hash.high64, hash.low64)) {
    damaged(line.number, "the bytes in the file of weights are not those that were captured");
  }
  return reinterpret_cast<const unsigned char*>(bin_.data()) + at;
}

}  // namespace tenon::capture
