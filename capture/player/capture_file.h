// Reads a capture: the JSON file line by line, the file of weights mapped. Whatever is wrong is named with its line.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace tenon::capture {

using Json = nlohmann::json;

// What cannot be replayed, and why; the message names the line where there is one.
class CaptureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Line {
  int number = 0;  // in the file, from 1
  Json value;
};

// A mapped file.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  void open(const std::string& name);
  bool isOpen() const { return isOpen_; }
  const unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
  bool isOpen_ = false;
};

class CaptureFile {
 public:
  // Opens the JSON file and reads its first line. Throws CaptureError.
  explicit CaptureFile(const std::string& jsonName);

  const Json& header() const { return header_; }
  // The next call or definition; false behind the last. Throws CaptureError for what is not a line of a capture and
  // for a file that ends early.
  bool next(Line& line);
  void rewind();

  // The bytes that a line {"data": ...} speaks of, in the mapped file. Throws CaptureError when they are not there or
  // do not have the hash that the line tells.
  const unsigned char* data(const Line& line, size_t& size);

 private:
  [[noreturn]] void damaged(int line, const std::string& what) const;

  std::string jsonName_;
  std::ifstream stream_;
  Json header_;
  int lineNumber_ = 0;
  uint64_t count_ = 0;
  bool isAtEnd_ = false;
  MappedFile bin_;
};

}  // namespace tenon::capture
