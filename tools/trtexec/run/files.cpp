// Whole files in and out; every failure names the file and the reason.
#include "files.h"

#include "failure.h"
#include "interrupt.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

namespace tenon::trtexec {

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

} // namespace

std::vector<char> readFile(const std::string& path, std::string_view what) {
  const File file(std::fopen(path.c_str(), "rb"));
  struct stat facts {};
  if (file == nullptr || fstat(fileno(file.get()), &facts) != 0) {
    throw Failure("cannot open the file '{}' ({}): {}", path, what, std::strerror(errno));
  }
  if (S_ISDIR(facts.st_mode)) {
    throw Failure("cannot read '{}' ({}): it is a folder", path, what);
  }
  std::vector<char> data(S_ISREG(facts.st_mode) ? static_cast<size_t>(facts.st_size) : 0);
  size_t used = std::fread(data.data(), 1, data.size(), file.get());
  // Pipes and files that grow have more than was foreseen.
  constexpr size_t kStep = size_t{1} << 20;
  while (std::ferror(file.get()) == 0 && std::feof(file.get()) == 0 && used == data.size()) {
    data.resize(used + kStep);
    used += std::fread(data.data() + used, 1, kStep, file.get());
    data.resize(used);
  }
  if (std::ferror(file.get()) != 0) {
    throw Failure("cannot read the file '{}' ({}): {}", path, what, std::strerror(errno));
  }
  data.resize(used);
  return data;
}

namespace {

// Writes all of it and waits until the disk has it; 0 or the reason why not.
int writeAll(const std::string& path, const void* data, size_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return errno;
  }
  bool good = bytes == 0 || std::fwrite(data, 1, bytes, file) == bytes;
  good = good && std::fflush(file) == 0;
  struct stat facts {};
  if (good && fstat(fileno(file), &facts) == 0 && S_ISREG(facts.st_mode)) {
    good = fsync(fileno(file)) == 0;
  }
  const int reason = good ? 0 : errno;
  return std::fclose(file) != 0 && good ? errno : reason;
}

} // namespace

// A file appears, or takes the place of an old one, as a whole: whatever ends the process leaves the old one or the new.
void writeFile(const std::string& path, const void* data, size_t bytes, std::string_view what) {
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  const bool plain = !exists || S_ISREG(old.st_mode); // not a pipe, a terminal or /dev/full
  char resolved[PATH_MAX];
  const std::string target = plain && exists && realpath(path.c_str(), resolved) != nullptr ? resolved : path;
  const std::string part = plain ? fmt::format("{}.part{}", target, getpid()) : target;
  std::optional<UnfinishedFile> unfinished;
  if (plain) {
    unfinished.emplace(part);
  }
  int reason = writeAll(part, data, bytes);
  if (reason == 0 && plain) {
    if (exists) {
      chmod(part.c_str(), old.st_mode & 07777);
    }
    reason = std::rename(part.c_str(), target.c_str()) == 0 ? 0 : errno;
  }
  if (reason != 0) {
    if (plain) {
      std::remove(part.c_str());
    }
    throw Failure("cannot write {} bytes to the file '{}' ({}): {}", bytes, path, what, std::strerror(reason));
  }
}

void writeFile(const std::string& path, std::string_view text, std::string_view what) {
  writeFile(path, text.data(), text.size(), what);
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

} // namespace tenon::trtexec
