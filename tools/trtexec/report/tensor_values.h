// Tensor elements of every data type: size, reading, writing, and the random values that inputs get.
#pragma once

#include <NvInferRuntime.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace tenon::trtexec {

//! Bits of one element.
size_t bitsPerElement(nvinfer1::DataType type);

//! Bytes of so many elements; types below a byte are packed.
size_t bytesOf(nvinfer1::DataType type, size_t elements);

//! An element as a whole number, a fraction or a truth value.
using Element = std::variant<int64_t, float, bool>;
Element readElement(nvinfer1::DataType type, const void* data, size_t index);

//! Stores the value nearest to `value` that the type has.
void writeElement(nvinfer1::DataType type, void* data, size_t index, double value);

//! Values that depend on nothing but the name: floats in [-1, 1), whole numbers 0 and 1 (an index into any table, a
//! mask, a token), for INT8 and UINT8 the whole range.
void fillRandom(nvinfer1::DataType type, void* data, size_t elements, std::string_view name);

}  // namespace tenon::trtexec
