// Opens external weight files, and only those below the folder of the model.
#include "external_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace tenon::parsers::onnx {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

constexpr int64_t kTimesRead = 4;
constexpr int64_t kOverlapAllowed = int64_t{1} << 26;

[[noreturn]] void refuse(const std::string& location, const std::string& reason) {
  fail(FaultKind::kInvalidValue, fmt::format("external data '{}': {}", location, reason));
}

void checkLocation(const std::string& location) {
  if (location.empty()) {
    refuse(location, "the location is empty; expected a path relative to the model's folder");
  }
  if (location.find('\0') != std::string::npos) {
    refuse(location.c_str(), "the location holds a zero byte; expected a path relative to the model's folder");
  }
  if (location.front() == '/') {
    refuse(location, "the path is absolute; expected a path relative to the model's folder");
  }
  for (size_t at = 0; at <= location.size();) {
    const size_t end = std::min(location.find('/', at), location.size());
    if (location.compare(at, end - at, "..") == 0) {
      refuse(location, "the path leaves the model's folder through '..'; keep weight files beside the model");
    }
    at = end + 1;
  }
}

// Where an open file really lies, after every symbolic link: asked of the descriptor, so no later swap can matter.
std::string realPathOf(int descriptor) {
  std::array<char, PATH_MAX> target{};
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : std::string();
}

}  // namespace

ExternalFiles::ExternalFiles(const char* modelPath) {
  if (modelPath == nullptr || *modelPath == '\0') {
    return;
  }
  const std::string path = modelPath;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(folder.c_str(), resolved.data()) != nullptr) {
    folder_ = resolved.data();
    known_ = true;
  }
}

const std::byte* ExternalFiles::read(const std::string& location, int64_t offset, int64_t& length,
                                     WeightStore& store) const {
  if (!known_) {
    refuse(location, "the model was given as bytes without its path; use parseFromFile, or pass the model's path");
  }
  checkLocation(location);
  const std::string path = folder_ + "/" + location;
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    refuse(location, fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  }
  const std::string real = realPathOf(file.get());
  const std::string prefix = folder_ == "/" ? folder_ : folder_ + "/";
  if (real.compare(0, prefix.size(), prefix) != 0) {
    refuse(location, "a symbolic link leads out of the model's folder; keep weight files beside the model");
  }
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    refuse(location, S_ISDIR(facts.st_mode) ? "this is a folder, not a regular file; expected a file with weights"
                                            : "this is a device, pipe or socket, not a regular file");
  }
  if (offset < 0 || offset > facts.st_size || (length >= 0 && length > facts.st_size - offset)) {
    refuse(location, fmt::format("{1} bytes at offset {0} reach beyond the file of {2} bytes", offset, length,
                                 static_cast<int64_t>(facts.st_size)));
  }
  length = length < 0 ? facts.st_size - offset : length;
  const std::byte*& known = sections_[{location, offset, length}];
  if (known != nullptr) {
    return known;
  }
  int64_t& total = bytesRead_[location];
  total += length;
  if ((total - kOverlapAllowed) / kTimesRead > facts.st_size) {
    refuse(location,
           fmt::format("tensors overlap: they ask for {} bytes and more of a file of {}; expected each byte in one "
                       "tensor",
                       total, static_cast<int64_t>(facts.st_size)));
  }
  std::byte* bytes = store.allocate(length);
  for (int64_t done = 0; done < length;) {
    const ssize_t got = ::pread(file.get(), bytes + done, static_cast<size_t>(length - done), offset + done);
    if (got <= 0) {
      refuse(location, fmt::format("read {} of {} bytes: {}", done, length, std::strerror(errno)));
    }
    done += got;
  }
  known = bytes;
  return bytes;
}

}  // namespace tenon::parsers::onnx
