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
  const auto refuse = [&](std::string_view why) { throw Failure("{}: cannot write the file '{}': {}", flag, path, why); };
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

} // namespace tenon::trtexec
