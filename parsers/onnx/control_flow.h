// What the import of If and that of Loop and Scan share.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "node_import.h"

namespace tenon::parsers::onnx {

inline std::optional<bool> knownBool(const ParsedValue& value) {
  if (!value.isConstant() || value.constant().type != DataType::kBOOL || value.constant().count() != 1) {
    return std::nullopt;
  }
  return *static_cast<const uint8_t*>(value.constant().data) != 0;
}

// A value of one element, of rank 0.
inline nvinfer1::ITensor& scalarTensor(NetworkWriter& writer, const ParsedValue& value, const char* what) {
  const Dimensions shape = writer.shapeOf(value);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; })) {
    fail(FaultKind::kInvalidNode, fmt::format("the {} has shape {}, expected one element", what, toString(shape)));
  }
  return writer.tensor(shape.empty() ? value : writer.reshape(value, {}));
}

inline void checkCount(const char* what, size_t got, size_t expected) {
  if (got != expected) {
    fail(FaultKind::kInvalidGraph, fmt::format("the body has {} {}, expected {}", got, what, expected));
  }
}

inline int32_t listed(const std::vector<int64_t>& list, size_t index, int64_t rank) {
  return index < list.size() ? normalizeAxis(list[index], rank) : 0;
}

inline bool isListed(const std::vector<int64_t>& list, size_t index) { return index < list.size() && list[index] != 0; }

}  // namespace tenon::parsers::onnx
