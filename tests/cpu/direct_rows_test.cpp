// What kernels do where operands lie, without copies in front: rows that repeat a value, picks and scatters, one column
// of a product, bytes that are quantized by products.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

// Rows of each width at which a vector, a block or the joining of rows ends.
TEST(DirectRows, OneOperatorOverRowsThatRepeatAValue) {
  for (const auto type : {DataType::kF32, DataType::kI32, DataType::kF16, DataType::kU8, DataType::kBool}) {
    for (const int64_t width : {1, 15, 17, 63, 64, 196, 256, 257, 1031, 4097, 16385}) {
      const bool isTruth = type == DataType::kBool;
      const Dims whole{2, 5, width};
      for (const Dims& other : {Dims{2, 5, 1}, Dims{5, 1}, Dims{2, 1, 1}, Dims{1, 1, width}, Dims{1}}) {
        const bool first = (width + other.rank) % 2 == 0;
        const auto line = fmt::format("  %y : {}{} = pointwise{{expr=\"{}({})\"}}(%a, %b) \"p\"\n", name(type),
                                      shapeText(whole), isTruth ? "and" : "sub", first ? "x1,x0" : "x0,x1");
        expectKernelMatches(line, listOf(variedTensor(type, whole, 1, true), variedTensor(type, other, 2)), "pointwise",
                            "cpu.pointwise", toleranceOf(type));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(DirectRows, ProductAndSumOfTwoRepeatedValues) {
  for (const int64_t width : {15, 16, 17, 300, 1031, 4100}) {
    const auto line =
        fmt::format("  %y : f32[3,4,{0}] = pointwise{{expr=\"mul(x0,x1);add(t0,x2)\"}}(%a, %b, %c) \"p\"\n", width);
    expectKernelMatches(line,
                        listOf(variedTensor(DataType::kF32, {3, 4, width}, 1, true),
                               variedTensor(DataType::kF32, {4, 1}, 2), variedTensor(DataType::kF32, {3, 1, 1}, 3)),
                        "pointwise", "cpu.pointwise", 2e-6);
  }
}

// Exponentials four vectors at a time, of which one may have a number out of range.
TEST(DirectRows, ExponentialsAtTheEndsOfTheRange) {
  constexpr double kEnds[] = {87,   -87,  86.99, 88,       88.7,      89,  -88, -103,
                              -104, 1e30, -1e30, INFINITY, -INFINITY, NAN, 0,   -0.};
  HostTensor x(DataType::kF32, {4099});
  for (int64_t i = 0; i < 4099; ++i) {
    const bool isEnd = i % 67 == 0;
    x.view().storeDouble(i, isEnd ? kEnds[i / 67 % std::size(kEnds)] : static_cast<double>(i % 170) - 85);
  }
  expectKernelMatches("  %y : f32[4099] = pointwise{expr=\"exp(x0)\"}(%a) \"p\"\n", listOf(std::move(x)), "pointwise",
                      "cpu.pointwise", 2e-6);
}

TEST(DirectRows, OneColumnOfAProduct) {
  for (const int64_t rows : {1, 3, 4, 5, 33, 67}) {
    for (const int64_t depth : {1, 15, 16, 17, 33, 130, 1031}) {
      for (const bool transposed : {false, true}) {
        const Dims column = transposed ? Dims{2, 1, depth} : Dims{2, depth, 1};
        const auto line = fmt::format(
            "  %y : f32[2,{},1] = matmul{{transposeB={} epilogue=\"mul(x0,x1);tanh(t0)\"}}(%a, %b, %c) \"m\"\n", rows,
            transposed);
        expectKernelMatches(line,
                            listOf(variedTensor(DataType::kF32, {2, rows, depth}, 1),
                                   variedTensor(DataType::kF32, column, 2), variedTensor(DataType::kF32, {1, 1, 1}, 3)),
                            "matmul", "cpu.gemm", 1e-4);
        if (HasFailure()) return;
      }
    }
  }
}

HostTensor places(DataType type, const Dims& dims, int64_t low, int64_t high, uint64_t seed) {
  HostTensor result(type, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < dims.count(); ++i)
    result.view().storeInt(i, low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)));
  return result;
}

// Indices of either sign, and none that is negative, in rows longer than are looked through together.
TEST(DirectRows, Picks) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kF16, DataType::kU8}) {
    for (const auto indices : {DataType::kI32, DataType::kI64}) {
      for (const int axis : {0, 1, 2}) {
        for (const int64_t width : {1, 255, 256, 257, 700}) {
          const Dims data{5, 4, 701};
          const Dims some{axis == 0 ? 9 : 5, 3, width};
          for (const bool negative : {false, true}) {
            const auto line = fmt::format("  %y : {}{} = gather{{axis={} mode=element}}(%a, %b) \"g\"\n", name(type),
                                          shapeText(some), axis);
            expectKernelMatches(line,
                                listOf(variedTensor(type, data, 1),
                                       places(indices, some, negative ? -data[axis] : 0, data[axis] - 1, 2)),
                                "gather", "cpu.gather_elements", 0);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Elements that are met a few times, and one that all updates meet, which is no place for sums in f32.
TEST(DirectRows, ScattersThatMeetFewAndMany) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kI32, DataType::kU8}) {
    for (const char* op : {"sum", "prod", "max", "min"}) {
      for (const int64_t extent : {1, 40, 5000}) {
        for (const int64_t width : {1, 3, 130}) {
          const Dims some{width == 1 ? 20000 : 600, width};
          const auto line = fmt::format("  %y : {}[{},{}] = scatter_reduce{{op={}}}(%a, %b, %c) \"s\"\n", name(type),
                                        extent, width, op);
          HostTensor updates = variedTensor(type, some, 3);
          if (type == DataType::kF32) {  // products stay in range
            for (int64_t i = 0; i < some.count(); ++i) updates.view().storeDouble(i, 1 + (i % 17 - 8) * 1e-4);
          }
          expectKernelMatches(line,
                              listOf(variedTensor(type, {extent, width}, 1),
                                     places(DataType::kI64, some, -extent, extent - 1, 2), std::move(updates)),
                              "scatter_reduce", "cpu.scatter_reduce", type == DataType::kF32 ? 2e-5 : 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// What saturates, is no number, or lies next to a half, among others, so that some groups of vectors are divided.
TEST(DirectRows, BytesByProductsOrDivision) {
  for (const auto narrow : {DataType::kI8, DataType::kU8}) {
    for (const double scale : {0.1, 0.037, 1., 3.7e-5, 1.1e4, 1e-35, 1e35}) {
      for (const int64_t zero : {0, 3, 127}) {
        HostTensor x(DataType::kF32, {8209});
        std::mt19937_64 random(7);
        const auto real = static_cast<double>(static_cast<float>(scale));
        for (int64_t i = 0; i < 8209; ++i) {
          const auto tie = static_cast<float>((static_cast<double>(i % 400) - 199.5) * real);
          const uint64_t kind = random() % (i < 4096 ? 3 : 400);
          double value = static_cast<double>(tie) + real * static_cast<double>(random() % 1000) * 9e-4;
          if (kind == 0) value = static_cast<double>(tie);
          if (kind == 1) value = static_cast<double>(std::nextafter(tie, 1e30F));
          if (kind == 2) value = static_cast<double>(std::nextafter(tie, -1e30F));
          if (i % 911 == 0) value = NAN;
          if (i % 1013 == 0) value = i % 2 == 0 ? INFINITY : -INFINITY;
          if (i % 617 == 0) value = (i % 2 == 0 ? 1 : -1) * real * 1e6;
          x.view().storeDouble(i, value);
        }
        HostTensor scales(DataType::kF32, Dims{});
        scales.view().storeDouble(0, real);
        HostTensor zeros(narrow, Dims{});
        zeros.view().storeInt(0, zero);
        expectKernelMatches(fmt::format("  %y : {0}[8209] = quantize{{type={0}}}(%a, %b, %c) \"q\"\n", name(narrow)),
                            listOf(std::move(x), std::move(scales), std::move(zeros)), "quantize", "cpu.quantization",
                            0);
        if (HasFailure()) return;
      }
    }
  }
}

// Pooling of rows that fill no whole vectors, by every kernel of lines.
TEST(DirectRows, PoolingOfOddRows) {
  for (const char* kind : {"max", "average"}) {
    for (const int64_t width : {7, 14, 16, 31, 61, 113}) {
      for (const int64_t window : {1, 2, 3, 4, 5}) {
        for (const int64_t stride : {1, 2, 3, 4}) {
          const int64_t pad = window / 2;
          if (width + 2 * pad < window) continue;
          const int64_t out = (width + 2 * pad - window) / stride + 1;
          const auto line = fmt::format(
              "  %y : f32[1,3,{0},{0}] = pooling{{type={1} window=[{2},{2}] strides=[{3},{3}] prePadding=[{4},{4}] postPadding=[{4},{4}]}}(%a) \"p\"\n",
              out, kind, window, stride, pad);
          const bool special = (width + window + stride) % 2 == 0;
          expectKernelMatches(line, listOf(variedTensor(DataType::kF32, {1, 3, width, width}, 1, special)), "pooling",
                              "cpu.line_pooling", 2e-6);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Halves in the order of whole numbers: infinities, zeros and NaN of either sign.
TEST(DirectRows, PoolingOfHalves) {
  for (const auto type : {DataType::kF16, DataType::kBF16}) {
    for (const int64_t width : {1, 7, 14, 33, 70}) {
      for (const char* fields :
           {"window=[3,3] prePadding=[1,1] postPadding=[1,1]", "window=[1,2] strides=[1,2] ceilMode=true",
            "window=[3,3] dilations=[2,2] prePadding=[2,2] postPadding=[2,2]"}) {
        const bool halves = std::string(fields).find("strides") != std::string::npos;
        if (halves && width == 1) continue;
        auto x = variedTensor(type, {2, 3, width, width}, static_cast<uint64_t>(width), true);
        auto* const bits = static_cast<uint16_t*>(x.view().data);
        for (int64_t i = 5; i < x.view().dims.count(); i += 29) bits[i] = type == DataType::kF16 ? 0xfe01 : 0xff81;
        const auto line = fmt::format("  %y : {0}[2,3,{1},{2}] = pooling{{type=max {3}}}(%a) \"p\"\n", name(type),
                                      width, halves ? (width + 1) / 2 : width, fields);
        expectKernelMatches(line, listOf(std::move(x)), "pooling", "cpu.line_pooling", 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Extremes of rows of whole numbers around the lengths of vectors.
TEST(DirectRows, ExtremesOfIntegers) {
  for (const auto type : {DataType::kU8, DataType::kI8, DataType::kI32, DataType::kI64}) {
    for (const int64_t width : {15, 16, 17, 31, 32, 33, 49, 63, 64, 65, 127, 128, 129, 200, 1000}) {
      for (const char* kind : {"max", "min"}) {
        expectKernelMatches(fmt::format("  %y : {}[9] = reduce{{op={} axes=[1]}}(%a) \"r\"\n", name(type), kind),
                            listOf(variedTensor(type, {9, width}, static_cast<uint64_t>(width))), "reduce",
                            "cpu.reduction", 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Bytes by way of floats, rounded to even as the reference does; scales whose weights floats hold.
TEST(DirectRows, BytesThatAreResized) {
  for (const auto type : {DataType::kU8, DataType::kI8}) {
    for (const char* mode : {"linear", "nearest"}) {
      for (const char* out : {"8,20", "32,80", "4,10", "16,40"}) {
        const auto line =
            fmt::format("  %y : {0}[2,3,{1}] = resize{{mode={2} coordinates=half_pixel shape=[2,3,{1}]}}(%a) \"r\"\n",
                        name(type), out, mode);
        HostTensor x(type, {2, 3, 16, 40});
        for (int64_t i = 0; i < x.view().count(); ++i)
          x.view().storeInt(i, (i * 7919 + i / 13) % 256 - (type == DataType::kI8 ? 128 : 0));
        expectKernelMatches(line, listOf(std::move(x)), "resize", "cpu.resize", 0);
      }
    }
  }
}

// Sides of each length around those of tiles, with and without room between the rows.
TEST(DirectRows, Transposes) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kF16, DataType::kU8}) {
    for (const int64_t rows : {2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 64, 77}) {
      for (const int64_t columns : {2, 3, 4, 5, 15, 16, 17, 32, 63, 64, 80}) {
        const auto line =
            fmt::format("  %y : {}[2,{},{}] = transpose{{permutation=[0,2,1]}}(%a) \"t\"\n", name(type), columns, rows);
        expectKernelMatches(line, listOf(variedTensor(type, {2, rows, columns}, 1)), "transpose", "cpu.movement", 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Rows of one value each, next to each other and apart.
TEST(DirectRows, Expansions) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kF16, DataType::kU8}) {
    for (const int64_t rows : {1, 2, 3, 50}) {
      for (const int64_t columns : {1, 2, 5, 16, 20, 33, 64, 131}) {
        for (const int64_t middle : {1, 3}) {
          const auto line = fmt::format(
              "  %y : {0}[2,{1},{2},{3}] = slice{{start=[0,0,0,0] size=[2,{1},{2},{3}] stride=[1,0,1,0]}}(%a) \"s\"\n",
              name(type), middle, rows, columns);
          expectKernelMatches(line, listOf(variedTensor(type, {2, 1, rows, 1}, 1)), "slice", "cpu.movement", 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
