// Formulas of tensors, written as operators into an expansion.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "common/fields.h"
#include "tenon/plugin_expansion.h"

namespace tenon::plugins {

// An extent: a number, or the text of an expression.
class Size {
 public:
  Size(int64_t number) : number_(number) {}  // NOLINT: a number is an extent
  explicit Size(std::string text);
  bool isNumber() const noexcept { return text_.empty(); }
  int64_t number() const;  // throws PluginError where the extent is not fixed
  std::string text() const { return isNumber() ? std::to_string(number_) : text_; }
  friend bool operator==(const Size& a, const Size& b) { return a.text() == b.text(); }
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend Size floorDiv(const Size& a, const Size& b);

 private:
  int64_t number_ = 0;
  std::string text_;
};
using Sizes = std::vector<Size>;
std::string text(const Sizes& sizes);  // [2,N]
Size product(const Sizes& sizes);

class Value;

// One expansion. What fails throws Failed, which only the caller of the expansion catches; the writer knows the reason.
class Layers {
 public:
  struct Failed {};
  Layers(ExpansionWriter& writer, const Fields& fields) : writer_(writer), fields_(fields) {}

  const Fields& fields() const noexcept { return fields_; }
  int inputCount() const noexcept { return writer_.inputCount(); }
  Value input(int index);
  void output(int index, const Value& value);

  // Any operator by its text. The second form gives as many outputs.
  Value add(const std::string& op, const std::vector<Value>& inputs);
  std::vector<Value> addMany(const std::string& op, const std::vector<Value>& inputs, int outputs);
  // A scalar program over x0, x1, ..., which broadcast: "mul(x0,0.5);add(t0,x1)".
  Value pointwise(const std::string& program, const std::vector<Value>& inputs);
  Value fill(const Sizes& shape, double value, nv::DataType type = nv::DataType::kFLOAT);
  Value iota(const Size& count, nv::DataType type = nv::DataType::kINT32);
  Value constant(const std::vector<float>& values, const std::vector<int64_t>& dims);
  Value constant(const std::vector<int32_t>& values, const std::vector<int64_t>& dims);
  Value concat(const std::vector<Value>& parts, int64_t axis);

  [[noreturn]] void fail(const std::string& message);
  template <typename... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  friend class Value;
  ExpansionWriter& writer_;
  const Fields& fields_;
};

const char* typeName(nv::DataType type);  // as operators write it

// A value of an expansion; arithmetic broadcasts.
class Value {
 public:
  Value(Layers& layers, int32_t id) : layers_(&layers), id_(id) {}
  int32_t id() const noexcept { return id_; }
  Layers& layers() const noexcept { return *layers_; }

  nv::DataType type() const { return layers_->writer_.type(id_); }
  bool isFloating() const;
  int rank() const { return layers_->writer_.rank(id_); }
  Size dim(int axis) const;  // negative axes count from the end
  Sizes shape() const;

  Value cast(nv::DataType type) const;
  Value reshape(const Sizes& shape) const;
  Value unsqueeze(int axis) const;
  Value squeeze(int axis) const;
  Value transpose(const std::vector<int>& permutation) const;
  Value expand(const Sizes& shape) const;  // axes of extent 1 are repeated
  Value slice(int axis, const Size& begin, const Size& size, int64_t stride = 1) const;
  Value pad(int axis, const Size& size) const;  // with zeros at the end, or cut, to that size
  Value gather(const Value& indices, int axis, int batchAxes = 0) const;
  Value gatherElements(const Value& indices, int axis) const;
  Value reduce(const char* op, int axis, bool keep = false) const;  // sum, max, min, avg
  Value softmax(int axis) const { return layers_->add(fmt::format("softmax{{axis={}}}", axis), {*this}); }
  Value matmul(const Value& other, bool transposeThis = false, bool transposeOther = false) const;
  Value scalar(const std::string& program) const { return layers_->pointwise(program, {*this}); }
  Value call(const char* op) const { return scalar(fmt::format("{}(x0)", op)); }
  Value with(const char* op, const Value& other) const {
    return layers_->pointwise(fmt::format("{}(x0,x1)", op), {*this, other});
  }
  Value with(const char* op, double other) const { return scalar(fmt::format("{}(x0,{})", op, other)); }
  // The best `count` along an axis, and their places.
  std::vector<Value> topk(const Size& count, int axis) const;

 private:
  Layers* layers_;
  int32_t id_;
};

inline Value operator+(const Value& a, const Value& b) { return a.with("add", b); }
inline Value operator-(const Value& a, const Value& b) { return a.with("sub", b); }
inline Value operator*(const Value& a, const Value& b) { return a.with("mul", b); }
inline Value operator/(const Value& a, const Value& b) { return a.with("div", b); }
inline Value operator+(const Value& a, double b) { return a.with("add", b); }
inline Value operator-(const Value& a, double b) { return a.with("sub", b); }
inline Value operator*(const Value& a, double b) { return a.with("mul", b); }
inline Value operator/(const Value& a, double b) { return a.with("div", b); }
inline Value operator>(const Value& a, const Value& b) { return a.with("greater", b); }
inline Value operator<(const Value& a, const Value& b) { return a.with("less", b); }
inline Value operator>(const Value& a, double b) { return a.with("greater", b); }
inline Value operator<(const Value& a, double b) { return a.with("less", b); }
inline Value where(const Value& condition, const Value& a, const Value& b) {
  return a.layers().pointwise("select(x0,x1,x2)", {condition, a, b});
}
inline Value clamp(const Value& x, double low, double high) {
  return x.scalar(fmt::format("max(x0,{});min(t0,{})", low, high));
}

}  // namespace tenon::plugins
