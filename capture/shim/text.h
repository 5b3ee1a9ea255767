// Writes values as JSON text; what JSON cannot say has a form of its own (docs/capture_format.md).
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon::capture::text {

void appendInteger(std::string& out, int64_t value);
void appendUnsigned(std::string& out, uint64_t value);
void appendReal(std::string& out, float value);  // shortest form that reads back as the same number
void appendReal(std::string& out, double value);
void appendHex(std::string& out, const void* bytes, size_t size);
void appendString(std::string& out, const char* value);  // null, "text" or {"hex": ...} for what is not UTF-8
void appendDims(std::string& out, const nvinfer1::Dims& dims);
void appendEnum(std::string& out, int enumeration, int64_t value);  // the enumerator's name, or the number

}  // namespace tenon::capture::text
