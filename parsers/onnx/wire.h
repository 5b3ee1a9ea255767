// A check of the protobuf wire format of an ONNX model that names the byte and the path of the first fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::parsers::onnx {

struct WireFault {
  bool found = false;
  uint64_t offset = 0;  // byte in the model
  std::string path;     // e.g. "graph.node[12].attribute[0]"
  std::string reason;
};

// Walks every message of the schema that holds other messages. protobuf itself says only "failed"; this says where. It
// also bounds the nesting depth before any recursive code sees the bytes.
WireFault checkWire(const uint8_t* data, size_t size);

}  // namespace tenon::parsers::onnx
