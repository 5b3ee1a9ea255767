// What a network makes that is no layer, and how deep graphs may lie within nodes.
#pragma once

#include "common/network_writer.h"

namespace tenon::parsers::onnx {

// Fails when the network returned nullptr for `call`.
template <typename Made>
Made& made(const NetworkWriter& writer, Made* object, const char* call) {
  if (object == nullptr) {
    fail(FaultKind::kInvalidNode, fmt::format("the network made nothing for {}{}", call, writer.networkReason()));
  }
  return *object;
}

constexpr int kMostNestedGraphs = 16;

inline void checkNesting(int depth) {
  if (depth > kMostNestedGraphs) {
    fail(FaultKind::kUnsupportedGraph, fmt::format("graphs are nested more than {} deep", kMostNestedGraphs));
  }
}

}  // namespace tenon::parsers::onnx
