// Conversions between ONNX's and TensorRT's data types and extents.
#include "types.h"

#include <fmt/ranges.h>

#include <array>

#include "error.h"

namespace tenon::onnxparser {

std::string onnxTypeName(int32_t type) {
  static constexpr std::array<const char*, 25> kNames{
      "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
      "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
      "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0"};
  if (type >= 0 && type < static_cast<int32_t>(kNames.size())) {
    return kNames[static_cast<size_t>(type)];
  }
  return fmt::format("type number {}", type);
}

std::string typeName(DataType type) {
  static constexpr std::array<const char*, 12> kNames{"FLOAT", "HALF", "INT8",  "INT32", "BOOL", "UINT8",
                                                      "FP8",   "BF16", "INT64", "INT4",  "FP4",  "E8M0"};
  const auto index = static_cast<size_t>(type);
  return index < kNames.size() ? kNames[index] : fmt::format("type number {}", index);
}

std::optional<DataType> toDataType(int32_t onnxType) {
  switch (static_cast<OnnxType>(onnxType)) {
    case OnnxType::kFLOAT:
    case OnnxType::kDOUBLE: return DataType::kFLOAT;
    case OnnxType::kFLOAT16: return DataType::kHALF;
    case OnnxType::kBFLOAT16: return DataType::kBF16;
    case OnnxType::kINT8: return DataType::kINT8;
    case OnnxType::kUINT8: return DataType::kUINT8;
    case OnnxType::kINT32: return DataType::kINT32;
    case OnnxType::kINT64: return DataType::kINT64;
    case OnnxType::kBOOL: return DataType::kBOOL;
    case OnnxType::kFLOAT8E4M3FN: return DataType::kFP8;
    case OnnxType::kINT4: return DataType::kINT4;
    case OnnxType::kFLOAT4E2M1: return DataType::kFP4;
    case OnnxType::kFLOAT8E8M0: return DataType::kE8M0;
    default: return std::nullopt;
  }
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

int64_t elementCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      fail(ErrorCode::kINVALID_VALUE,
           fmt::format("shape {} has a negative extent; expected 0 or more", toString(shape)));
    }
    if (__builtin_mul_overflow(count, extent, &count)) {
      fail(ErrorCode::kINVALID_VALUE, fmt::format("shape {} has more elements than 2^63", toString(shape)));
    }
  }
  return count;
}

int64_t bytesFor(DataType type, int64_t count) {
  int64_t bits = 0;
  if (__builtin_mul_overflow(count, bitsOfType(type), &bits) || bits > INT64_MAX - 7) {
    fail(ErrorCode::kINVALID_VALUE, fmt::format("{} elements of {} exceed 2^63 bits", count, typeName(type)));
  }
  return (bits + 7) / 8;
}

std::string toString(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

nvinfer1::Dims toDims(const Shape& shape) {
  if (shape.size() > nvinfer1::Dims::MAX_DIMS) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE, fmt::format("shape {} has rank {}; TensorRT tensors have rank {} at most",
                                                         toString(shape), shape.size(), nvinfer1::Dims::MAX_DIMS + 0));
  }
  nvinfer1::Dims dims{};
  dims.nbDims = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    dims.d[i] = shape[i];
  }
  return dims;
}

Shape toShape(const nvinfer1::Dims& dims) {
  if (dims.nbDims < 0) {
    fail(ErrorCode::kINVALID_NODE, "the network reports a tensor without known rank; see the log for the reason");
  }
  return Shape(dims.d, dims.d + dims.nbDims);
}

int32_t normalizeAxis(int64_t axis, int64_t rank, const char* what) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("{} = {} is outside a tensor of rank {}; expected {} to {}", what, axis, rank, -rank, rank - 1));
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon::onnxparser
