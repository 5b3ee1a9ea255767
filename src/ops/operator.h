// What an operator is: fields, shape and type facts, a reference evaluation. One pair of files in ops/op describes
// each; everything else (equality, hash, text, plan form, folding, the ref backend, test oracles) derives from it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/fields.h"

namespace tenon::ops {

// Type of a value in a graph. `contents`, when known, are the values of a small integer tensor (rank 0 or 1) as
// expressions: shape arithmetic is followed symbolically, so that an extent computed from a shape stays an expression
// over input extents. Of small f32 tensors fractions are followed (ops/fraction.h), so that a shape may be computed in
// floating point on the way. `bounds`-like knowledge is in the symbols.
struct TensorType {
  DataType dtype = DataType::kF32;
  Shape shape;
  std::optional<std::vector<Extent>> contents;

  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const TensorType&) const = default;
};

// Largest tensor whose contents are followed.
constexpr int64_t kMaxContents = 1024;

// What shape inference sees and says. infer() of an operator reads inputs, checks them, and sets every output.
class InferContext {
 public:
  InferContext(std::string_view node, std::span<const TensorType> inputs) : node_(node), inputs_(inputs) {}

  size_t inputCount() const { return inputs_.size(); }
  const TensorType& input(size_t i) const;  // throws UserError when missing
  void output(DataType dtype, Shape shape, std::optional<std::vector<Extent>> contents = std::nullopt);
  // Contents of input i; UserError naming `role` when they are not known.
  const std::vector<Extent>& contents(size_t i, std::string_view role) const;

  // Two extents that must be equal: known equal, or one of them constant and the other symbolic (checked at run time).
  // Returns the more precise one; UserError when they are known to differ.
  Extent merge(const Extent& a, const Extent& b, std::string_view role) const;
  // Extents under broadcasting of 1 against anything, shapes aligned at the right.
  Shape broadcast(const Shape& a, const Shape& b) const;
  // Axis in [-rank, rank) made non-negative.
  int axis(int64_t axis, int rank) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    failWith(fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) failWith(fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<TensorType> takeOutputs() { return std::move(outputs_); }

 private:
  [[noreturn]] void failWith(const std::string& message) const;  // UserError "<node>: <message>"
  std::string_view node_;
  std::span<const TensorType> inputs_;
  std::vector<TensorType> outputs_;
};

// What a reference evaluation sees: contiguous tensors of the inferred shapes, outputs allocated, symbols bound.
struct EvalContext {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const SymbolValues* symbols = nullptr;

  int64_t value(const Extent& extent) const {
    return extent.isConstant() ? extent.constant() : extent.evaluate(*symbols);
  }
};

// An output that may live in the memory of an input (`view`: always the same bytes in the same order).
struct Alias {
  int output = 0;
  int input = 0;
  bool view = false;
};

// Facts that passes, memory planning and backends ask instead of asking for kinds.
// Which input holds indices of elements of input 0, and of which of its axes; no axis: of several.
struct Indices {
  int input = 0;
  std::optional<int64_t> axis;
};

struct Facts {
  bool pointwise = false;  // one output element per index of the broadcast inputs
  bool movement = false;   // copies elements, computes nothing
  bool reduction = false;
  bool contraction = false;   // convolution, deconvolution, matmul: has a multiply-add core and takes an epilogue
  bool deterministic = true;  // same inputs, same outputs: may be folded and merged
  bool sideEffects = false;   // may not be removed
  std::vector<Alias> aliases;
  std::optional<Indices> indices;
};

// A value of any operator type. Copies are deep; two are equal when kind and fields are equal.
class Operator {
 public:
  struct Model {
    virtual ~Model() = default;
    virtual std::unique_ptr<Model> clone() const = 0;
    virtual std::string_view name() const = 0;
    virtual std::string fieldText() const = 0;
    virtual bool equals(const Model& other) const = 0;
    virtual std::unique_ptr<Model> bind(const SymbolValues& symbols) const = 0;
    virtual void collectSymbols(std::set<std::string>& names) const = 0;
    virtual Facts facts() const = 0;
    virtual void infer(InferContext& context) const = 0;
    virtual void evaluate(const EvalContext& context) const = 0;
  };

  template <typename T, typename = decltype(T::kName)>
  Operator(T description);  // NOLINT: a description is an operator
  Operator(const Operator& other) : model_(other.model_->clone()) {}
  Operator(Operator&&) noexcept = default;
  Operator& operator=(const Operator& other) {
    model_ = other.model_->clone();
    return *this;
  }
  Operator& operator=(Operator&&) noexcept = default;

  std::string_view name() const { return model_->name(); }
  Facts facts() const { return model_->facts(); }
  void infer(InferContext& context) const { model_->infer(context); }
  std::vector<TensorType> infer(std::string_view node, std::span<const TensorType> inputs) const;
  void evaluate(const EvalContext& context) const { model_->evaluate(context); }

  // The same operator with the values of symbols in place of them; kernels ask it for the extents of one execution.
  Operator bind(const SymbolValues& symbols) const { return Operator(model_->bind(symbols)); }
  // Those in its fields, which bind() needs values of.
  void collectSymbols(std::set<std::string>& names) const { model_->collectSymbols(names); }

  std::string text() const;                      // name{field=value ...}, or name alone
  static Operator parse(std::string_view text);  // throws UserError
  static Operator parse(TextReader& in);
  uint64_t hash() const { return hashBytes(text()); }
  friend bool operator==(const Operator& a, const Operator& b) { return a.model_->equals(*b.model_); }

  // The description when the operator is of type T, else null. For code that belongs to T (a lowering, a tactic).
  template <typename T>
  const T* as() const;

 private:
  explicit Operator(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  std::unique_ptr<Model> model_;
};

// The row that each file of ops/op contributes: operatorInfo_<file>() returns describe<T>(), which the generated table
// collects.
struct OperatorInfo {
  std::string_view name;
  Operator (*read)(TextReader& in);  // reads fields up to the closing brace
  Operator (*defaults)();
};

std::span<const OperatorInfo> operatorTable();
const OperatorInfo* findOperator(std::string_view name);

namespace detail {

// Fields that are expressions become numbers; all others stay.
template <typename M>
void bindField(M&, const SymbolValues&) {}
inline void bindField(Extent& extent, const SymbolValues& symbols) { extent = Extent(extent.evaluate(symbols)); }
inline void bindField(std::vector<Extent>& extents, const SymbolValues& symbols) {
  for (auto& extent : extents) bindField(extent, symbols);
}

template <typename M>
void fieldSymbols(const M&, std::set<std::string>&) {}
inline void fieldSymbols(const Extent& extent, std::set<std::string>& names) { extent.collectSymbols(names); }
inline void fieldSymbols(const std::vector<Extent>& extents, std::set<std::string>& names) {
  for (const auto& extent : extents) extent.collectSymbols(names);
}

template <typename T>
struct ModelOf final : Operator::Model {
  explicit ModelOf(T d) : description(std::move(d)) {}
  std::unique_ptr<Model> clone() const override { return std::make_unique<ModelOf>(description); }
  std::string_view name() const override { return T::kName; }
  std::string fieldText() const override { return writeFields(description); }
  bool equals(const Model& other) const override {
    const auto* same = dynamic_cast<const ModelOf*>(&other);
    return same != nullptr && equalFields(description, same->description);
  }
  std::unique_ptr<Model> bind(const SymbolValues& symbols) const override {
    auto copy = std::make_unique<ModelOf>(description);
    std::apply([&](const auto&... fields) { (bindField(copy->description.*fields.member, symbols), ...); }, T::fields);
    return copy;
  }
  void collectSymbols(std::set<std::string>& names) const override {
    std::apply([&](const auto&... fields) { (fieldSymbols(description.*fields.member, names), ...); }, T::fields);
  }
  Facts facts() const override { return description.facts(); }
  void infer(InferContext& context) const override { description.infer(context); }
  void evaluate(const EvalContext& context) const override { description.evaluate(context); }
  T description;
};

}  // namespace detail

template <typename T, typename>
Operator::Operator(T description) : model_(std::make_unique<detail::ModelOf<T>>(std::move(description))) {}

template <typename T>
const T* Operator::as() const {
  const auto* model = dynamic_cast<const detail::ModelOf<T>*>(model_.get());
  return model != nullptr ? &model->description : nullptr;
}

template <typename T>
OperatorInfo describe() {
  return {T::kName, [](TextReader& in) { return Operator(readFields<T>(in)); }, [] { return Operator(T{}); }};
}

}  // namespace tenon::ops
