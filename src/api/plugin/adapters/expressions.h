// IExprBuilder over extents: the shapes of a plugin's outputs as expressions.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/plugin/adapters/adapter.h"

namespace tenon::api {

namespace nv = nvinfer1;

// For one question to a plugin. Expressions live as long as the builder.
class Expressions final : public nv::IExprBuilder, public nv::apiv::VExprBuilder {
 public:
  static constexpr int32_t kNoSizes = -1;
  // Of a plugin with so many outputs; kNoSizes: of an interface that knows no size tensors.
  explicit Expressions(int32_t outputs);
  ~Expressions() noexcept override;

  const nv::IDimensionExpr* constant(int64_t value) override;
  const nv::IDimensionExpr* operation(nv::DimensionOperation op, const nv::IDimensionExpr& first,
                                      const nv::IDimensionExpr& second) override;
  const nv::IDimensionExpr* declareSizeTensor(int32_t outputIndex, const nv::IDimensionExpr& opt,
                                              const nv::IDimensionExpr& upper) override;

  nv::DimsExprs shape(const Shape& shape);
  std::vector<nv::DimsExprs> shapes(std::span<const Shape> shapes);
  // The shapes that the plugin gave, by output. Throws UserError for expressions that are not of this builder, and for
  // what it asked of the builder in vain.
  PluginShapes read(std::span<const nv::DimsExprs> shapes) const;
  // What an expression of this builder stands for; null for others.
  const Extent* extentOf(const void* expression) const;
  // Throws what went wrong in a call of the plugin, whose functions may not throw.
  void rethrow() const;

 private:
  class Expression;
  const nv::IDimensionExpr* add(Extent extent, bool isSize = false);
  Shape read(const nv::DimsExprs& shape, int output) const;
  const Expression* find(const nv::IDimensionExpr* expression) const;
  const int32_t outputs_;
  std::vector<std::unique_ptr<Expression>> expressions_;
  std::vector<PluginSize> sizes_;
  std::string failure_;
};

}  // namespace tenon::api
