// Each operation of the public interface is one of extents.
#include "api/plugin/adapters/expressions.h"

#include <algorithm>
#include <limits>

#include "core/dims.h"
#include "core/error.h"

namespace tenon::api {

class Expressions::Expression final : public nv::IDimensionExpr, public nv::apiv::VDimensionExpr {
 public:
  explicit Expression(Extent extent) : extent_(std::move(extent)) { mImpl = this; }
  ~Expression() noexcept override = default;
  bool isConstant() const override { return extent_.isConstant(); }
  int64_t getConstantValue() const override {
    return extent_.isConstant() ? extent_.constant() : std::numeric_limits<int64_t>::min();
  }
  bool isSizeTensor() const override { return false; }
  const Extent& extent() const noexcept { return extent_; }

 private:
  Extent extent_;
};

Expressions::Expressions() { mImpl = this; }
Expressions::~Expressions() noexcept = default;

const nv::IDimensionExpr* Expressions::add(Extent extent) {
  expressions_.push_back(std::make_unique<Expression>(std::move(extent)));
  return expressions_.back().get();
}

const Expressions::Expression* Expressions::find(const nv::IDimensionExpr* expression) const {
  const auto found =
      std::find_if(expressions_.begin(), expressions_.end(), [&](const auto& own) { return own.get() == expression; });
  return found != expressions_.end() ? found->get() : nullptr;
}

const nv::IDimensionExpr* Expressions::constant(int64_t value) {
  try {
    return add(value);
  } catch (const std::exception& error) {
    failure_ = error.what();
    return nullptr;
  }
}

const nv::IDimensionExpr* Expressions::operation(nv::DimensionOperation op, const nv::IDimensionExpr& first,
                                                 const nv::IDimensionExpr& second) {
  try {
    const Expression* a = find(&first);
    const Expression* b = find(&second);
    checkUser(a != nullptr && b != nullptr, "IExprBuilder::operation: an operand is no expression of this builder");
    const auto both = [&](auto&& combine) { return add(combine(a->extent(), b->extent())); };
    using enum nv::DimensionOperation;
    switch (op) {
      case kSUM: return both([](const Extent& x, const Extent& y) { return x + y; });
      case kPROD: return both([](const Extent& x, const Extent& y) { return x * y; });
      case kMAX: return both([](const Extent& x, const Extent& y) { return max(x, y); });
      case kMIN: return both([](const Extent& x, const Extent& y) { return min(x, y); });
      case kSUB: return both([](const Extent& x, const Extent& y) { return x - y; });
      case kEQUAL: return both([](const Extent& x, const Extent& y) { return equal(x, y); });
      case kLESS: return both([](const Extent& x, const Extent& y) { return less(x, y); });
      case kFLOOR_DIV: return both([](const Extent& x, const Extent& y) { return floorDiv(x, y); });
      case kCEIL_DIV: return both([](const Extent& x, const Extent& y) { return ceilDiv(x, y); });
    }
    throw UserError("IExprBuilder::operation: {} is no operation; expected 0 to {}", static_cast<int32_t>(op),
                    nv::EnumMax<nv::DimensionOperation>() - 1);
  } catch (const std::exception& error) {
    failure_ = error.what();
    return nullptr;
  }
}

// The plugin goes on with the upper bound; read() then refuses what it made of it.
const nv::IDimensionExpr* Expressions::declareSizeTensor(int32_t outputIndex, const nv::IDimensionExpr&,
                                                         const nv::IDimensionExpr& upper) {
  try {
    unsupported_ = fmt::format(
        "IExprBuilder::declareSizeTensor(): output {} would hold an extent that only its execution knows, which is not "
        "supported yet",
        outputIndex);
  } catch (const std::exception&) {
    // Without memory for the message the null below is one.
    return nullptr;
  }
  return &upper;
}

nv::DimsExprs Expressions::shape(const Shape& shape) {
  nv::DimsExprs result{};
  result.nbDims = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) result.d[i] = add(shape[i]);
  return result;
}

std::vector<nv::DimsExprs> Expressions::shapes(std::span<const Shape> shapes) {
  std::vector<nv::DimsExprs> result;
  for (const Shape& one : shapes) result.push_back(shape(one));
  return result;
}

const Extent* Expressions::extentOf(const void* expression) const {
  const Expression* found = find(static_cast<const nv::IDimensionExpr*>(expression));
  return found != nullptr ? &found->extent() : nullptr;
}

void Expressions::rethrow() const {
  if (!unsupported_.empty()) throw Unsupported("{}", unsupported_);
  if (!failure_.empty()) throw UserError("{}", failure_);
}

Shape Expressions::read(const nv::DimsExprs& shape, int output) const {
  rethrow();
  checkUser(shape.nbDims >= 0 && shape.nbDims <= kMaxRank, "output {} has {} dimensions; expected 0 to {}", output,
            shape.nbDims, kMaxRank);
  Shape result;
  for (int32_t axis = 0; axis < shape.nbDims; ++axis) {
    const Expression* expression = find(shape.d[axis]);
    checkUser(expression != nullptr,
              "output {}, dimension {}: it is no expression that this call gave or made; expected one of the inputs' "
              "dimensions, or one from IExprBuilder",
              output, axis);
    result.push_back(expression->extent());
  }
  return result;
}

}  // namespace tenon::api
