// What the tests of scalar expressions over all types share: tensors at any address, and a case that is compared with
// the reference.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "core/strided.h"
#include "ops/scalar_program.h"
#include "support/build_and_run.h"

namespace tenon::test {

inline constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                                      DataType::kI32, DataType::kI8,  DataType::kU8,   DataType::kBool};

// A tensor that begins `offset` elements behind an aligned address.
struct Unaligned {
  Unaligned(DataType type, const Dims& dims, int64_t offset) : storage(type, Dims{dims.count() + offset + 64}) {
    view = storage.view();
    view.data = static_cast<char*>(view.data) + offset * (bits(type) / 8);
    view.dims = dims;
  }
  HostTensor storage;
  TensorView view;
};

inline runtime::TensorShape shapeOf(const TensorView& view) { return {view.dtype, view.dims, Layout::kLinear}; }

struct TypedCase {
  ops::ScalarExpr expr;
  std::vector<TensorView> inputs;
  TensorView got;
  double tolerance = 0;  // relative to the operands' magnitudes; 0: equal
};

inline void check(const TypedCase& test) {
  std::vector<DataType> types;
  std::vector<runtime::TensorShape> shapes;
  std::vector<void*> addresses;
  std::vector<Strides> strides;
  for (const auto& in : test.inputs) {
    types.push_back(in.dtype);
    shapes.push_back(shapeOf(in));
    addresses.push_back(in.data);
    strides.push_back(stridesWithin(in.dims, Layout::kLinear, test.got.dims));
  }
  backends::cpu::PointwiseRunner runner(test.expr);
  runner.configure(shapes, shapeOf(test.got));
  ops::ScalarProgram program(test.expr, types);
  const HostTensor expected(test.got.dtype, test.got.dims);
  std::vector<ops::Number> numbers(types.size());
  std::vector<double> scale;
  int64_t position = 0;
  for (IndexIterator i(test.got.dims); i.valid(); i.next(), ++position) {
    double magnitude = 0.1;
    double product = 1;
    for (size_t k = 0; k < numbers.size(); ++k) {
      int64_t at = 0;
      for (size_t axis = 0; axis < static_cast<size_t>(test.got.dims.rank); ++axis)
        at += i.index[axis] * strides[k][axis];
      numbers[k] = ops::Number::load(test.inputs[k], at);
      const double size = std::abs(numbers[k].asReal());
      magnitude += std::isfinite(size) ? size : 0;
      product *= std::isfinite(size) && size > 1 ? size : 1;
    }
    program(numbers).store(expected.view(), position);
    scale.push_back(magnitude + product);
  }
  runner.run(addresses.data(), test.got.data);
  for (int64_t i = 0; i < test.got.count(); ++i) {
    const bool floating = isFloating(test.got.dtype);
    const double got = floating ? test.got.loadDouble(i) : 0;
    const double want = floating ? expected.view().loadDouble(i) : 0;
    bool same = floating || test.got.loadInt(i) == expected.view().loadInt(i);
    if (floating) {
      same = (std::isnan(want) && std::isnan(got)) || want == got ||
             std::abs(got - want) <= test.tolerance * (std::abs(want) + scale[static_cast<size_t>(i)]);
    }
    ASSERT_TRUE(same) << ops::text(test.expr) << " of " << name(types[0]) << " " << test.got.dims.text() << ": element "
                      << i << " is " << (floating ? got : static_cast<double>(test.got.loadInt(i))) << ", expected "
                      << (floating ? want : static_cast<double>(expected.view().loadInt(i)));
    if (test.got.dtype == DataType::kBool) {
      ASSERT_LE(static_cast<const uint8_t*>(test.got.data)[i], 1);
    }
  }
}

}  // namespace tenon::test
