// Reads a capture: the JSON file line by line, and the file of weights, both mapped. Whatever is wrong is named with
// its line.
#pragma once

#include <files/input_file.h>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

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

// Throws CaptureError that names the file and `what` it is for.
files::InputFile openFile(const std::string& name, std::string_view what);

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

  bool nextText(std::string_view& text);

  std::string jsonName_;
  files::InputFile json_;
  size_t at_ = 0;  // in the file
  Json header_;
  int lineNumber_ = 0;
  uint64_t count_ = 0;
  bool isAtEnd_ = false;
  files::InputFile bin_;
};

}  // namespace tenon::capture
