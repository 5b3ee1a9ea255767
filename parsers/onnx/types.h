// Data types and extents as the parser speaks of them: conversions between ONNX's and TensorRT's, sizes, printing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace tenon::onnxparser {

using nvinfer1::DataType;
using Shape = std::vector<int64_t>;  // -1: known only at run time

// Element types of the ONNX schema (TensorProto.DataType).
enum class OnnxType : int32_t {
  kUNDEFINED = 0,
  kFLOAT = 1,
  kUINT8 = 2,
  kINT8 = 3,
  kUINT16 = 4,
  kINT16 = 5,
  kINT32 = 6,
  kINT64 = 7,
  kSTRING = 8,
  kBOOL = 9,
  kFLOAT16 = 10,
  kDOUBLE = 11,
  kUINT32 = 12,
  kUINT64 = 13,
  kCOMPLEX64 = 14,
  kCOMPLEX128 = 15,
  kBFLOAT16 = 16,
  kFLOAT8E4M3FN = 17,
  kFLOAT8E4M3FNUZ = 18,
  kFLOAT8E5M2 = 19,
  kFLOAT8E5M2FNUZ = 20,
  kUINT4 = 21,
  kINT4 = 22,
  kFLOAT4E2M1 = 23,
  kFLOAT8E8M0 = 24
};

std::string onnxTypeName(int32_t type);
std::string typeName(DataType type);

// The TensorRT type that holds an ONNX type (DOUBLE becomes FLOAT); nothing where TensorRT has none.
std::optional<DataType> toDataType(int32_t onnxType);

int64_t bitsOfType(DataType type);
bool isInteger(DataType type);   // INT32, INT64
bool isFloating(DataType type);  // FLOAT, HALF, BF16

// Number of elements; fails when an extent is negative or the product leaves int64.
int64_t elementCount(const Shape& shape);
int64_t bytesFor(DataType type, int64_t count);

std::string toString(const Shape& shape);
nvinfer1::Dims toDims(const Shape& shape);  // fails when the rank exceeds nvinfer1::Dims::MAX_DIMS
Shape toShape(const nvinfer1::Dims& dims);

// An axis of -rank .. rank-1 as 0 .. rank-1; fails otherwise.
int32_t normalizeAxis(int64_t axis, int64_t rank, const char* what = "axis");

}  // namespace tenon::onnxparser
