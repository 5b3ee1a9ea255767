// Data types and shapes as parsers use them: sizes, names, conversion to and from the public API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace tenon::parsers {

using nvinfer1::DataType;
using Dimensions = std::vector<int64_t>;  // -1: known only at run time

std::string typeName(DataType type);

int64_t bitsOfType(DataType type);
bool isInteger(DataType type);   // INT32, INT64
bool isFloating(DataType type);  // FLOAT, HALF, BF16

// Number of elements; fails when an extent is negative or the product leaves int64.
int64_t elementCount(const Dimensions& shape);
int64_t bytesFor(DataType type, int64_t count);

std::string toString(const Dimensions& shape);
nvinfer1::Dims toDims(const Dimensions& shape);  // fails when the rank exceeds nvinfer1::Dims::MAX_DIMS
Dimensions toDimensions(const nvinfer1::Dims& dims);

// An axis of -rank .. rank-1 as 0 .. rank-1; fails otherwise.
int32_t normalizeAxis(int64_t axis, int64_t rank, const char* what = "axis");

}  // namespace tenon::parsers
