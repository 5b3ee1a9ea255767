// Tensors from numbers, random tensors, and one call that infers and evaluates an operator.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/operator.h"

namespace tenon::ops {

using Rng = std::mt19937_64;

inline int64_t pick(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

template <typename T>
const T& pickOf(Rng& rng, const std::vector<T>& choices) {
  return choices[static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(choices.size()) - 1))];
}

inline HostTensor tensor(const Dims& dims, const std::vector<double>& values, DataType type = DataType::kF32) {
  HostTensor result(type, dims);
  EXPECT_EQ(static_cast<size_t>(dims.count()), values.size());
  for (size_t i = 0; i < values.size(); ++i) result.view().storeDouble(static_cast<int64_t>(i), values[i]);
  return result;
}

// Multiples of 1/4 in [-4, 4] (integers for integer types): sums and products of a few are exact.
inline HostTensor randomTensor(Rng& rng, const Dims& dims, DataType type = DataType::kF32) {
  HostTensor result(type, dims);
  for (int64_t i = 0; i < result.view().count(); ++i) {
    result.view().storeDouble(
        i, isFloating(type) ? static_cast<double>(pick(rng, -16, 16)) / 4 : static_cast<double>(pick(rng, -4, 4)));
  }
  return result;
}

inline std::vector<double> numbers(const TensorView& view) {
  std::vector<double> result;
  for (int64_t i = 0; i < view.count(); ++i) result.push_back(view.loadDouble(i));
  return result;
}
inline std::vector<double> numbers(const HostTensor& tensor) { return numbers(tensor.view()); }

// The type of a tensor with its values as contents where they would be followed.
inline TensorType typeOf(const TensorView& view) {
  TensorType type{view.dtype, toShape(view.dims), std::nullopt};
  if (!isFloating(view.dtype) && view.dims.rank <= 1 && view.count() <= kMaxContents) {
    type.contents.emplace();
    for (int64_t i = 0; i < view.count(); ++i) type.contents->push_back(view.loadInt(i));
  }
  return type;
}

// Infers the output shapes from the tensors, allocates and evaluates. Symbols of the operator's fields have `symbols`.
inline std::vector<HostTensor> run(const Operator& op, const std::vector<HostTensor>& inputs,
                                   const SymbolValues& symbols = {}) {
  std::vector<TensorType> types;
  std::vector<TensorView> views;
  for (const auto& input : inputs) {
    types.push_back(typeOf(input.view()));
    views.push_back(input.view());
  }
  std::vector<HostTensor> outputs;
  std::vector<TensorView> outputViews;
  for (const auto& type : op.infer("test", types)) {
    outputs.emplace_back(type.dtype, evaluate(type.shape, symbols));
    outputViews.push_back(outputs.back().view());
  }
  op.evaluate({views, outputViews, &symbols});
  return outputs;
}

template <typename... Tensors>
std::vector<HostTensor> list(Tensors&&... tensors) {
  std::vector<HostTensor> result;
  (result.push_back(std::forward<Tensors>(tensors)), ...);
  return result;
}

template <typename... Tensors>
HostTensor run1(const Operator& op, Tensors&&... inputs) {
  return std::move(run(op, list(std::forward<Tensors>(inputs)...))[0]);
}

inline void expectNear(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-5,
                       const std::string& what = "") {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " element " << i << " is " << got[i];
    } else if (got[i] != expected[i]) {
      EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i]))) << what << " element " << i;
    }
  }
}

inline std::vector<TensorType> inferOf(const Operator& op, const std::vector<TensorType>& inputs) {
  return op.infer("node", inputs);
}

inline TensorType typed(Shape shape, DataType type = DataType::kF32) { return {type, std::move(shape), std::nullopt}; }

}  // namespace tenon::ops
