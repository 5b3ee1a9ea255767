// Walks the protobuf wire format of a model, field by field, without building anything.
#include "wire.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <span>
#include <vector>

namespace tenon::parsers::onnx {
namespace {

constexpr int kMaxDepth = 64;

enum Message : int { kLeaf, kModel, kGraph, kNode, kAttribute, kFunction, kTensor, kValueInfo, kType, kSparse };

// Fields that hold messages worth walking into, or packed and raw data whose wire type must be "bytes".
struct FieldRow {
  Message message;
  uint32_t number;
  Message child;
  const char* name;
};

constexpr std::array kFields{FieldRow{kModel, 7, kGraph, "graph"},
                             FieldRow{kModel, 8, kLeaf, "opset_import"},
                             FieldRow{kModel, 25, kFunction, "functions"},
                             FieldRow{kModel, 14, kLeaf, "metadata_props"},
                             FieldRow{kGraph, 1, kNode, "node"},
                             FieldRow{kGraph, 5, kTensor, "initializer"},
                             FieldRow{kGraph, 11, kValueInfo, "input"},
                             FieldRow{kGraph, 12, kValueInfo, "output"},
                             FieldRow{kGraph, 13, kValueInfo, "value_info"},
                             FieldRow{kGraph, 15, kSparse, "sparse_initializer"},
                             FieldRow{kNode, 5, kAttribute, "attribute"},
                             FieldRow{kAttribute, 5, kTensor, "t"},
                             FieldRow{kAttribute, 6, kGraph, "g"},
                             FieldRow{kAttribute, 10, kTensor, "tensors"},
                             FieldRow{kAttribute, 11, kGraph, "graphs"},
                             FieldRow{kAttribute, 22, kSparse, "sparse_tensor"},
                             FieldRow{kFunction, 7, kNode, "node"},
                             FieldRow{kFunction, 11, kAttribute, "attribute_proto"},
                             FieldRow{kTensor, 9, kLeaf, "raw_data"},
                             FieldRow{kValueInfo, 2, kType, "type"},
                             FieldRow{kType, 1, kLeaf, "tensor_type"},
                             FieldRow{kSparse, 1, kTensor, "values"},
                             FieldRow{kSparse, 2, kTensor, "indices"}};

const FieldRow* findField(Message message, uint32_t number) {
  for (const FieldRow& row : kFields) {
    if (row.message == message && row.number == number) {
      return &row;
    }
  }
  return nullptr;
}

class Walker {
 public:
  Walker(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  WireFault run() {
    walk(kModel, 0, size_, 0);
    return fault_;
  }

 private:
  bool stop(uint64_t offset, std::string reason) {
    fault_ = WireFault{true, offset, pathText(), std::move(reason)};
    return false;
  }

  std::string pathText() const {
    std::string text;
    for (const auto& [name, index] : path_) {
      text += fmt::format("{}{}[{}]", text.empty() ? "" : ".", name, index);
    }
    return text.empty() ? "the model" : text;
  }

  bool varint(uint64_t& at, uint64_t end, uint64_t& value) {
    const uint64_t start = at;
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at >= end) {
        return stop(start, "a number is cut off at the end of its message");
      }
      const uint8_t byte = data_[at++];
      value |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
      if ((byte & 0x80) == 0) {
        return true;
      }
    }
    return stop(start, "a number has more than ten bytes");
  }

  bool walk(Message message, uint64_t at, uint64_t end, int depth) {
    if (depth > kMaxDepth) {
      return stop(at, fmt::format("messages nest deeper than {}", kMaxDepth));
    }
    std::map<uint32_t, int> seen;
    while (at < end) {
      if (!field(message, at, end, depth, seen)) {
        return false;
      }
    }
    return true;
  }

  bool field(Message message, uint64_t& at, uint64_t end, int depth, std::map<uint32_t, int>& seen) {
    const uint64_t start = at;
    uint64_t tag = 0;
    if (!varint(at, end, tag)) {
      return false;
    }
    const auto number = static_cast<uint32_t>(tag >> 3);
    if (number == 0 || tag > UINT32_MAX) {
      return stop(start, fmt::format("field tag {} is not valid", tag));
    }
    const FieldRow* row = findField(message, number);
    const uint32_t wireType = tag & 7;
    if (row != nullptr && wireType != 2) {
      return stop(start, fmt::format("field '{}' has wire type {}; expected 2 (bytes)", row->name, wireType));
    }
    uint64_t length = 0;
    switch (wireType) {
      case 0: return varint(at, end, length);
      case 1: return skip(start, at, end, 8);
      case 5: return skip(start, at, end, 4);
      case 2: break;
      default: return stop(start, fmt::format("field {} has wire type {}, which ONNX does not use", number, wireType));
    }
    if (!varint(at, end, length)) {
      return false;
    }
    return bytes(row, start, at, end, length, depth, seen);
  }

  bool bytes(const FieldRow* row, uint64_t start, uint64_t& at, uint64_t end, uint64_t length, int depth,
             std::map<uint32_t, int>& seen) {
    if (row != nullptr) {
      path_.emplace_back(row->name, seen[row->number]++);
    }
    if (length > end - at) {
      return stop(start, fmt::format("a field claims {} bytes, but {} remain", length, end - at));
    }
    if (row != nullptr && row->child != kLeaf && !walk(row->child, at, at + length, depth + 1)) {
      return false;
    }
    if (row != nullptr) {
      path_.pop_back();
    }
    at += length;
    return true;
  }

  bool skip(uint64_t start, uint64_t& at, uint64_t end, uint64_t length) {
    if (length > end - at) {
      return stop(start, fmt::format("a fixed-size number needs {} bytes, but {} remain", length, end - at));
    }
    at += length;
    return true;
  }

  const uint8_t* data_;
  uint64_t size_;
  WireFault fault_;
  std::vector<std::pair<const char*, int>> path_;
};

}  // namespace

WireFault checkWire(const uint8_t* data, size_t size) { return Walker(data, size).run(); }

}  // namespace tenon::parsers::onnx
