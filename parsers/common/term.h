// Values with the operators of arithmetic, for importers that write an operator of a model as a formula.
#pragma once

#include "network_writer.h"

namespace tenon::parsers {

// A value and the writer that computes with it. Operands broadcast, aligned at their last axes; a number takes the type
// of the other operand. What is constant is folded, as by the writer.
class Term {
 public:
  Term(NetworkWriter& writer, ParsedValue value) : writer_(&writer), value_(std::move(value)) {}
  // Terms are values: importers return them.
  operator const ParsedValue&() const { return value_; }  // NOLINT
  const ParsedValue& value() const { return value_; }
  NetworkWriter& writer() const { return *writer_; }

  DataType type() const { return writer_->typeOf(value_); }
  int64_t rank() const { return writer_->rankOf(value_); }
  Dimensions shape() const { return writer_->shapeOf(value_); }
  ParsedExtents dims() const { return writer_->dims(value_); }
  ParsedExtent dim(int64_t axis) const;
  // The extent of an axis; fails with `what` in the message where it is known only at run time.
  int64_t fixedDim(int64_t axis, const char* what) const;
  bool isConstant() const { return value_.isConstant(); }

  Term number(double number) const { return {*writer_, writer_->scalar(type(), number)}; }
  Term cast(DataType type) const { return {*writer_, writer_->cast(value_, type)}; }
  // Halves as f32: what is squared or summed may leave the range of their type.
  Term widened() const {
    return type() == DataType::kHALF || type() == DataType::kBF16 ? cast(DataType::kFLOAT) : *this;
  }
  Term unary(nvinfer1::UnaryOperation operation) const { return {*writer_, writer_->unary(value_, operation)}; }
  Term binary(const Term& other, nvinfer1::ElementWiseOperation operation) const {
    return {*writer_, writer_->binary(value_, other.value_, operation)};
  }
  Term activation(nvinfer1::ActivationType type, float alpha = 0, float beta = 0) const {
    return {*writer_, writer_->activation(value_, type, alpha, beta)};
  }
  Term floorDivide(const Term& other) const { return binary(other, nvinfer1::ElementWiseOperation::kFLOOR_DIV); }
  Term floorDivide(double other) const { return floorDivide(number(other)); }
  Term modulo(double other) const;  // of the sign of `other`
  Term power(const Term& other) const { return binary(other, nvinfer1::ElementWiseOperation::kPOW); }
  Term atLeast(const Term& other) const { return binary(other, nvinfer1::ElementWiseOperation::kMAX); }
  Term atMost(const Term& other) const { return binary(other, nvinfer1::ElementWiseOperation::kMIN); }
  Term clamp(double low, double high) const { return atLeast(number(low)).atMost(number(high)); }

  Term reshape(const ParsedExtents& target) const { return {*writer_, writer_->reshape(value_, target)}; }
  Term unsqueeze(const std::vector<int64_t>& axes) const { return {*writer_, writer_->unsqueeze(value_, axes)}; }
  Term squeeze(const std::vector<int64_t>& axes) const { return {*writer_, writer_->squeeze(value_, axes)}; }
  Term transpose(const std::vector<int32_t>& order) const { return {*writer_, writer_->transpose(value_, order)}; }
  Term swapLast() const;  // the two last axes
  // `size` elements of an axis from `begin`, each `stride` after the one before.
  Term slice(int64_t axis, const ParsedExtent& begin, const ParsedExtent& size, int64_t stride = 1) const;
  Term slice(int64_t axis, int64_t begin, int64_t size, int64_t stride = 1) const {
    return slice(axis, ParsedExtent::of(begin), ParsedExtent::of(size), stride);
  }
  Term at(int64_t axis, int64_t index) const { return slice(axis, index, 1).squeeze({axis}); }
  Term expand(const ParsedExtents& target) const { return {*writer_, writer_->expand(value_, target)}; }
  // `front` and `back` elements of `fill` around an axis.
  Term pad(int64_t axis, const ParsedExtent& front, const ParsedExtent& back, double fill = 0) const;
  Term pad(int64_t axis, int64_t front, int64_t back, double fill = 0) const {
    return pad(axis, ParsedExtent::of(front), ParsedExtent::of(back), fill);
  }
  Term gather(const Term& indices, int64_t axis) const {
    return {*writer_, writer_->gather(value_, indices.value_, static_cast<int32_t>(axis))};
  }
  // The first `batchAxes` axes of both belong together.
  Term gatherBatched(const Term& indices, int64_t axis, int32_t batchAxes) const;
  Term reduce(nvinfer1::ReduceOperation operation, const std::vector<int64_t>& axes, bool keep) const;
  Term sum(const std::vector<int64_t>& axes, bool keep) const {
    return reduce(nvinfer1::ReduceOperation::kSUM, axes, keep);
  }
  Term softmax(int64_t axis) const;
  Term multiply(const Term& other, bool transposeThis = false, bool transposeOther = false) const;  // matrices

 private:
  NetworkWriter* writer_;
  ParsedValue value_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator<(const Term& a, const Term& b);
Term operator>(const Term& a, const Term& b);
inline Term operator+(const Term& a, double b) { return a + a.number(b); }
inline Term operator-(const Term& a, double b) { return a - a.number(b); }
inline Term operator*(const Term& a, double b) { return a * a.number(b); }
inline Term operator/(const Term& a, double b) { return a / a.number(b); }
inline Term operator-(double a, const Term& b) { return b.number(a) - b; }
inline Term operator<(const Term& a, double b) { return a < a.number(b); }
inline Term operator>(const Term& a, double b) { return a > a.number(b); }
Term equal(const Term& a, const Term& b);
Term both(const Term& a, const Term& b);    // of truth values
Term either(const Term& a, const Term& b);  // likewise
Term negation(const Term& a);               // likewise
Term where(const Term& condition, const Term& a, const Term& b);
Term concat(const std::vector<Term>& parts, int64_t axis);
Term floorOf(const Term& a);  // integers stay as they are
Term absOf(const Term& a);
Term expOf(const Term& a);
Term logOf(const Term& a);
Term sqrtOf(const Term& a);
Term roundOf(const Term& a);  // halves to even
// 0, 1, ... below count.
Term iota(NetworkWriter& writer, const ParsedExtent& count, DataType type);
Term integers(NetworkWriter& writer, DataType type, Dimensions shape, const std::vector<int64_t>& numbers);
Term reals(NetworkWriter& writer, DataType type, Dimensions shape, const std::vector<double>& numbers);
ParsedExtents extentsOf(const Dimensions& shape);

}  // namespace tenon::parsers
