// Formulas of tensors: each operation is one operator, or none where it changes nothing.
#include "common/layers.h"

#include <charconv>

namespace tenon::plugins {
namespace {

std::string joined(const std::vector<int>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ",")); }

nv::Dims dimsOf(const std::vector<int64_t>& extents) {
  nv::Dims dims{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), dims.d);
  return dims;
}

}  // namespace

Size::Size(std::string text) : text_(std::move(text)) {
  int64_t number = 0;
  const auto end = text_.data() + text_.size();
  const auto parsed = std::from_chars(text_.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end) {
    number_ = number;
    text_.clear();
  }
}

int64_t Size::number() const {
  if (!isNumber())
    throw PluginError(fmt::format("the extent {} is not fixed; the plugin needs it when the engine is built", text_));
  return number_;
}

Size operator+(const Size& a, const Size& b) {
  if (a.isNumber() && b.isNumber()) return {a.number_ + b.number_};
  return Size(fmt::format("({})+({})", a.text(), b.text()));
}
Size operator-(const Size& a, const Size& b) {
  if (a.isNumber() && b.isNumber()) return {a.number_ - b.number_};
  return Size(fmt::format("({})-({})", a.text(), b.text()));
}
Size operator*(const Size& a, const Size& b) {
  if (a.isNumber() && b.isNumber()) return {a.number_ * b.number_};
  return Size(fmt::format("({})*({})", a.text(), b.text()));
}
Size floorDiv(const Size& a, const Size& b) {
  if (a.isNumber() && b.isNumber() && b.number_ > 0 && a.number_ >= 0) return {a.number_ / b.number_};
  return Size(fmt::format("floordiv({},{})", a.text(), b.text()));
}

std::string text(const Sizes& sizes) {
  std::string result = "[";
  for (size_t i = 0; i < sizes.size(); ++i) result += (i == 0 ? "" : ",") + sizes[i].text();
  return result + "]";
}

Size product(const Sizes& sizes) {
  Size result(1);
  for (const Size& size : sizes) result = result * size;
  return result;
}

const char* typeName(nv::DataType type) {
  switch (type) {
    case nv::DataType::kFLOAT: return "f32";
    case nv::DataType::kHALF: return "f16";
    case nv::DataType::kBF16: return "bf16";
    case nv::DataType::kINT8: return "i8";
    case nv::DataType::kINT32: return "i32";
    case nv::DataType::kINT64: return "i64";
    case nv::DataType::kBOOL: return "bool";
    case nv::DataType::kUINT8: return "u8";
    default:
      throw PluginError(fmt::format("data type {} is none that the plugin computes with", static_cast<int>(type)));
  }
}

void Layers::fail(const std::string& message) {
  writer_.fail(message.c_str());
  throw Failed{};
}

Value Layers::input(int index) {
  check(index < inputCount(), "input {} is not there; the layer has {} inputs", index, inputCount());
  return {*this, index};
}

void Layers::output(int index, const Value& value) { writer_.output(index, value.id()); }

Value Layers::add(const std::string& op, const std::vector<Value>& inputs) { return addMany(op, inputs, 1)[0]; }

std::vector<Value> Layers::addMany(const std::string& op, const std::vector<Value>& inputs, int outputs) {
  std::vector<int32_t> ids;
  for (const Value& input : inputs) ids.push_back(input.id());
  const int32_t first = writer_.add(op.c_str(), ids.data(), static_cast<int32_t>(ids.size()));
  if (first < 0) throw Failed{};
  std::vector<Value> result;
  for (int32_t i = 0; i < outputs; ++i) result.emplace_back(*this, first + i);
  return result;
}

Value Layers::pointwise(const std::string& program, const std::vector<Value>& inputs) {
  return add(fmt::format("pointwise{{expr=\"{}\"}}", program), inputs);
}

Value Layers::fill(const Sizes& shape, double value, nv::DataType type) {
  return add(fmt::format("fill{{shape={} type={} start={}}}", text(shape), typeName(type), value), {});
}

Value Layers::iota(const Size& count, nv::DataType type) {
  return add(fmt::format("fill{{shape=[{}] type={} deltas=[1]}}", count.text(), typeName(type)), {});
}

Value Layers::constant(const std::vector<float>& values, const std::vector<int64_t>& dims) {
  const int32_t id = writer_.constant(nv::DataType::kFLOAT, dimsOf(dims), values.data());
  if (id < 0) throw Failed{};
  return {*this, id};
}

Value Layers::constant(const std::vector<int32_t>& values, const std::vector<int64_t>& dims) {
  const int32_t id = writer_.constant(nv::DataType::kINT32, dimsOf(dims), values.data());
  if (id < 0) throw Failed{};
  return {*this, id};
}

Value Layers::concat(const std::vector<Value>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : add(fmt::format("concat{{axis={}}}", axis), parts);
}

bool Value::isFloating() const {
  return type() == nv::DataType::kFLOAT || type() == nv::DataType::kHALF || type() == nv::DataType::kBF16;
}

Size Value::dim(int axis) const {
  const int at = axis < 0 ? axis + rank() : axis;
  layers_->check(at >= 0 && at < rank(), "axis {} of a tensor with {} dimensions", axis, rank());
  return Size(std::string(layers_->writer_.extent(id_, at)));
}

Sizes Value::shape() const {
  Sizes result;
  for (int i = 0; i < rank(); ++i) result.push_back(dim(i));
  return result;
}

Value Value::cast(nv::DataType wanted) const {
  return type() == wanted ? *this : scalar(fmt::format("cast.{}(x0)", typeName(wanted)));
}

Value Value::reshape(const Sizes& wanted) const {
  return shape() == wanted ? *this : layers_->add(fmt::format("reshape{{shape={}}}", text(wanted)), {*this});
}

Value Value::unsqueeze(int axis) const {
  Sizes wanted = shape();
  wanted.insert(wanted.begin() + axis, Size(1));
  return reshape(wanted);
}

Value Value::squeeze(int axis) const {
  Sizes wanted = shape();
  wanted.erase(wanted.begin() + (axis < 0 ? axis + rank() : axis));
  return reshape(wanted);
}

Value Value::transpose(const std::vector<int>& permutation) const {
  return layers_->add(fmt::format("transpose{{permutation={}}}", joined(permutation)), {*this});
}

Value Value::expand(const Sizes& wanted) const {
  const Sizes own = shape();
  if (own == wanted) return *this;
  Sizes starts, strides;
  for (size_t i = 0; i < wanted.size(); ++i) {
    starts.emplace_back(0);
    strides.emplace_back(own[i] == Size(1) ? 0 : 1);  // symbols of different names may be equal
  }
  return layers_->add(fmt::format("slice{{start={} size={} stride={}}}", text(starts), text(wanted), text(strides)),
                      {*this});
}

Value Value::slice(int axis, const Size& begin, const Size& size, int64_t stride) const {
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank() : axis);
  Sizes sizes = shape();
  if (begin == Size(0) && stride == 1 && size == sizes[at]) return *this;
  Sizes starts(sizes.size(), Size(0)), strides(sizes.size(), Size(1));
  starts[at] = begin;
  sizes[at] = size;
  strides[at] = Size(stride);
  return layers_->add(fmt::format("slice{{start={} size={} stride={}}}", text(starts), text(sizes), text(strides)),
                      {*this});
}

Value Value::pad(int axis, const Size& size) const {
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank() : axis);
  Sizes sizes = shape();
  if (size == sizes[at]) return *this;
  sizes[at] = size;
  const Sizes starts(sizes.size(), Size(0));
  return layers_->add(fmt::format("slice{{start={} size={} mode=fill}}", text(starts), text(sizes)), {*this});
}

Value Value::gather(const Value& indices, int axis, int batchAxes) const {
  return layers_->add(fmt::format("gather{{axis={} batchDims={}}}", axis, batchAxes), {*this, indices});
}

Value Value::gatherElements(const Value& indices, int axis) const {
  return layers_->add(fmt::format("gather{{mode=element axis={}}}", axis), {*this, indices});
}

Value Value::reduce(const char* op, int axis, bool keep) const {
  return layers_->add(fmt::format("reduce{{op={} axes=[{}] keepDims={}}}", op, axis, keep), {*this});
}

Value Value::matmul(const Value& other, bool transposeThis, bool transposeOther) const {
  return layers_->add(fmt::format("matmul{{transposeA={} transposeB={}}}", transposeThis, transposeOther),
                      {*this, other});
}

std::vector<Value> Value::topk(const Size& count, int axis) const {
  return layers_->addMany(fmt::format("topk{{k={} axis={}}}", count.text(), axis), {*this}, 2);
}

}  // namespace tenon::plugins
