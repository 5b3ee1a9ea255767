// Looks at a file, then maps it.
#include "files/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tenon::files {
namespace {

const char* kindOf(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "it is a folder";
  }
  if (S_ISFIFO(mode)) {
    return "it is a pipe, expected a regular file";
  }
  if (S_ISSOCK(mode)) {
    return "it is a socket, expected a regular file";
  }
  return "it is a device, expected a regular file";
}

}  // namespace

InputFile::InputFile(InputFile&& other) noexcept
    : data_(std::exchange(other.data_, "")), size_(std::exchange(other.size_, 0)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() { close(); }

void InputFile::close() noexcept {
  if (size_ > 0) {
    ::munmap(const_cast<char*>(data_), size_);
  }
  data_ = "";
  size_ = 0;
}

void InputFile::pass(size_t count) const noexcept {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (count >= page) {
    (void)::madvise(const_cast<char*>(data_), count / page * page, MADV_DONTNEED);
  }
}

std::string InputFile::open(const std::string& path) {
  close();
  // Without waiting for whoever writes into a pipe, and without becoming the owner of a terminal.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    return errno == ENXIO ? "it is a socket or device, expected a regular file" : std::strerror(errno);
  }
  struct stat facts {};
  std::string reason;
  if (::fstat(file, &facts) != 0) {
    reason = std::strerror(errno);
  } else if (!S_ISREG(facts.st_mode)) {
    reason = kindOf(facts.st_mode);
  } else if (facts.st_size > 0) {
    void* const mapped = ::mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
      reason = std::string("it cannot be mapped: ") + std::strerror(errno);
    } else {
      data_ = static_cast<const char*>(mapped);
      size_ = static_cast<size_t>(facts.st_size);
    }
  }
  ::close(file);
  return reason;
}

}  // namespace tenon::files
