// A file that is only read: looked at before a byte of it is read, and then mapped, so that a file of any size costs no
// memory before somebody looks at its bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::files {

class InputFile {
 public:
  InputFile() = default;
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  //! The empty text, or why it cannot be read: what does not exist, and what is no regular file (folders, devices,
  //! pipes, which have no end or none that anybody waits for). An empty file is read.
  std::string open(const std::string& path);

  const char* data() const noexcept { return data_; }  // never null
  size_t size() const noexcept { return size_; }
  std::string_view bytes() const noexcept { return {data_, size_}; }

  //! The first `count` bytes will hardly be read again: they leave this process, whoever reads them gets them from the
  //! disk.
  void pass(size_t count) const noexcept;

 private:
  void close() noexcept;
  const char* data_ = "";
  size_t size_ = 0;
};

}  // namespace tenon::files
