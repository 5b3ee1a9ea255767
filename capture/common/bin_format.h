// The file of weights, and the numbers that writer and reader of a capture agree on.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace tenon::capture {

constexpr char kFormatName[] = "tenon-capture";
constexpr int kFormatVersion = 1;
constexpr char kBinMagic[] = "TENONBIN";  // 8 bytes, then the version in 4 and 4 of zeros, all little endian
constexpr uint32_t kBinVersion = 1;
constexpr size_t kBinAlignment = 64;  // of each content from the start of the file

inline std::string binHeader() {
  std::string header(16, '\0');
  std::memcpy(header.data(), kBinMagic, 8);
  std::memcpy(header.data() + 8, &kBinVersion, sizeof kBinVersion);
  return header;
}

// "folder/x.json" gives "folder/x.bin"; other names get ".bin" added.
inline std::string binName(const std::string& json) {
  const std::string ending = ".json";
  const bool has = json.size() > ending.size() && json.compare(json.size() - ending.size(), ending.size(), ending) == 0;
  return (has ? json.substr(0, json.size() - ending.size()) : json) + ".bin";
}

inline std::string baseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Bits of one element; 0 for a value that is no type.
constexpr int bitsOf(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kINT64: return 64;
    case nvinfer1::DataType::kFLOAT:
    case nvinfer1::DataType::kINT32: return 32;
    case nvinfer1::DataType::kHALF:
    case nvinfer1::DataType::kBF16: return 16;
    case nvinfer1::DataType::kINT8:
    case nvinfer1::DataType::kUINT8:
    case nvinfer1::DataType::kBOOL:
    case nvinfer1::DataType::kFP8:
    case nvinfer1::DataType::kE8M0: return 8;
    case nvinfer1::DataType::kINT4:
    case nvinfer1::DataType::kFP4: return 4;
  }
  return 0;
}

// Bytes of so many elements, packed; the largest number when that is no sensible count.
constexpr size_t bytesOf(nvinfer1::DataType type, int64_t count) {
  const auto bits = static_cast<uint64_t>(bitsOf(type));
  if (count < 0 || static_cast<uint64_t>(count) > std::numeric_limits<uint64_t>::max() / 128) {
    return std::numeric_limits<size_t>::max();
  }
  return static_cast<size_t>((static_cast<uint64_t>(count) * bits + 7) / 8);
}

}  // namespace tenon::capture
