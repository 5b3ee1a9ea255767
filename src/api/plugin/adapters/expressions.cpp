// Each operation of the public interface is one of extents.
#include "api/plugin/adapters/expressions.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/dims.h"
#include "core/error.h"

namespace tenon::api {

class Expressions::Expression final : public nv::IDimensionExpr, public nv::apiv::VDimensionExpr {
 public:
  Expression(Extent extent, bool isSize) : extent_(std::move(extent)), isSize_(isSize) { mImpl = this; }
  ~Expression() noexcept override = default;
  bool isConstant() const override { return extent_.isConstant(); }
  int64_t getConstantValue() const override {
    return extent_.isConstant() ? extent_.constant() : std::numeric_limits<int64_t>::min();
  }
  bool isSizeTensor() const override { return isSize_; }
  const Extent& extent() const noexcept { return extent_; }

 private:
  Extent extent_;
  bool isSize_;
};

Expressions::Expressions(int32_t outputs) : outputs_(outputs) { mImpl = this; }
Expressions::~Expressions() noexcept = default;

const nv::IDimensionExpr* Expressions::add(Extent extent, bool isSize) {
  expressions_.push_back(std::make_unique<Expression>(std::move(extent), isSize));
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

const nv::IDimensionExpr* Expressions::declareSizeTensor(int32_t outputIndex, const nv::IDimensionExpr& opt,
                                                         const nv::IDimensionExpr& upper) {
  try {
    constexpr const char* kCall = "IExprBuilder::declareSizeTensor";
    checkUser(outputs_ != kNoSizes, "{}: output {} would be a size tensor, which only plugins of IPluginV3 have", kCall,
              outputIndex);
    checkUser(outputIndex >= 0 && outputIndex < outputs_, "{}: output {} is out of range; expected 0 to {}", kCall,
              outputIndex, outputs_ - 1);
    const Expression* expected = find(&opt);
    const Expression* most = find(&upper);
    checkUser(expected != nullptr && most != nullptr, "{}: output {}: opt or upper is no expression of this builder",
              kCall, outputIndex);
    for (const auto& size : sizes_) {
      if (size.output == outputIndex) {
        checkUser(size.opt == expected->extent() && size.upper == most->extent(),
                  "{}: output {} is declared twice, with other expressions", kCall, outputIndex);
        return add(Extent::symbol(size.symbol), true);
      }
      std::set<std::string> names;
      expected->extent().collectSymbols(names);
      most->extent().collectSymbols(names);
      checkUser(!names.contains(size.symbol), "{}: output {}: opt or upper depends on the size tensor of output {}",
                kCall, outputIndex, size.output);
    }
    sizes_.push_back({outputIndex, fmt::format("size tensor {}", outputIndex), expected->extent(), most->extent()});
    return add(Extent::symbol(sizes_.back().symbol), true);
  } catch (const std::exception& error) {
    failure_ = error.what();
    return nullptr;
  }
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
  if (!failure_.empty()) throw UserError("{}", failure_);
}

PluginShapes Expressions::read(std::span<const nv::DimsExprs> shapes) const {
  rethrow();
  PluginShapes result;
  for (const auto& shape : shapes) result.outputs.push_back(read(shape, static_cast<int>(result.outputs.size())));
  result.sizes = sizes_;
  for (const auto& size : sizes_) {
    const auto& shape = result.outputs.at(static_cast<size_t>(size.output));
    checkUser(shape.empty(), "output {} is declared a size tensor and has the shape {}; expected a scalar", size.output,
              text(shape));
  }
  return result;
}

Shape Expressions::read(const nv::DimsExprs& shape, int output) const {
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
