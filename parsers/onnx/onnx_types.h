// Element types of ONNX and the data types of TensorRT that hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/types.h"

namespace tenon::parsers::onnx {

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

// The TensorRT type that holds an ONNX type (DOUBLE becomes FLOAT); nothing where TensorRT has none.
std::optional<DataType> toDataType(int32_t onnxType);

}  // namespace tenon::parsers::onnx
