// Kernels of detectors and of sampling at computed places beside their references.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

HostTensor uniform(const Dims& dims, double low, double high, uint64_t seed) {
  HostTensor tensor(DataType::kF32, dims);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeDouble(i, draw(random));
  return tensor;
}

HostTensor whole(const Dims& dims, int64_t low, int64_t high, uint64_t seed, DataType type = DataType::kI32) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int64_t> draw(low, high);
  for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeInt(i, draw(random));
  return tensor;
}

TEST(PaddedNms, DecidesAsTheReference) {
  for (const auto& [images, boxes, classes, sets] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 1, 1, 1},
                                                     {2, 67, 3, 1},
                                                     {1, 131, 5, 5},
                                                     {2, 0, 3, 1},
                                                     {1, 3001, 40, 1}}) {
    for (const char* fields : {"keep=20 overlapThreshold=0.3",
                               "keep=7 overlapThreshold=0.1 agnostic=true inclusive=true inclusiveOverlap=true",
                               "keep=300 perClass=20 keepPerClass=9 background=0 scoreThreshold=0.4",
                               "keep=50 inAll=33 pixels=all scoreThreshold=-1", "keep=5 pixels=areas perClass=2"}) {
      const auto lines = fmt::format(
          "  %count : i32[{0}], %boxes : i32[{0},{2}], %classes : i32[{0},{2}], %scores : f32[{0},{2}] = padded_nms{{{1}}}(%a, %b) \"n\"\n"
          "  %y : f32[{0},{2}] = pointwise{{expr=\"cast.f32(x0);mul(t0,1000);cast.f32(x1);add(t1,t2);add(t3,x2)\"}}(%boxes, %classes, %scores) \"p\"\n"
          "  %z : i32[{0}] = pointwise(%count) \"c\"\n",
          images, fields, std::stoi(std::string(fields).substr(5)));
      expectKernelMatches(
          lines, listOf(uniform({images, boxes, sets, 4}, 0, 20, 3), uniform({images, boxes, classes}, 0, 1, 4)),
          "padded_nms", "cpu.padded_nms", 1e-5);
      if (HasFailure()) return;
    }
  }
}

TEST(RoiAlign, EveryGridBorderAndPool) {
  for (const char* grid : {"bins", "corners", "pixels"}) {
    for (const char* border : {"clamp", "margin", "zero"}) {
      for (const char* pool : {"mean", "max", "weighted_max"}) {
        for (const char* fields :
             {"height=2 width=3", "height=7 width=7 samples=2 offset=0", "height=1 width=1 least=0"}) {
          const int64_t cells[] = {fields[7] - '0', fields[15] - '0'};
          for (const int64_t regions : {0, 1, 37}) {
            const auto line = fmt::format(
                "  %y : f32[{0},3,{1},{2}] = roi_align{{{3} grid={4} border={5} pool={6}}}(%a, %b, %c, %d) \"r\"\n",
                regions, cells[0], cells[1], fields, grid, border, pool);
            expectKernelMatches(line,
                                listOf(uniform({regions, 4}, -3, 17, 5), whole({regions, 2}, -1, 2, 6),
                                       uniform({2, 3, 13, 9}, -1, 1, 7), uniform({2, 3, 5, 6}, -1, 1, 8)),
                                "roi_align", "cpu.roi_align", 1e-4);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(DeformableColumns, GroupsMasksAndSteps) {
  for (const int64_t images : {0, 1, 3}) {
    expectKernelMatches(
        fmt::format(
            "  %y : f32[{},24,15] = deformable_columns{{kernel=[3,2] strides=[2,1] padding=[1,0] dilations=[1,2] groups=2 "
            "hasMask=true}}(%a, %b, %c) \"d\"\n",
            images),
        listOf(uniform({images, 4, 6, 7}, -1, 1, 1), uniform({images, 24, 3, 5}, -4, 4, 2),
               uniform({images, 12, 3, 5}, 0, 1, 3)),
        "deformable_columns", "cpu.deformable_columns", 1e-4);
    expectKernelMatches(fmt::format("  %y : f32[{},3,272] = deformable_columns(%a, %b) \"d\"\n", images),
                        listOf(uniform({images, 3, 17, 16}, -1, 1, 1), uniform({images, 2, 17, 16}, -4, 4, 2)),
                        "deformable_columns", "cpu.deformable_columns", 1e-4);
  }
}

TEST(DeformableAttention, MapsOfAnySize) {
  for (const auto type : {DataType::kI32, DataType::kI64}) {
    for (const int64_t width : {1, 8, 33}) {
      const auto line = fmt::format("  %y : f32[2,5,3,{}] = deformable_attention(%a, %b, %c, %d, %e) \"d\"\n", width);
      expectKernelMatches(
          line,
          listOf(uniform({2, 60, 3, width}, -1, 1, 1), whole({2, 2}, 0, 7, 2, type), whole({2}, -3, 30, 3, type),
                 uniform({2, 5, 3, 2, 4, 2}, -0.3, 1.3, 4), uniform({2, 5, 3, 2, 4}, 0, 1, 5)),
          "deformable_attention", "cpu.deformable_attention", 1e-4);
    }
  }
}

TEST(GridSample, EveryModeBorderAndSize) {
  for (const char* mode : {"linear", "nearest"}) {
    for (const char* border : {"zero", "clamp", "reflect"}) {
      for (const char* align : {"true", "false"}) {
        for (const auto& [height, width, rows] :
             {std::tuple{1, 1, 1}, std::tuple{7, 5, 103}, std::tuple{0, 3, 2}, std::tuple{4, 9, 0}}) {
          const auto line =
              fmt::format("  %y : f32[2,3,{},3] = grid_sample{{mode={} border={} alignCorners={}}}(%a, %b) \"g\"\n",
                          rows, mode, border, align);
          expectKernelMatches(line,
                              listOf(uniform({2, 3, height, width}, -1, 1, 1), uniform({2, rows, 3, 2}, -2.5, 2.5, 2)),
                              "grid_sample", "cpu.grid_sample", 1e-5);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(ScatterReduce, EveryAxisAndReduction) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kI32, DataType::kI8, DataType::kU8}) {
    for (const char* op : {"sum", "prod", "max", "min"}) {
      for (const int axis : {0, 1, 2}) {
        const Dims some{axis == 0 ? 9 : 3, axis == 1 ? 9 : 4, axis == 2 ? 9 : 5};
        const auto line =
            fmt::format("  %y : {}[4,5,7] = scatter_reduce{{op={} axis={}}}(%a, %b, %c) \"s\"\n", name(type), op, axis);
        const int64_t limit = axis == 0 ? 4 : axis == 1 ? 5 : 7;
        expectKernelMatches(line,
                            listOf(variedTensor(type, {4, 5, 7}, 1), whole(some, -limit, limit - 1, 2, DataType::kI64),
                                   variedTensor(type, some, 3)),
                            "scatter_reduce", "cpu.scatter_reduce", type == DataType::kF32 ? 1e-5 : 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Rows of a few elements, whose indices differ or not, and short lines behind each other, more than a job takes.
TEST(ScatterReduce, NarrowRowsAndShortLines) {
  struct Case {
    Dims data, some;
    int axis;
  };
  const std::vector<Case> cases{{{50, 1}, {300, 1}, 0},     {{50, 3}, {31, 2}, 0},         {{9, 40, 2}, {5, 33, 2}, 1},
                                {{5000, 3}, {4999, 3}, 1},  {{7, 300, 4}, {6, 300, 9}, 2}, {{70, 5}, {70, 1}, 1},
                                {{6, 30, 5}, {6, 29, 5}, 2}};
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kU8}) {
    for (const char* op : {"sum", "max", "min"}) {
      for (const auto& [data, some, axis] : cases) {
        const auto line = fmt::format("  %y : {}{} = scatter_reduce{{op={} axis={}}}(%a, %b, %c) \"s\"\n", name(type),
                                      shapeText(data), op, axis);
        expectKernelMatches(
            line,
            listOf(variedTensor(type, data, 1, isFloating(type)),
                   whole(some, -data[axis], data[axis] - 1, 2, DataType::kI32), variedTensor(type, some, 3)),
            "scatter_reduce", "cpu.scatter_reduce", type == DataType::kF32 ? 1e-5 : 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Rows of which each has one index, or one for most of it, and more lines than are taken together.
TEST(ScatterReduce, WholeRows) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kI32}) {
    for (const char* op : {"sum", "max"}) {
      for (const int64_t others : {0, 40}) {
        const Dims some{9, 300};
        HostTensor indices(DataType::kI64, some);
        for (int64_t i = 0; i < some.count(); ++i)
          indices.view().storeInt(i, i % 300 < others ? i % 5 : i / 300 * 3 % 7 - 7);
        const auto line = fmt::format("  %y : {}[7,301] = scatter_reduce{{op={}}}(%a, %b, %c) \"s\"\n", name(type), op);
        expectKernelMatches(line,
                            listOf(variedTensor(type, {7, 301}, 1), std::move(indices), variedTensor(type, some, 3)),
                            "scatter_reduce", "cpu.scatter_reduce", type == DataType::kF32 ? 1e-5 : 0);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Pillars, LimitsOfPillarsAndPoints) {
  for (const auto& [pillars, points] : {std::pair{1, 1}, {7, 3}, {100, 2}}) {
    const auto lines = fmt::format(
        "  %y : f32[2,{0},{1},10], %cells : i32[2,{0},4], %count : i32[2] = pillars{{pillars={0} points={1} "
        "range=[-2,-2,-1,2,2,1] size=[0.5,1,2]}}(%a, %b) \"p\"\n"
        "  %d : i32[2,1,1] = reshape{{shape=[2,1,1]}}(%count) \"r\"\n"
        "  %z : i32[2,{0},4] = pointwise{{expr=\"mul(x0,1000);add(t0,x1)\"}}(%cells, %d) \"c\"\n",
        pillars, points);
    expectKernelMatches(lines, listOf(uniform({2, 67, 5}, -2.5, 2.5, 1), whole({2}, 30, 70, 2)), "pillars",
                        "cpu.pillars", 1e-5);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenon::test
