// What is assigned to slices, as exporters write it: scattered at all indices of a box.
#include "check_pass.h"

namespace tenon::passes {
namespace {

// Indices of a box of so many coordinates in the order of its places.
std::string indicesOf(const std::vector<int64_t>& start, const std::vector<int64_t>& size) {
  std::string text, extents;
  int64_t count = 1;
  for (const int64_t extent : size) count *= extent, extents += fmt::format("{},", extent);
  for (int64_t place = 0; place < count; ++place) {
    int64_t rest = count, left = place;
    for (size_t k = 0; k < size.size(); ++k) {
      rest /= size[k];
      text += fmt::format("{}{}", text.empty() ? "" : ",", start[k] + left / rest);
      left %= rest;
    }
  }
  return fmt::format("const %i : i64[{}{}] = {{{}}}\n", extents, size.size(), text);
}

std::string scattered(const std::string& x, const std::string& indices, const std::string& u) {
  return fmt::format(
      "input %x : f32[{0}]\ninput %u : f32[{2}]\n{1}%y : f32[{0}] = scatter{{mode=nd}}(%x, %i, %u) \"put\" "
      "from(\"put\")\noutput %y\n",
      x, indices, u);
}

TEST(ScatterBoxes, AlongOneAxis) {
  expectPass("scatter_boxes", scattered("5,4", indicesOf({1}, {3}), "3,4"), "slice slice concat");
  expectPass("scatter_boxes", scattered("5,4", indicesOf({2}, {3}), "3,4"), "slice concat");
  expectPass("scatter_boxes", scattered("5,4", indicesOf({-2}, {2}), "2,4"), "slice concat");
  expectPass("scatter_boxes", scattered("3,4,2", indicesOf({0, 1}, {3, 2}), "3,2,2"), "slice slice concat");
  expectPass("scatter_boxes", scattered("3,4", indicesOf({0, 0}, {3, 4}), "3,4"), "");
}

TEST(ScatterBoxes, AlongSeveral) {
  expectPass("scatter_boxes", scattered("4,5,6", indicesOf({1, 2, 0}, {3, 2, 5}), "3,2,5"),
             "slice slice slice slice slice concat slice concat concat");
}

// x[:, 3] = u, whose updates have no axis for the one place.
TEST(ScatterBoxes, OfOnePlaceAlongAnAxis) {
  const std::string indices = "const %i : i64[3,2] = {0,3,1,3,2,3}\n";
  expectPass("scatter_boxes", scattered("3,5,2", indices, "3,2"), "reshape slice slice concat");
}

TEST(ScatterBoxes, IndicesThatStandSideBySide) {
  const std::string indices =
      "const %a : i64[2,3,1] = {1,1,1,2,2,2}\nconst %b : i64[2,3,1] = {0,1,2,0,1,2}\n"
      "%i : i64[2,3,2] = concat{axis=2}(%a, %b) \"indices\"\n";
  expectPass("scatter_boxes", scattered("3,3", indices, "2,3"), "slice concat");
}

// x[1:, 1:] += r, which is written twice.
TEST(ScatterBoxes, SumsWithWhatStandsThere) {
  const std::string text = "input %x : f32[4,5]\ninput %r : f32[3,4]\n" + indicesOf({1, 1}, {3, 4}) +
                           "%p : f32[3,4] = slice{start=[1,1] size=[3,4]}(%x) \"piece\"\n"
                           "%u : f32[3,4] = pointwise{expr=\"add(x0,x1)\"}(%p, %r) \"sum\"\n"
                           "%z : f32[4,5] = scatter{mode=nd}(%x, %i, %u) \"put\" from(\"put\")\n";
  expectPass("scatter_boxes", text + "output %z\n", "slice pointwise");
  expectPass("scatter_boxes",
             text + "%y : f32[4,5] = scatter{mode=nd}(%z, %i, %u) \"again\" from(\"again\")\noutput %y\n",
             "slice pointwise");
  // Another piece of x.
  auto other = text + "output %z\n";
  other.replace(other.find("start=[1,1]"), 11, "start=[0,1]");
  expectPass("scatter_boxes", other, "slice pointwise slice slice slice concat concat");
}

TEST(ScatterBoxes, WhatStays) {
  const auto stays = [](const std::string& indices) {
    expectPass("scatter_boxes", scattered("5,4", indices, "3,4"), "scatter");
  };
  stays("const %i : i64[3,1] = {1,3,2}\n");   // in another order
  stays("const %i : i64[3,1] = {0,2,4}\n");   // with steps
  stays("const %i : i64[3,1] = {2,2,2}\n");   // several for one
  stays("const %i : i64[3,1] = {-1,0,1}\n");  // around the end
  stays("input %i : i64[3,1]\n");
  expectPass("scatter_boxes",
             scattered("3,3", "const %i : i64[3,3,2] = {0,0,1,0,2,0,0,1,1,1,2,1,0,2,1,2,2,2}\n", "3,3"),
             "scatter");  // transposed
}

// Executions say what is wrong with them.
TEST(ScatterBoxes, IndicesOutside) {
  for (const char* index : {"9223372036854775807", "-9223372036854775808", "5", "-6"}) {
    auto graph = graph::parse("graph \"g\" {\n" +
                              scattered("5,4", fmt::format("const %i : i64[1,1] = {{{}}}\n", index), "1,4") + "}\n");
    run(graph, {});
    EXPECT_EQ(operators(graph), "scatter") << index;
  }
}

}  // namespace
}  // namespace tenon::passes
