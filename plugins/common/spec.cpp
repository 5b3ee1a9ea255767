// Numbers of shapes, known or not.
#include "common/spec.h"

namespace tenon::plugins {

Dim::Dim(const nv::IDimensionExpr* expression, nv::IExprBuilder* builder) : builder_(builder) {
  if (expression != nullptr && expression->isConstant()) {
    number_ = expression->getConstantValue();
  } else {
    expression_ = expression;
  }
}

int64_t Dim::number() const {
  if (expression_ != nullptr) {
    throw PluginError("an extent that the plugin needs when the engine is built is not fixed");
  }
  return number_;
}

const nv::IDimensionExpr* Dim::in(nv::IExprBuilder& builder) const {
  return expression_ != nullptr ? expression_ : builder.constant(number_);
}

Dim Dim::apply(nv::DimensionOperation operation, const Dim& a, const Dim& b) {
  if (a.expression_ == nullptr && b.expression_ == nullptr) {
    switch (operation) {
      case nv::DimensionOperation::kSUM: return {a.number_ + b.number_};
      case nv::DimensionOperation::kPROD: return {a.number_ * b.number_};
      default:
        if (b.number_ == 0) throw PluginError("a shape is divided by 0");
        return {a.number_ / b.number_};
    }
  }
  nv::IExprBuilder& builder = *(a.builder_ != nullptr ? a.builder_ : b.builder_);
  return {builder.operation(operation, *a.in(builder), *b.in(builder)), &builder};
}

}  // namespace tenon::plugins
