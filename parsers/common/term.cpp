// Formulas of values: each operation becomes a constant, an extent or a layer of the network.
#include "term.h"

#include <numeric>

namespace tenon::parsers {

using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

ParsedExtent Term::dim(int64_t axis) const {
  const ParsedExtents all = dims();
  return all[static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(all.size())))];
}

int64_t Term::fixedDim(int64_t axis, const char* what) const {
  const ParsedExtent extent = dim(axis);
  if (!extent.known()) {
    fail(FaultKind::kUnsupportedDynamic,
         fmt::format("{} (axis {} of shape {}) is known only at run time; expected a static extent. Export the model "
                     "with this extent fixed",
                     what, axis, toString(shape())));
  }
  return extent.value;
}

Term Term::modulo(double other) const { return *this - floorDivide(other) * other; }

Term Term::swapLast() const {
  std::vector<int32_t> order(static_cast<size_t>(rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(order);
}

Term Term::slice(int64_t axis, const ParsedExtent& begin, const ParsedExtent& size, int64_t stride) const {
  const ParsedExtents in = dims();
  const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(in.size())));
  if (begin.is(0) && size == in[at] && stride == 1) {
    return *this;
  }
  ParsedExtents starts(in.size(), ParsedExtent::of(0));
  ParsedExtents sizes = in;
  ParsedExtents strides(in.size(), ParsedExtent::of(1));
  starts[at] = begin;
  sizes[at] = size;
  strides[at] = ParsedExtent::of(stride);
  return {*writer_, writer_->slice(value_, starts, sizes, strides)};
}

Term Term::pad(int64_t axis, const ParsedExtent& front, const ParsedExtent& back, double fill) const {
  if (front.is(0) && back.is(0)) {
    return *this;
  }
  const ParsedExtents in = dims();
  const auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(in.size())));
  ParsedExtents starts(in.size(), ParsedExtent::of(0));
  ParsedExtents sizes = in;
  starts[at] = writer_->combine(ParsedExtent::of(0), front, ElementWiseOperation::kSUB);
  sizes[at] =
      writer_->combine(in[at], writer_->combine(front, back, ElementWiseOperation::kSUM), ElementWiseOperation::kSUM);
  return {*writer_,
          writer_->slice(value_, starts, sizes, ParsedExtents(in.size(), ParsedExtent::of(1)),
                         nvinfer1::SampleMode::kFILL, fill == 0 ? ParsedValue() : writer_->scalar(type(), fill))};
}

Term Term::gatherBatched(const Term& indices, int64_t axis, int32_t batchAxes) const {
  auto& layer = writer_->added(writer_->network().addGatherV2(writer_->tensor(value_), writer_->tensor(indices.value_),
                                                              nvinfer1::GatherMode::kDEFAULT),
                               "addGatherV2");
  layer.setGatherAxis(static_cast<int32_t>(axis));
  layer.setNbElementWiseDims(batchAxes);
  return {*writer_, writer_->output(layer)};
}

Term Term::reduce(nvinfer1::ReduceOperation operation, const std::vector<int64_t>& axes, bool keep) const {
  uint32_t mask = 0;
  for (const int64_t axis : axes) {
    mask |= 1u << static_cast<uint32_t>(normalizeAxis(axis, rank()));
  }
  return mask == 0 ? *this : Term{*writer_, writer_->reduce(value_, operation, mask, keep)};
}

Term Term::softmax(int64_t axis) const {
  auto& layer = writer_->added(writer_->network().addSoftMax(writer_->tensor(value_)), "addSoftMax");
  layer.setAxes(1u << static_cast<uint32_t>(normalizeAxis(axis, rank())));
  return {*writer_, writer_->output(layer)};
}

Term Term::multiply(const Term& other, bool transposeThis, bool transposeOther) const {
  const int64_t most = std::max(rank(), other.rank());
  const auto operation = [](bool transposes) {
    return transposes ? nvinfer1::MatrixOperation::kTRANSPOSE : nvinfer1::MatrixOperation::kNONE;
  };
  auto* made = writer_->network().addMatrixMultiply(
      writer_->tensor(writer_->alignRank(value_, most)), operation(transposeThis),
      writer_->tensor(writer_->alignRank(other.value_, most)), operation(transposeOther));
  return {*writer_, writer_->output(writer_->added(made, "addMatrixMultiply"))};
}

Term operator+(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kSUM); }
Term operator-(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kSUB); }
Term operator*(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kPROD); }
Term operator/(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kDIV); }
Term operator<(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kLESS); }
Term operator>(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kGREATER); }
Term equal(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kEQUAL); }
Term both(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kAND); }
Term either(const Term& a, const Term& b) { return a.binary(b, ElementWiseOperation::kOR); }
Term negation(const Term& a) { return a.unary(UnaryOperation::kNOT); }

Term where(const Term& condition, const Term& a, const Term& b) {
  return {a.writer(), a.writer().select(condition, a, b)};
}

Term concat(const std::vector<Term>& parts, int64_t axis) {
  ParsedValues values;
  for (const Term& part : parts) {
    values.push_back(part.value());
  }
  NetworkWriter& writer = parts.front().writer();
  return {writer, writer.concat(values, normalizeAxis(axis, parts.front().rank()))};
}

Term floorOf(const Term& a) { return isFloating(a.type()) ? a.unary(UnaryOperation::kFLOOR) : a; }
Term absOf(const Term& a) { return a.unary(UnaryOperation::kABS); }
Term expOf(const Term& a) { return a.unary(UnaryOperation::kEXP); }
Term logOf(const Term& a) { return a.unary(UnaryOperation::kLOG); }
Term sqrtOf(const Term& a) { return a.unary(UnaryOperation::kSQRT); }
Term roundOf(const Term& a) { return a.unary(UnaryOperation::kROUND); }

Term iota(NetworkWriter& writer, const ParsedExtent& count, DataType type) {
  if (count.known() && count.value <= (1 << 20)) {
    std::vector<int64_t> numbers(static_cast<size_t>(count.value));
    std::iota(numbers.begin(), numbers.end(), 0);
    return {writer, writer.cast(writer.list(numbers), type)};
  }
  auto& layer = writer.added(writer.network().addFill(toDims({count.known() ? count.value : 1}),
                                                      nvinfer1::FillOperation::kLINSPACE, DataType::kINT64),
                             "addFill");
  if (!count.known()) {
    layer.setInput(0, writer.shapeTensor({count}));
  }
  layer.setAlphaInt64(0);
  layer.setBetaInt64(1);
  return {writer, writer.cast(writer.output(layer), type)};
}

Term integers(NetworkWriter& writer, DataType type, Dimensions shape, const std::vector<int64_t>& numbers) {
  return {writer, writer.store().ofInts(type, std::move(shape), numbers)};
}

Term reals(NetworkWriter& writer, DataType type, Dimensions shape, const std::vector<double>& numbers) {
  return {writer, writer.store().ofReals(type, std::move(shape), numbers)};
}

ParsedExtents extentsOf(const Dimensions& shape) {
  ParsedExtents extents;
  for (const int64_t extent : shape) {
    extents.push_back(ParsedExtent::of(extent));
  }
  return extents;
}

}  // namespace tenon::parsers
