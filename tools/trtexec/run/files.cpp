// Whole files in and out; every failure names the file and the reason.
#include "files.h"

#include "failure.h"
#include "process/whole_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tenon::trtexec {

files::InputFile readFile(const std::string& path, std::string_view what) {
  files::InputFile file;
  if (const std::string reason = file.open(path); !reason.empty()) {
    throw Failure("cannot {} '{}' ({}): {}", fileExists(path) ? "read" : "open the file", path, what, reason);
  }
  return file;
}

files::InputFile readPlan(const std::string& path, std::string_view verdict) {
  constexpr std::string_view kSignature = "TENONPLN";  // no later format moves it
  constexpr std::string_view kForeign = "ftrt";
  files::InputFile file = readFile(path, "engine");
  const std::string_view bytes = file.bytes();
  if (bytes.empty()) {
    throw Failure("the file '{}' {}: it is empty", path, verdict);
  }
  if (bytes.starts_with(kForeign)) {
    throw Failure(
        "the file '{}' is an engine of NVIDIA's library, which Tenon does not load; build it again from the model",
        path);
  }
  if (!bytes.starts_with(kSignature)) {
    throw Failure(
        "the file '{}' {}: its first bytes are not {}; a model becomes an engine by --onnx=<file> "
        "--saveEngine=<file>",
        path, verdict, kSignature);
  }
  return file;
}

void writeFile(const std::string& path, const void* data, size_t bytes, std::string_view what) {
  if (const std::string reason = tools::writeWholeFile(path, data, bytes); !reason.empty()) {
    throw Failure("cannot write {} bytes to the file '{}' ({}): {}", bytes, path, what, reason);
  }
}

void writeFile(const std::string& path, std::string_view text, std::string_view what) {
  writeFile(path, text.data(), text.size(), what);
}

void checkWritable(const std::string& path, std::string_view flag) {
  if (path.empty()) {
    return;
  }
  const auto refuse = [&](std::string_view why) {
    throw Failure("{}: cannot write the file '{}': {}", flag, path, why);
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0) {
    if (S_ISDIR(facts.st_mode)) {
      refuse("it is a folder");
    }
    if (access(path.c_str(), W_OK) != 0) {
      refuse(std::strerror(errno));
    }
  }
  // A regular file is written beside its place and renamed.
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (!S_ISREG(facts.st_mode) && facts.st_mode != 0) {
    return;
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("the folder '{}': {}", folder, std::strerror(errno)));
  }
}

bool fileExists(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0;
}

std::string fileNamePart(std::string_view name) {
  std::string part(name);
  for (char& c : part) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    c = safe ? c : '_';
  }
  return part;
}

}  // namespace tenon::trtexec
