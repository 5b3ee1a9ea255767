// Transposes of every shape of tile, whole and cut, of elements of every size; pairs of columns that are turned.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

constexpr int64_t kExtents[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 127, 129, 257, 300};

TEST(Transpose, OfMatrices) {
  for (const int64_t rows : kExtents) {
    for (const int64_t columns : kExtents) {
      expectMatchesReference(fmt::format(
          "graph \"g\" {{ input %x : f32[{0},{1}]\n %y : f32[{1},{0}] = transpose{{permutation=[1,0]}}(%x) \"t\"\n output %y }}",
          rows, columns));
    }
  }
}

TEST(Transpose, OfOtherTypes) {
  for (const char* type : {"i8", "f16", "i32", "i64", "bool"}) {
    for (const int64_t rows : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 130}) {
      for (const int64_t columns : {1, 2, 3, 4, 5, 8, 11, 16, 17, 32, 67, 300}) {
        expectMatchesReference(fmt::format(
            "graph \"g\" {{ input %x : {2}[2,{0},{1}]\n %y : {2}[2,{1},{0}] = transpose{{permutation=[0,2,1]}}(%x) \"t\"\n output %y }}",
            rows, columns, type));
      }
    }
  }
}

// Every so many elements of a row, forwards and backwards; and rows of one element again and again.
TEST(Transpose, PickedElements) {
  for (const char* type : {"i8", "f16", "f32", "i64"}) {
    for (const int64_t step : {2, 3, 4, 5, -1, -2, -3, 0}) {
      for (const int64_t count : {1, 15, 16, 17, 64, 65, 131}) {
        const int64_t extent = (count - 1) * std::abs(step) + 1;
        expectMatchesReference(fmt::format(
            "graph \"g\" {{ input %x : {0}[3,{1}]\n %y : {0}[3,{2}] = slice{{start=[0,{3}] size=[3,{2}] stride=[1,{4}]}}(%x) \"t\"\n output %y }}",
            type, extent, count, step < 0 ? extent - 1 : 0, step));
      }
    }
  }
}

// What lies outside is filled: rows, their ends, nothing or all.
TEST(Transpose, FilledSlices) {
  for (const char* type : {"i8", "f16", "f32", "i64"}) {
    for (const char* fields :
         {"start=[-1,-2,-3] size=[4,7,50]", "start=[0,0,-3] size=[2,3,40]", "start=[0,1,0] size=[2,5,44]",
          "start=[5,0,0] size=[2,3,44]", "start=[0,-1,0] size=[2,5,44]", "start=[-1,0,0] size=[4,3,44]",
          "start=[1,2,60] size=[3,3,7] stride=[-1,-1,-3]"}) {
      const std::string size(std::string_view(fields).substr(std::string_view(fields).find("size=") + 5));
      const std::string shape = size.substr(0, size.find(']') + 1);
      expectMatchesReference(fmt::format(
          "graph \"g\" {{ input %x : {0}[2,3,44]\n input %v : {0}[]\n %y : {0}{2} = slice{{{1} mode=fill}}(%x, %v) \"t\"\n output %y }}",
          type, fields, shape));
    }
  }
}

// The same with the channels behind the pixels.
TEST(Transpose, FilledSlicesOfChannelsLastImages) {
  for (const char* fields : {"start=[0,0,-1,-2] size=[2,3,8,7]", "start=[0,-1,1,0] size=[2,5,3,9]"}) {
    const std::string size(std::string_view(fields).substr(std::string_view(fields).find("size=") + 5));
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    int offered = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.name() != "slice") return candidates;
      std::erase_if(candidates, [](const auto& c) { return c.outputs[0] != Layout::kChannelsLast; });
      offered += static_cast<int>(candidates.size());
      return candidates;
    };
    expectMatchesReference(
        fmt::format(
            "graph \"g\" {{ input %x : f32[2,3,7,5]\n input %v : f32[]\n %y : f32{1} = slice{{{0} mode=fill}}(%x, "
            "%v) \"t\"\n output %y }}",
            fields, size),
        {}, options);
    EXPECT_GT(offered, 0);
  }
}

// The rows that change places lie further apart than they are long: within a tensor of more axes.
TEST(Transpose, WithinMoreAxes) {
  for (const int64_t middle : {1, 2, 5}) {
    for (const int64_t outer : {2, 3, 4, 20}) {
      for (const int64_t inner : {2, 3, 4, 17, 130}) {
        expectMatchesReference(fmt::format(
            "graph \"g\" {{ input %x : f32[{0},{1},{2}]\n %y : f32[{2},{1},{0}] = transpose{{permutation=[2,1,0]}}(%x) \"t\"\n output %y }}",
            outer, middle, inner));
        expectMatchesReference(fmt::format(
            "graph \"g\" {{ input %x : f32[{0},{1},{2},6]\n %y : f32[6,{1},{0},{2}] = transpose{{permutation=[3,1,0,2]}}(%x) \"t\"\n output %y }}",
            outer, middle, inner));
      }
    }
  }
}

void expectRotation(const Dims& x, const Dims& angles, bool interleaved) {
  Dims y = x;
  y[y.rank - 1] = 2 * angles[angles.rank - 1];
  expectKernelMatches(
      fmt::format("  %y : f32{} = rotate_pairs{{interleaved={}}}(%a, %b, %c) \"n\"\n", shapeText(y), interleaved),
      listOf(variedTensor(DataType::kF32, x, 1), variedTensor(DataType::kF32, angles, 2),
             variedTensor(DataType::kF32, angles, 3)),
      "rotate_pairs", "cpu.rotate_pairs", 2e-6);
}

TEST(RotatePairs, Rows) {
  for (const bool interleaved : {false, true}) {
    for (const int64_t pairs : {1, 2, 3, 5, 8, 16, 17, 31, 32, 40}) {
      expectRotation({2, 7, 3, 2 * pairs}, {2, 7, 1, pairs}, interleaved);
      expectRotation({2, 3, 7, 2 * pairs + 3}, {7, pairs}, interleaved);
      expectRotation({3, 2 * pairs}, {pairs}, interleaved);
      expectRotation({2 * pairs + 1}, {pairs}, interleaved);
    }
    expectRotation({1, 12, 301, 64}, {1, 1, 301, 32}, interleaved);
    expectRotation({3, 5, 4, 2, 16}, {3, 1, 4, 1, 8}, interleaved);
    expectRotation({2, 0, 3, 8}, {2, 0, 1, 4}, interleaved);
    expectRotation({1, 9001, 1, 6}, {1, 9001, 1, 3}, interleaved);
  }
}

}  // namespace
}  // namespace tenon::test
