// How many bytes a field of a plugin has.
#pragma once

#include <NvInfer.h>

#include <cstddef>

namespace tenon::capture {

constexpr size_t kInlineFieldBytes = 256;  // up to here in the JSON file

inline size_t fieldBytes(nvinfer1::PluginFieldType type, int32_t length) {
  using nvinfer1::PluginFieldType;
  const size_t count = length > 0 ? static_cast<size_t>(length) : 0;
  switch (type) {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64: return count * 8;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32: return count * 4;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kINT16:
    case PluginFieldType::kBF16: return count * 2;
    case PluginFieldType::kDIMS: return count * sizeof(nvinfer1::Dims);
    case PluginFieldType::kINT4:
    case PluginFieldType::kFP4: return (count + 1) / 2;
    default: return count;
  }
}

}  // namespace tenon::capture
