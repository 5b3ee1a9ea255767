// Names of ONNX element types and their conversion.
#include "onnx_types.h"

#include <fmt/format.h>

#include <array>

namespace tenon::parsers::onnx {

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

}  // namespace tenon::parsers::onnx
