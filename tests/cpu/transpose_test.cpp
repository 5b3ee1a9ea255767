// Transposes of every shape of tile, whole and cut, of elements of every size.
#include "support/build_and_run.h"

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

}  // namespace
}  // namespace tenon::test
