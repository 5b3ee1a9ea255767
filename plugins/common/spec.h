// What a standard plugin is: names, fields, operand types, shapes, and the operators that it becomes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/layers.h"

namespace tenon::plugins {

// A number of a shape while a plugin is asked for it: known, or an expression of the caller's builder.
class Dim {
 public:
  Dim(int64_t number = 0) : number_(number) {}  // NOLINT: a number is a dimension
  Dim(const nv::IDimensionExpr* expression, nv::IExprBuilder* builder);
  int64_t number() const;  // throws PluginError where only the execution knows it
  const nv::IDimensionExpr* in(nv::IExprBuilder& builder) const;
  friend Dim operator+(const Dim& a, const Dim& b) { return apply(nv::DimensionOperation::kSUM, a, b); }
  friend Dim operator*(const Dim& a, const Dim& b) { return apply(nv::DimensionOperation::kPROD, a, b); }
  friend Dim operator/(const Dim& a, const Dim& b) { return apply(nv::DimensionOperation::kFLOOR_DIV, a, b); }

 private:
  static Dim apply(nv::DimensionOperation operation, const Dim& a, const Dim& b);
  int64_t number_ = 0;
  const nv::IDimensionExpr* expression_ = nullptr;  // none: a number
  nv::IExprBuilder* builder_ = nullptr;
};
using Dims = std::vector<Dim>;

enum class Interface : uint8_t { kV2, kV2Ext, kV2IOExt, kV2DynamicExt, kV3 };

struct FieldSpec {
  const char* name;
  nv::PluginFieldType type;
  int32_t length = 1;
  bool required = false;
};

struct Spec {
  const char* name;
  const char* version;
  Interface interface;
  bool atLoad;  // registered when the library is loaded, else by initLibNvInferPlugins()
  std::vector<FieldSpec> fields;
  // One letter per operand; the last one of the inputs stands for any number of them. f: FP32; h: FP16; x: FP32, FP16
  // or BF16, all of one type; q: one of these or INT8; i: INT32; l: INT64; n: INT32 or INT64; a: anything, of outputs
  // the type of the first input.
  std::string inputs;
  std::string outputs;
  std::function<std::vector<Dims>(const Fields&, const std::vector<Dims>&)> shapes;
  std::function<void(Layers&)> expand;
  // Dimensions of the first input without its batch; inputs with so many get one, outputs lose theirs. 0: all as given.
  int sampleRank = 0;
  // Throws PluginError for fields that make no sense, and for what is not supported, with the reason.
  std::function<void(const Fields&)> check = {};
  // The letters of the outputs where fields decide about them.
  std::function<std::string(const Fields&)> outputsOf = {};
};

// All standard plugins, collected from the files of kinds/.
const std::vector<Spec>& standardPlugins();

}  // namespace tenon::plugins
