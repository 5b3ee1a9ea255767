// Pooling, slices beyond bounds, nearest resizing, gathered elements, running sums and best elements of every type,
// against the reference.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

constexpr DataType kNumbers[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                                 DataType::kI32, DataType::kI8,  DataType::kU8};
constexpr DataType kAll[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI64,
                             DataType::kI32, DataType::kI8,  DataType::kU8,   DataType::kBool};

void checkPool(DataType type, const std::string& fields, const Dims& in, const Dims& out, double tolerance,
               bool special) {
  const auto line = fmt::format("  %y : {}{} = pooling{{{}}}(%a) \"p\"\n", name(type), shapeText(out), fields);
  expectKernelMatches(line, listOf(variedTensor(type, in, 11, special)), "pooling", "cpu.line_pooling", tolerance);
}

TEST(LinePooling, MaximaOfEveryType) {
  for (const auto type :
       {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kI32, DataType::kI8, DataType::kU8}) {
    checkPool(type, "type=max window=[3, 3] prePadding=[1, 1] postPadding=[1, 1]", Dims{2, 3, 9, 131},
              Dims{2, 3, 9, 131}, 0, true);
    checkPool(type, "type=max window=[2, 2] strides=[2, 2]", Dims{1, 2, 11, 301}, Dims{1, 2, 5, 150}, 0, true);
    checkPool(type, "type=max window=[5] strides=[3] prePadding=[2] postPadding=[1]", Dims{1, 2, 20011},
              Dims{1, 2, 6670}, 0, false);
    checkPool(type, "type=max window=[2, 3, 4] strides=[1, 2, 5] prePadding=[1, 0, 3] postPadding=[0, 1, 2]",
              Dims{1, 2, 4, 6, 40}, Dims{1, 2, 4, 3, 9}, 0, true);
    checkPool(type, "type=max window=[3, 3] dilations=[2, 4] prePadding=[2, 1] postPadding=[1, 3]", Dims{1, 2, 9, 131},
              Dims{1, 2, 8, 127}, 0, true);
    checkPool(type, "type=max window=[2, 3] strides=[2, 2] dilations=[3, 5]", Dims{1, 2, 11, 301}, Dims{1, 2, 4, 146},
              0, true);
    checkPool(type, "type=max window=[4] strides=[3] dilations=[7] prePadding=[2]", Dims{1, 2, 20011}, Dims{1, 2, 6664},
              0, false);
    checkPool(type, "type=max window=[2, 2, 3] strides=[1, 2, 5] dilations=[3, 2, 2]", Dims{1, 2, 4, 6, 40},
              Dims{1, 2, 1, 2, 8}, 0, true);
    checkPool(type, "type=max window=[3] dilations=[2] prePadding=[1] postPadding=[1]", Dims{1, 2, 3}, Dims{1, 2, 1}, 0,
              false);
    checkPool(type, "type=max window=[1, 2]", Dims{1, 1, 1, 3}, Dims{1, 1, 1, 2}, 0, false);
    checkPool(type, "type=max window=[2, 2]", Dims{0, 3, 4, 4}, Dims{0, 3, 3, 3}, 0, false);
    checkPool(type, "type=max window=[3, 3] strides=[2, 2] ceilMode=true", Dims{1, 2, 8, 8}, Dims{1, 2, 4, 4}, 0,
              false);
  }
}

TEST(LinePooling, AveragesAndBlends) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const char* kind : {"average", "max_average_blend"}) {
      for (const char* exclusive : {"true", "false"}) {
        const auto fields = fmt::format("type={} exclusive={} blend=0.25 ", kind, exclusive);
        const double tolerance = toleranceOf(type);
        checkPool(type, fields + "window=[3, 3] prePadding=[1, 1] postPadding=[1, 1]", Dims{2, 3, 9, 131},
                  Dims{2, 3, 9, 131}, tolerance, false);
        checkPool(type, fields + "window=[2, 2] strides=[2, 2]", Dims{1, 2, 11, 301}, Dims{1, 2, 5, 150}, tolerance,
                  false);
        checkPool(type, fields + "window=[3, 4] strides=[2, 3] prePadding=[1, 2] postPadding=[2, 3] ceilMode=true",
                  Dims{1, 2, 8, 20}, Dims{1, 2, 5, 8}, tolerance, false);
        checkPool(type, fields + "window=[3, 4] strides=[2, 3] dilations=[2, 3] prePadding=[1, 2] postPadding=[2, 3]",
                  Dims{1, 2, 8, 20}, Dims{1, 2, 4, 6}, tolerance, false);
        checkPool(type, fields + "window=[3] dilations=[4] prePadding=[5] postPadding=[5]", Dims{2, 1, 4999},
                  Dims{2, 1, 5001}, tolerance, false);
        checkPool(type, fields + "window=[7] strides=[2] prePadding=[3] postPadding=[3]", Dims{2, 1, 9001},
                  Dims{2, 1, 4501}, tolerance, false);
      }
    }
  }
}

TEST(TableCopy, SlicesBeyondBounds) {
  for (const auto type : kAll) {
    for (const char* mode : {"clamp", "wrap", "reflect"}) {
      const auto check = [&](const Dims& in, const Dims& out, const char* fields) {
        const auto line = fmt::format("  %y : {}{} = slice{{{} size={} mode={}}}(%a) \"s\"\n", name(type),
                                      shapeText(out), fields, shapeText(out), mode);
        expectKernelMatches(line, listOf(variedTensor(type, in, 2)), "slice", "cpu.table_copy", 0);
      };
      check(Dims{2, 5, 17}, Dims{2, 9, 25}, "start=[0,-2,-4]");
      check(Dims{3, 4, 5}, Dims{7, 9, 5}, "start=[-2,-3,0]");
      check(Dims{1, 1, 3}, Dims{2, 3, 40}, "start=[0,-1,-20]");
      check(Dims{2, 6, 7}, Dims{2, 6, 9}, "start=[0,5,9] stride=[1,-1,-2]");
      check(Dims{2, 6, 7}, Dims{0, 6, 9}, "start=[0,0,-1]");
      // What repeats itself along several axes; short rows, which end where the input does; a line of a job of its own.
      check(Dims{3, 2, 4, 13}, Dims{7, 6, 8, 39}, "start=[0,0,0,0]");
      check(Dims{3, 2, 4, 3}, Dims{5, 4, 6, 5}, "start=[-1,-1,-1,-1]");
      check(Dims{2, 3, 3, 2}, Dims{4, 3, 9, 2}, "start=[-1,0,-3,0]");
      check(Dims{1, 5}, Dims{3, 15}, "start=[0,-4]");
      check(Dims{5, 3}, Dims{5, 9}, "start=[0,-3]");
      check(Dims{2, 300, 21}, Dims{3, 1300, 63}, "start=[-1,-300,-21]");
      check(Dims{2, 90, 600}, Dims{2, 270, 900}, "start=[0,-90,0]");
    }
  }
}

TEST(TableCopy, NearestOfEveryType) {
  for (const auto type : kAll) {
    if (!isFloating(type) && type != DataType::kI8 && type != DataType::kI32 && type != DataType::kU8) continue;
    const auto check = [&](const Dims& in, const Dims& out, const char* fields) {
      const auto line = fmt::format("  %y : {}{} = resize{{mode=nearest {} shape={}}}(%a) \"r\"\n", name(type),
                                    shapeText(out), fields, shapeText(out));
      expectKernelMatches(line, listOf(variedTensor(type, in, 2)), "resize", "cpu.table_copy", 0);
    };
    check(Dims{1, 3, 7, 9}, Dims{1, 3, 14, 18}, "");
    check(Dims{2, 3, 7, 9}, Dims{2, 3, 3, 20}, "coordinates=half_pixel rounding=half_down");
    check(Dims{2, 4, 3, 8}, Dims{2, 4, 9, 8}, "coordinates=align_corners");
  }
}

TEST(TypedResize, InterpolatedHalves) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      const Dims in{2, 3, 7, 9};
      for (const auto& out : {Dims{2, 3, 14, 18}, Dims{2, 3, 5, 31}, Dims{2, 3, 7, 9}, Dims{2, 3, 0, 9}}) {
        const auto line = fmt::format("  %y : {}{} = resize{{mode={} coordinates=half_pixel shape={}}}(%a) \"r\"\n",
                                      name(type), shapeText(out), mode, shapeText(out));
        expectKernelMatches(line, listOf(variedTensor(type, in, 2)), "resize", "cpu.resize", toleranceOf(type));
      }
    }
  }
}

HostTensor indicesBelow(DataType type, const Dims& dims, const std::vector<int64_t>& extents, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < dims.count(); ++i) {
    const int64_t extent = extents[static_cast<size_t>(i) % extents.size()];
    tensor.view().storeInt(i, static_cast<int64_t>(random() % static_cast<uint64_t>(2 * extent)) - extent);
  }
  return tensor;
}

TEST(GatherElements, EveryModeAndType) {
  for (const auto type : kAll) {
    for (const auto index : {DataType::kI32, DataType::kI64}) {
      const auto check = [&](const Dims& in, const Dims& at, const std::vector<int64_t>& extents, const Dims& out,
                             const char* fields) {
        const auto line = fmt::format("  %y : {}{} = gather{{{}}}(%a, %b) \"g\"\n", name(type), shapeText(out), fields);
        expectKernelMatches(line, listOf(variedTensor(type, in, 2), indicesBelow(index, at, extents, 3)), "gather",
                            "cpu.gather_elements", 0);
      };
      check(Dims{4, 5, 131}, Dims{4, 5, 131}, {4}, Dims{4, 5, 131}, "mode=element axis=0");
      check(Dims{4, 5, 31}, Dims{3, 9, 30}, {5}, Dims{3, 9, 30}, "mode=element axis=1");
      check(Dims{4, 5, 31}, Dims{4, 5, 7}, {31}, Dims{4, 5, 7}, "mode=element axis=-1");
      check(Dims{4, 5, 31}, Dims{0, 5, 7}, {31}, Dims{0, 5, 7}, "mode=element axis=2");
      check(Dims{3, 4, 5, 6}, Dims{2, 7, 5, 6}, {4}, Dims{2, 7, 5, 6}, "mode=element axis=1");
      check(Dims{3, 4, 5, 6}, Dims{3, 4, 9, 6}, {5}, Dims{3, 4, 9, 6}, "mode=element axis=2");
      check(Dims{3, 4, 5, 6}, Dims{3, 3, 9, 4}, {5}, Dims{3, 3, 9, 4}, "mode=element axis=2");
      check(Dims{9, 4, 600, 3}, Dims{8, 4, 600, 2}, {3}, Dims{8, 4, 600, 2}, "mode=element axis=3");
      check(Dims{3, 30, 700}, Dims{5, 30, 700}, {3}, Dims{5, 30, 700}, "mode=element axis=0");
      check(Dims{4, 5, 31}, Dims{700, 2}, {4, 5}, Dims{700, 31}, "mode=nd");
      check(Dims{4, 5, 3}, Dims{4, 6, 2}, {5, 3}, Dims{4, 6}, "mode=nd batchDims=1");
      check(Dims{4, 5, 3}, Dims{4, 6}, {5}, Dims{4, 6, 3}, "axis=1 batchDims=1");
      check(Dims{2, 3, 5, 3}, Dims{2, 6}, {5}, Dims{2, 3, 6, 3}, "axis=2 batchDims=1");
    }
  }
}

TEST(GatherElements, AnIndexOutsideIsAnError) {
  for (const char* fields : {"mode=element axis=0", "mode=nd"}) {
    HostTensor x(DataType::kF32, Dims{4, 1});
    HostTensor at(DataType::kI64, Dims{3, 1});
    at.view().storeInt(1, 4);
    const auto text = fmt::format(
        "graph \"g\" {{\n  input %a : f32[4,1]\n  input %b : i64[3,1]\n  %y : f32[3,1] = gather{{{}}}(%a, %b) \"g\"\n  output %y\n}}",
        fields);
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = 0;
    const auto engine = runtime::Engine::make(compile::build(graph::parse(text), options), {}, log);
    EXPECT_THROW(run(engine, listOf(std::move(x), std::move(at)), log), UserError);
  }
}

TEST(Cumulative, EveryTypeAxisAndDirection) {
  for (const auto type : kNumbers) {
    for (const char* flags : {"", "exclusive=true ", "reverse=true ", "exclusive=true reverse=true "}) {
      for (const auto& dims :
           {Dims{3, 5, 300}, Dims{1, 1, 1}, Dims{2, 0, 3}, Dims{2, 2001, 1}, Dims{1, 7, 513}, Dims{700, 3, 1},
            Dims{3, 40, 65}, Dims{40, 2, 2}, Dims{2, 1037, 3}, Dims{2, 17, 200}, Dims{1, 50, 130}}) {
        for (const int axis : {0, 1, 2}) {
          const auto line = fmt::format("  %y : {}{} = cumulative{{{}axis={}}}(%a) \"c\"\n", name(type),
                                        shapeText(dims), flags, axis);
          expectKernelMatches(line, listOf(variedTensor(type, dims, 2)), "cumulative", "cpu.cumulative",
                              toleranceOf(type));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(TopK, EveryTypeAxisAndDirection) {
  for (const auto type : kNumbers) {
    for (const char* largest : {"true", "false"}) {
      for (const auto& dims :
           {Dims{3, 5, 300}, Dims{1, 1, 1}, Dims{2, 2001, 1}, Dims{70, 3, 65}, Dims{0, 4, 4}, Dims{3, 90, 2},
            Dims{2, 700, 3}, Dims{300, 2, 1}, Dims{2, 3, 32}, Dims{5, 27, 7}, Dims{3, 41, 4}, Dims{2, 53, 8}}) {
        for (const int axis : {0, 1, 2}) {
          for (const int64_t k : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{40}, dims[axis]}) {
            if (k > dims[axis]) continue;
            Dims out = dims;
            out[axis] = k;
            const auto index = k % 2 == 0 ? DataType::kI32 : DataType::kI64;
            const auto line =
                fmt::format("  %y : {0}{1}, %z : {2}{1} = topk{{largest={3} k={4} axis={5} indexType={2}}}(%a) \"t\"\n",
                            name(type), shapeText(out), name(index), largest, k, axis);
            for (const bool special : {false, isFloating(type)})
              expectKernelMatches(line, listOf(variedTensor(type, dims, 2, special)), "topk", "cpu.topk", 0);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Most of a long line, whose integers are equal, near each other, or as far apart as they can be.
TEST(TopK, MostOfIntegersOfEveryRange) {
  for (const int64_t range : {int64_t{1}, int64_t{3}, int64_t{1} << 20, int64_t{1} << 32, (int64_t{1} << 32) + 1}) {
    for (const char* largest : {"true", "false"}) {
      for (const int64_t k : {1000, 100}) {
        HostTensor x(DataType::kI64, {1000});
        for (int64_t i = 0; i < 1000; ++i)
          x.view().storeInt(i, -(int64_t{1} << 40) + (i == 7 ? range - 1 : i * 7919 % range));
        const auto line = fmt::format(
            "  %y : i64[{0}], %z : i64[{0}] = topk{{largest={1} k={0} axis=0 indexType=i64}}(%a) \"t\"\n", k, largest);
        expectKernelMatches(line, listOf(std::move(x)), "topk", "cpu.topk", 0);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
