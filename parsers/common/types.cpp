// Sizes and names of data types; shapes to and from nvinfer1::Dims.
#include "types.h"

#include <fmt/ranges.h>

#include <array>

#include "error.h"

namespace tenon::parsers {

std::string typeName(DataType type) {
  static constexpr std::array<const char*, 12> kNames{"FLOAT", "HALF", "INT8",  "INT32", "BOOL", "UINT8",
                                                      "FP8",   "BF16", "INT64", "INT4",  "FP4",  "E8M0"};
  const auto index = static_cast<size_t>(type);
  return index < kNames.size() ? kNames[index] : fmt::format("type number {}", index);
}

int64_t bitsOfType(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
    case DataType::kINT32: return 32;
    case DataType::kHALF:
    case DataType::kBF16: return 16;
    case DataType::kINT64: return 64;
    case DataType::kINT4:
    case DataType::kFP4: return 4;
    default: return 8;
  }
}

bool isInteger(DataType type) { return type == DataType::kINT32 || type == DataType::kINT64; }

bool isFloating(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

int64_t elementCount(const Dimensions& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      fail(FaultKind::kInvalidValue,
           fmt::format("shape {} has a negative extent; expected 0 or more", toString(shape)));
    }
    if (__builtin_mul_overflow(count, extent, &count)) {
      fail(FaultKind::kInvalidValue, fmt::format("shape {} has more elements than 2^63", toString(shape)));
    }
  }
  return count;
}

int64_t bytesFor(DataType type, int64_t count) {
  int64_t bits = 0;
  if (__builtin_mul_overflow(count, bitsOfType(type), &bits) || bits > INT64_MAX - 7) {
    fail(FaultKind::kInvalidValue, fmt::format("{} elements of {} exceed 2^63 bits", count, typeName(type)));
  }
  return (bits + 7) / 8;
}

std::string toString(const Dimensions& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

nvinfer1::Dims toDims(const Dimensions& shape) {
  if (shape.size() > nvinfer1::Dims::MAX_DIMS) {
    fail(FaultKind::kUnsupportedShape, fmt::format("shape {} has rank {}; TensorRT tensors have rank {} at most",
                                                   toString(shape), shape.size(), nvinfer1::Dims::MAX_DIMS + 0));
  }
  nvinfer1::Dims dims{};
  dims.nbDims = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    dims.d[i] = shape[i];
  }
  return dims;
}

Dimensions toDimensions(const nvinfer1::Dims& dims) {
  if (dims.nbDims < 0) {
    fail(FaultKind::kInvalidNode, "the network reports a tensor without known rank; see the log for the reason");
  }
  return Dimensions(dims.d, dims.d + dims.nbDims);
}

int32_t normalizeAxis(int64_t axis, int64_t rank, const char* what) {
  if (axis < -rank || axis >= rank) {
    fail(FaultKind::kInvalidNode,
         fmt::format("{} = {} is outside a tensor of rank {}; expected {} to {}", what, axis, rank, -rank, rank - 1));
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon::parsers
