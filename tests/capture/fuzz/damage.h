// What the fuzz targets of the player share: files in memory, and damage as captures suffer it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "common/method.h"

namespace tenon::capture {

// A file in memory, found under /proc/self/fd: writing it costs no disk.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : file_(::memfd_create(name, 0)) {}
  void set(const std::string& bytes) {
    if (::ftruncate(file_, 0) != 0 ||
        ::pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::perror("memfd");
    }
  }
  int number() const { return file_; }

 private:
  int file_;
};

class Damage {
 public:
  explicit Damage(uint64_t seed) : engine_(seed) {}

  size_t below(size_t count) { return count > 0 ? engine_() % count : 0; }

  void lines(std::vector<std::string>& text) {
    const size_t at = below(text.size());
    switch (below(8)) {
      case 0: text.erase(text.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), text[below(text.size())]); break;
      case 2: std::swap(text[at], text[below(text.size())]); break;
      case 3: text.resize(at + 1); break;
      case 4: method(text[at]); break;
      case 5:
      case 6: number(text[at]); break;
      default: bytes(text[at]);
    }
  }

  void bytes(std::string& text) {
    if (!text.empty()) {
      static constexpr char kLikely[] = "{}[]\",:0129-.ektrufalsn\\\x01\xff";
      text[below(text.size())] = below(2) == 0 ? kLikely[below(sizeof kLikely - 1)] : static_cast<char>(engine_());
    }
  }

 private:
  // Another function: also one of another class, with arguments of another kind.
  void method(std::string& line) {
    const size_t begin = line.find("\"m\":\"");
    const size_t end = begin == std::string::npos ? begin : line.find('"', begin + 5);
    const auto name = methods()[below(methods().size())].name;
    // What getLayer() returns has, behind this library, no type that its class fits.
    if (end != std::string::npos && name != "INetworkDefinition.getLayer") {
      line.replace(begin + 5, end - begin - 5, std::string(name));
    }
  }

  // Another number in place of one: small, extreme, or of another form.
  void number(std::string& line) {
    std::vector<size_t> places;
    for (size_t i = 1; i < line.size(); ++i) {
      if (std::isdigit(static_cast<unsigned char>(line[i])) != 0 && std::strchr("[,:", line[i - 1]) != nullptr) {
        places.push_back(i);
      }
    }
    if (places.empty()) {
      return;
    }
    const size_t at = places[below(places.size())];
    size_t end = at;
    while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) {
      ++end;
    }
    static const char* const kNumbers[] = {
        "0",    "1",          "-1", "2147483648", "-9223372036854775808", "18446744073709551615", "1e400", "null",
        "true", "\"kFLOAT\"", "[]", "{}",         "[1,2,3,4,5,6,7,8,9]"};
    line.replace(at, end - at, below(2) == 0 ? std::to_string(below(60)) : kNumbers[below(std::size(kNumbers))]);
  }

  std::mt19937_64 engine_;
};

}  // namespace tenon::capture
