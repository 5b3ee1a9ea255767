// Reads the values of flags: lists, name:value pairs, numbers, sizes, shapes, data types and formats.
#pragma once

#include "options.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::trtexec {

// All functions throw std::invalid_argument that says what was read and what was expected.

//! Splits at `separator`, except between single quotes. An empty text has no parts.
std::vector<std::string> splitList(std::string_view text, char separator);

//! Splits at the last colon outside of single quotes and takes the quotes off the name: 'a:b':c is {a:b, c}.
std::pair<std::string, std::string> splitNameAndValue(std::string_view text);

int32_t readInt(std::string_view text, int32_t least, int32_t most);
double readNumber(std::string_view text, double least, double most);

//! Bytes; the suffixes B, K, M, G in either case are powers of 1024, without one the number counts `unit` bytes.
size_t readSize(std::string_view text, size_t unit);

//! "1x3x224x224"; empty and "scalar" are the 0-D shape.
Shape readShape(std::string_view text);
//! "a:1x3,b:scalar"
ShapeMap readShapes(std::string_view text);

nvinfer1::DataType readDataType(std::string_view text);
//! "fp16:chw+hwc8"; the format may be left out.
IoFormat readIoFormat(std::string_view text);

//! One of the given words, as its index.
size_t readChoice(std::string_view text, const std::vector<std::string_view>& words);

//! A leading ~ stands for $HOME.
std::string expandHome(std::string_view path);

//! "a:x,b:y" as pairs, in order; both parts must be there.
std::vector<std::pair<std::string, std::string>> readPairs(std::string_view text);

std::string_view dataTypeName(nvinfer1::DataType type);
//! "1x3x224x224"; "scalar" for a 0-D shape.
std::string shapeText(const Shape& shape);

}  // namespace tenon::trtexec
