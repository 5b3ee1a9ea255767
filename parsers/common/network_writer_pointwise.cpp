// Pointwise operations and casts of the network writer, with broadcasting.
#include "fold.h"
#include "network_writer.h"

namespace tenon::parsers {

using nvinfer1::ElementWiseOperation;

namespace {

bool isComparison(ElementWiseOperation operation) {
  return operation == ElementWiseOperation::kEQUAL || operation == ElementWiseOperation::kGREATER ||
         operation == ElementWiseOperation::kLESS;
}

// Comparison of extents that holds whatever their values will be, as 0 or 1; -1 where it depends.
int compareAlways(const ParsedExtent& a, const ParsedExtent& b, ElementWiseOperation operation) {
  if (a.known() && b.known()) {
    switch (operation) {
      case ElementWiseOperation::kEQUAL: return a.value == b.value;
      case ElementWiseOperation::kGREATER: return a.value > b.value;
      default: return a.value < b.value;
    }
  }
  if (a == b) {
    return operation == ElementWiseOperation::kEQUAL;
  }
  if (a.neverNegative() && b.known() && b.value < 0) {
    return operation == ElementWiseOperation::kGREATER;
  }
  if (b.neverNegative() && a.known() && a.value < 0) {
    return operation == ElementWiseOperation::kLESS;
  }
  return -1;
}

}  // namespace

ParsedValue NetworkWriter::alignRank(const ParsedValue& value, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = rankOf(value); i < rank; ++i) {
    axes.push_back(i - rankOf(value));
  }
  return axes.empty() ? value : unsqueeze(value, axes);
}

ParsedValue NetworkWriter::unary(const ParsedValue& value, nvinfer1::UnaryOperation operation) {
  if (value.isConstant()) {
    if (const WeightBytes* folded = foldUnary(store_, value.constant(), operation)) {
      return *folded;
    }
  }
  const bool rounds = operation == nvinfer1::UnaryOperation::kFLOOR || operation == nvinfer1::UnaryOperation::kCEIL ||
                      operation == nvinfer1::UnaryOperation::kROUND;
  if (value.isExtents() && rounds) {
    return value;
  }
  return output(added(network_.addUnary(tensor(value), operation), "addUnary"));
}

ParsedValue NetworkWriter::binaryExtents(const ParsedValue& a, const ParsedValue& b, ElementWiseOperation operation,
                                         bool& done) {
  done = false;
  ParsedExtents left;
  ParsedExtents right;
  if ((!a.isExtents() && !b.isExtents()) || !asList(a, left) || !asList(b, right)) {
    return {};
  }
  if (left.size() != right.size() && left.size() != 1 && right.size() != 1) {
    return {};
  }
  const size_t count = left.size() == 1 ? right.size() : left.size();
  const bool scalar = rankOf(a) == 0 && rankOf(b) == 0;
  const auto at = [](const ParsedExtents& list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
  if (isComparison(operation)) {
    std::vector<int64_t> results;
    for (size_t i = 0; i < count; ++i) {
      results.push_back(compareAlways(at(left, i), at(right, i), operation));
      if (results.back() < 0) {
        return {};
      }
    }
    done = true;
    return store_.ofInts(DataType::kBOOL, scalar ? Dimensions{} : Dimensions{static_cast<int64_t>(count)}, results);
  }
  switch (operation) {
    case ElementWiseOperation::kSUM:
    case ElementWiseOperation::kPROD:
    case ElementWiseOperation::kMAX:
    case ElementWiseOperation::kMIN:
    case ElementWiseOperation::kSUB:
    case ElementWiseOperation::kFLOOR_DIV: break;
    case ElementWiseOperation::kDIV:
      if (!isInteger(typeOf(a))) {
        return {};  // the quotient of reals need not be whole
      }
      break;
    default: return {};
  }
  ParsedExtents results;
  for (size_t i = 0; i < count; ++i) {
    results.push_back(combine(at(left, i), at(right, i), operation));
  }
  done = true;
  return fromExtents(std::move(results), scalar, typeOf(a));
}

ParsedValue NetworkWriter::binary(const ParsedValue& a, const ParsedValue& b, ElementWiseOperation operation) {
  if (a.isConstant() && b.isConstant()) {
    if (const WeightBytes* folded = foldBinary(store_, a.constant(), b.constant(), operation)) {
      return *folded;
    }
  }
  bool done = false;
  ParsedValue result = binaryExtents(a, b, operation, done);
  if (done) {
    return result;
  }
  const int64_t rank = std::max(rankOf(a), rankOf(b));
  nvinfer1::ITensor& left = tensor(alignRank(a, rank));
  nvinfer1::ITensor& right = tensor(alignRank(b, rank));
  return output(added(network_.addElementWise(left, right, operation), "addElementWise"));
}

ParsedValue NetworkWriter::select(const ParsedValue& condition, const ParsedValue& a, const ParsedValue& b) {
  if (condition.isConstant() && a.isConstant() && b.isConstant()) {
    if (const WeightBytes* folded = foldSelect(store_, condition.constant(), a.constant(), b.constant())) {
      return *folded;
    }
  }
  ParsedExtents left;
  ParsedExtents right;
  if (condition.isConstant() && (a.isExtents() || b.isExtents()) && asList(a, left) && asList(b, right) &&
      left.size() == right.size() && condition.constant().count() == static_cast<int64_t>(left.size())) {
    const std::vector<int64_t> choices = toInts(condition.constant());
    for (size_t i = 0; i < left.size(); ++i) {
      left[i] = choices[i] != 0 ? left[i] : right[i];
    }
    return fromExtents(std::move(left), rankOf(a) == 0 && rankOf(b) == 0 && rankOf(condition) == 0, typeOf(a));
  }
  const int64_t rank = std::max(rankOf(condition), std::max(rankOf(a), rankOf(b)));
  nvinfer1::ITensor& choice = tensor(alignRank(condition, rank));
  nvinfer1::ITensor& first = tensor(alignRank(a, rank));
  nvinfer1::ITensor& second = tensor(alignRank(b, rank));
  return output(added(network_.addSelect(choice, first, second), "addSelect"));
}

ParsedValue NetworkWriter::cast(const ParsedValue& value, DataType type) {
  if (typeOf(value) == type) {
    return value;
  }
  if (value.isExtents() && (isInteger(type) || type == DataType::kFLOAT)) {
    return fromExtents(value.extents(), value.scalarExtents(), type);
  }
  if (value.isConstant()) {
    if (const WeightBytes* folded = foldCast(store_, value.constant(), type)) {
      return *folded;
    }
  }
  return output(added(network_.addCast(tensor(value), type), "addCast"));
}

ParsedValue NetworkWriter::activation(const ParsedValue& value, nvinfer1::ActivationType type, float alpha,
                                      float beta) {
  auto& layer = added(network_.addActivation(tensor(value), type), "addActivation");
  layer.setAlpha(alpha);
  layer.setBeta(beta);
  return output(layer);
}

}  // namespace tenon::parsers
