// Files that appear as a whole or not at all.
#include "whole_file.h"

#include "interrupt.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace tenon::tools {

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

}  // namespace

std::string writeWholeFile(const std::string& path, const void* data, size_t bytes) {
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  const bool plain = !exists || S_ISREG(old.st_mode);  // not a pipe, a terminal or /dev/full
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
  if (reason != 0 && plain) {
    std::remove(part.c_str());
  }
  return reason == 0 ? "" : std::strerror(reason);
}

}  // namespace tenon::tools
