// Reductions and softmax of every type along every axis, against the reference.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

constexpr DataType kNumbers[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                                 DataType::kI32, DataType::kI8,  DataType::kU8};

const std::vector<Dims>& shapes() {
  static const std::vector<Dims> kShapes{
      Dims{1, 1, 1},    Dims{2, 3, 5},      Dims{0, 4, 3},    Dims{3, 0, 2},
      Dims{7, 131, 31}, Dims{2, 64, 70},    Dims{5, 1, 1031}, Dims{1, 1, (1 << 16) + 3},
      Dims{3, 1500, 1}, Dims{1, 200003, 1}, Dims{9, 100, 2},  Dims{3, 75, 5},
      Dims{30, 1, 401}, Dims{4, 70, 3},     Dims{6, 2, 37}};
  return kShapes;
}

void checkReduce(DataType type, const char* op, const Dims& dims, const std::vector<int>& axes, bool special) {
  Dims out = dims;
  std::string list;
  for (const int axis : axes) {
    out[axis] = 1;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", axis);
  }
  const auto line = fmt::format("  %y : {}{} = reduce{{op={} axes=[{}] keepDims=true}}(%a) \"r\"\n", name(type),
                                shapeText(out), op, list);
  // The terms of a long sum cancel, its rounding does not.
  double reduced = 1;
  for (const int axis : axes) reduced *= static_cast<double>(dims[axis]);
  const double tolerance = toleranceOf(type) * std::max(1.0, std::sqrt(reduced) / 32);
  expectKernelMatches(line, listOf(variedTensor(type, dims, 3, special)), "reduce", "cpu.reduction", tolerance);
}

TEST(TypedReduction, EveryTypeAndAxis) {
  for (const auto type : kNumbers) {
    for (const char* op : {"sum", "prod", "max", "min", "avg"}) {
      const bool isProduct = std::string_view(op) == "prod";
      for (const auto& dims : shapes()) {
        for (const auto& axes :
             {std::vector{0}, std::vector{1}, std::vector{2}, std::vector{0, 2}, std::vector{0, 1, 2}}) {
          int64_t reduced = 1;
          for (const int axis : axes) reduced *= dims[axis];
          if (isProduct && isFloating(type) && reduced > 8) continue;  // beyond the range of the type
          checkReduce(type, op, dims, axes, false);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Rows that are read several at a time, and those that are left over.
TEST(TypedReduction, ShortRowsOfEveryLength) {
  for (const char* op : {"sum", "max", "min", "avg"}) {
    for (int64_t length = 1; length <= 40; ++length) {
      for (const bool special : {false, true}) {
        checkReduce(DataType::kF32, op, Dims{7, 11, length}, {2}, special);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(TypedReduction, NanAndInfinities) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const char* op : {"sum", "max", "min"}) {
      for (const int axis : {0, 1, 2}) {
        checkReduce(type, op, Dims{4, 9, 37}, {axis}, true);
        checkReduce(type, op, Dims{2, 3, 2}, {axis}, true);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(TypedSoftmax, EveryTypeAndAxis) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const auto& dims : {Dims{1, 1, 1}, Dims{0, 4, 3}, Dims{2, 3, 5}, Dims{5, 16, 16}, Dims{3, 33, 17},
                             Dims{2, 9, 1031}, Dims{2, 300, 19}, Dims{1, 3, (1 << 16) + 3}, Dims{2, 10007, 1}}) {
      for (const int axis : {0, 1, 2}) {
        const auto line =
            fmt::format("  %y : {}{} = softmax{{axis={}}}(%a) \"s\"\n", name(type), shapeText(dims), axis);
        expectKernelMatches(line, listOf(variedTensor(type, dims, 5)), "softmax", "cpu.softmax", toleranceOf(type));
        if (HasFailure()) return;
      }
    }
  }
}

// Both extremes of one tensor at once, in either order: with numbers that overflow where they are added, without
// anything that is no number, with a NaN in each place.
TEST(TypedReduction, BothExtremes) {
  const auto check = [](HostTensor x, int axis, bool isReversed) {
    Dims out = x.view().dims;
    for (int at = 0; at < out.rank; ++at) out[at] = at == axis || axis < 0 ? 1 : out[at];
    const auto axes = axis < 0 ? std::string("0,1") : std::to_string(axis);
    const auto part = [&](const char* op) {
      return fmt::format("{{reduce{{op={} axes=[{}] keepDims=true}} [0]}}", op, axes);
    };
    const auto shape = shapeText(out);
    const auto line = fmt::format("  %y : f32{}, %z : f32{} = composite{{parts=[{},{}] outputs=[0,1]}}(%a) \"both\"\n",
                                  shape, shape, part(isReversed ? "max" : "min"), part(isReversed ? "min" : "max"));
    std::vector<HostTensor> inputs;
    inputs.push_back(std::move(x));
    expectKernelMatches(line, inputs, "composite", "cpu.reduction", 0);
  };
  for (const auto& dims :
       {Dims{3, 5}, Dims{2, 16}, Dims{5, 17}, Dims{1, 133}, Dims{7, 1031}, Dims{300, 1000}, Dims{0, 7}, Dims{4, 0}}) {
    for (const int axis : {-1, 0, 1}) {
      check(variedTensor(DataType::kF32, dims, 5, false), axis, axis == 1);
      check(variedTensor(DataType::kF32, dims, 5, true), axis, axis == 0);
      if (HasFailure()) return;
    }
  }
  for (const int64_t count : {17, 63, 64, 131}) {
    auto x = variedTensor(DataType::kF32, Dims{1, count}, 5, false);
    for (int64_t i = 0; i < count; ++i)
      x.view().storeDouble(i, i % 2 == 0 ? 3e38 - 1e36 * static_cast<double>(i) : -INFINITY);
    check(std::move(x), 1, false);
    for (int64_t i = 0; i < count; ++i) {
      auto y = variedTensor(DataType::kF32, Dims{1, count}, 5, false);
      y.view().storeDouble(i, NAN);
      check(std::move(y), 1, i % 2 == 0);
      if (HasFailure()) return;
    }
  }
}

// Rows with an infinity or a NaN are NaN throughout; -infinity is a masked element, whose share is 0.
TEST(TypedSoftmax, NanAndInfinities) {
  for (const int64_t count : {3, 16, 35, 64}) {
    for (const int axis : {0, 1}) {
      HostTensor x(DataType::kF32, Dims{6, count});
      for (int64_t row = 0; row < 6; ++row) {
        for (int64_t i = 0; i < count; ++i) x.view().storeDouble(row * count + i, static_cast<double>(i % 7));
      }
      for (int64_t i = 0; i < count; ++i) x.view().storeDouble(i, -INFINITY);
      x.view().storeDouble(count, NAN);
      x.view().storeDouble(3 * count - 1, INFINITY);
      x.view().storeDouble(4 * count - 1, -INFINITY);
      x.view().storeDouble(4 * count, -INFINITY);
      x.view().storeDouble(6 * count - 1, NAN);
      const auto line = fmt::format("  %y : f32{} = softmax{{axis={}}}(%a) \"s\"\n", shapeText(x.view().dims), axis);
      expectKernelMatches(line, listOf(std::move(x)), "softmax", "cpu.softmax", 2e-6);
    }
  }
}

// Columns whose rows lie behind each other are computed several rows at once; an operand may stand still.
TEST(PointwiseReduce, ColumnsOfRowsBehindEachOther) {
  struct Case {
    Dims in, out;
    const char* axes;
  };
  const std::vector<Case> cases{{{5, 49, 64}, {5, 64}, "[1]"},     {{700, 70}, {70}, "[0]"},
                                {{3, 7, 6, 80}, {3, 80}, "[1,2]"}, {{9, 3, 6, 80}, {3, 80}, "[0,2]"},
                                {{2, 3, 255}, {2, 255}, "[1]"},    {{2, 1, 100}, {2, 100}, "[1]"},
                                {{2, 0, 100}, {2, 100}, "[1]"}};
  for (const auto& [in, out, axes] : cases) {
    for (const char* op : {"sum", "avg"}) {
      if (in.count() == 0 && op[0] == 'a') continue;  // the mean of nothing
      for (const auto& other : {Dims{}, in}) {
        const auto line =
            fmt::format("  %y : f32{} = pointwise_reduce{{expr=\"sub(x0,x1);abs(t0)\" op={} axes={}}}(%a, %b) \"r\"\n",
                        shapeText(out), op, axes);
        expectKernelMatches(
            line, listOf(variedTensor(DataType::kF32, in, 1, false), variedTensor(DataType::kF32, other, 2, false)),
            "pointwise_reduce", "cpu.pointwise_reduce", 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
