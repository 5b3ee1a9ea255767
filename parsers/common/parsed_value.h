// What a name of a model stands for while the model is imported: a network tensor, a constant, a list of extents,
// some of them known only at run time, or a list of such values.
#pragma once

#include <memory>

#include "types.h"

namespace tenon::parsers {

// Bytes with a type and a shape; the bytes belong to the WeightStore, the model or the caller.
struct WeightBytes {
  DataType type = DataType::kFLOAT;
  Dimensions shape;
  const void* data = nullptr;
  std::string name;  // of the initializer, for refit; empty where computed

  int64_t count() const { return elementCount(shape); }
  int64_t bytes() const { return bytesFor(type, count()); }
  nvinfer1::Weights weights() const { return {type, data, count()}; }
};

// One integer: known now, or element `index` of `source` (of the shape of `source` when `fromShape`).
struct ParsedExtent {
  int64_t value = 0;
  nvinfer1::ITensor* source = nullptr;
  int64_t index = 0;
  bool fromShape = false;
  bool computedFromExtents = false;  // by operations that keep it 0 or more

  bool neverNegative() const { return known() ? value >= 0 : fromShape || computedFromExtents; }
  bool known() const { return source == nullptr; }
  bool is(int64_t number) const { return known() && value == number; }
  static ParsedExtent of(int64_t number) { return {number, nullptr, 0, false, false}; }
  static ParsedExtent dimensionOf(nvinfer1::ITensor& tensor, int64_t axis) { return {0, &tensor, axis, true, false}; }
  static ParsedExtent elementOf(nvinfer1::ITensor& tensor, int64_t index) { return {0, &tensor, index, false, false}; }
  friend bool operator==(const ParsedExtent& a, const ParsedExtent& b) {
    return a.source == b.source && (a.known() ? a.value == b.value : a.index == b.index && a.fromShape == b.fromShape);
  }
};

using ParsedExtents = std::vector<ParsedExtent>;

class ParsedValue {
 public:
  ParsedValue() = default;
  ParsedValue(nvinfer1::ITensor& tensor) : tensor_(&tensor) {}        // NOLINT: a tensor is a value
  ParsedValue(const WeightBytes& constant) : constant_(&constant) {}  // NOLINT: a constant is a value
  static ParsedValue ofExtents(ParsedExtents extents, bool scalar, DataType type) {
    ParsedValue value;
    value.extents_ = std::make_shared<const ExtentList>(ExtentList{std::move(extents), scalar, type});
    return value;
  }
  static ParsedValue ofList(std::vector<ParsedValue> list) {
    ParsedValue value;
    value.list_ = std::make_shared<const std::vector<ParsedValue>>(std::move(list));
    return value;
  }
  // A list of tensors of one shape whose number only the run knows: they lie behind each other along the first axis.
  static ParsedValue ofStack(ParsedValue tensors) {
    ParsedValue value = ofList({std::move(tensors)});
    value.isStack_ = true;
    return value;
  }
  // Stands for what is not there: whoever depends on it is not imported.
  enum class Missing : uint8_t {
    kNo,
    kUntried,  // the output of a node that failed, or of one behind it: a graph cut there may know more
    kRefused,  // an input or initializer of the graph that is unusable: a graph cut here knows no more
  };
  static ParsedValue missing(Missing why) {
    ParsedValue value;
    value.missing_ = why;
    return value;
  }

  bool isNone() const { return !tensor_ && !constant_ && !extents_ && !list_ && missing_ == Missing::kNo; }
  bool isTensor() const { return tensor_ != nullptr; }
  bool isConstant() const { return constant_ != nullptr; }
  bool isExtents() const { return extents_ != nullptr; }
  bool isList() const { return list_ != nullptr; }
  bool isStack() const { return isStack_; }  // a list, too
  Missing missing() const { return missing_; }

  nvinfer1::ITensor& tensor() const { return *tensor_; }
  const WeightBytes& constant() const { return *constant_; }
  const ParsedExtents& extents() const { return extents_->list; }
  const std::vector<ParsedValue>& list() const { return *list_; }
  const ParsedValue& stack() const { return list_->front(); }
  bool scalarExtents() const { return extents_->scalar; }
  // INT32, INT64, or FLOAT with whole numbers.
  DataType extentsType() const { return extents_->type; }
  // What tells a folded value from others; the same for its copies.
  const void* identity() const { return extents_ ? static_cast<const void*>(extents_.get()) : constant_; }

 private:
  struct ExtentList {
    ParsedExtents list;
    bool scalar;  // rank 0 with one element, otherwise rank 1
    DataType type;
  };
  nvinfer1::ITensor* tensor_ = nullptr;
  const WeightBytes* constant_ = nullptr;
  std::shared_ptr<const ExtentList> extents_;
  std::shared_ptr<const std::vector<ParsedValue>> list_;
  Missing missing_ = Missing::kNo;
  bool isStack_ = false;
};

using ParsedValues = std::vector<ParsedValue>;

}  // namespace tenon::parsers
