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
  for (const char* type : {"i8", "f16", "i32", "i64"}) {
    for (const int64_t rows : {3, 16, 33}) {
      for (const int64_t columns : {2, 17, 300}) {
        expectMatchesReference(fmt::format(
            "graph \"g\" {{ input %x : {2}[2,{0},{1}]\n %y : {2}[2,{1},{0}] = transpose{{permutation=[0,2,1]}}(%x) \"t\"\n output %y }}",
            rows, columns, type));
      }
    }
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
