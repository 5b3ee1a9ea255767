// IExprBuilder over extents: the shapes of a plugin's outputs as expressions.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/extent.h"

namespace tenon::api {

namespace nv = nvinfer1;

// For one question to a plugin. Expressions live as long as the builder.
class Expressions final : public nv::IExprBuilder, public nv::apiv::VExprBuilder {
 public:
  Expressions();
  ~Expressions() noexcept override;

  const nv::IDimensionExpr* constant(int64_t value) override;
  const nv::IDimensionExpr* operation(nv::DimensionOperation op, const nv::IDimensionExpr& first,
                                      const nv::IDimensionExpr& second) override;
  const nv::IDimensionExpr* declareSizeTensor(int32_t outputIndex, const nv::IDimensionExpr& opt,
                                              const nv::IDimensionExpr& upper) override;

  nv::DimsExprs shape(const Shape& shape);
  std::vector<nv::DimsExprs> shapes(std::span<const Shape> shapes);
  // The shape that the plugin gave. Throws Unsupported for what it asked of the builder in vain, UserError for
  // expressions that are not of this builder.
  Shape read(const nv::DimsExprs& shape, int output) const;
  // What an expression of this builder stands for; null for others.
  const Extent* extentOf(const void* expression) const;
  // Throws what went wrong in a call of the plugin, whose functions may not throw.
  void rethrow() const;

 private:
  class Expression;
  const nv::IDimensionExpr* add(Extent extent);
  const Expression* find(const nv::IDimensionExpr* expression) const;
  std::vector<std::unique_ptr<Expression>> expressions_;
  std::string unsupported_;
  std::string failure_;
};

}  // namespace tenon::api
