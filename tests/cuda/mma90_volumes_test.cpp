// Windows of volumes as products by warpgroups.
#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "cuda/forced_shape.h"
#include "cuda/on_gpu.h"

namespace tenon::test {
namespace {

using backends::cuda::Mma90Image;

// Tiles with ends of rows, planes and volumes in them; by blocks of one tile and of many, alone and in clusters.
TEST_F(OnGpu, ProductsOfVolumesByWarpgroups) {
  if (!backends::cuda::mma90Missing().empty()) GTEST_SKIP() << backends::cuda::mma90Missing();
  struct Case {
    const char *attributes, *window, *result;
  };
  for (const auto& [attributes, window, result] :
       {Case{"prePadding=[1,1,1] postPadding=[1,1,1]", "3,3,3", "2,72,4,5,3"},
        Case{"strides=[2,1,2] prePadding=[1,0,2] postPadding=[0,1,1] dilations=[1,1,2]", "2,3,3", "2,72,2,4,1"},
        Case{"strides=[2,1,1] prePadding=[0,1,1] postPadding=[0,1,1]", "1,3,3", "2,72,2,5,3"}}) {
    const auto graph = graph::parse(fmt::format(R"g(graph "volumes" {{
  input %x : f16[2,72,4,5,3]
  input %r : f16[{0}]
  const %w : f16[72,72,{2}] = random(5)
  const %b : f16[72,1,1,1] = random(6)
  %y : f16[{0}] = convolution{{epilogue="add(x0,x1);add(t0,x2)" {1}}}(%x, %w, %b, %r) "n"
  output %y
}})g",
                                                result, attributes, window));
    for (const char* shape :
         {"16x1x1,1,4", "24x1x2,1,2x2", "40x2x1,2,3", "16x1x1,4,2", "32x1x1,1,3t", "48x2x1,2,3t", "32x1x1,2,3c"})
      EXPECT_LE(errorOfShape(graph, shape), 1.5e-3) << attributes << ", " << shape;
  }
}

TEST(Mma90, TakesVolumesForImagesWhereAxesAreLeftAlone) {
  Mma90Image planes{2, 5, 6, {5, 3, 4}, {3, 3, 1}, {1, 2, 1}, {1, 1, 0}, {1, 1, 0}, {1, 1, 1}, 4, true};
  planes.flatten();
  EXPECT_FALSE(planes.isDeep);
  EXPECT_EQ(planes.images, 8);
  EXPECT_EQ(planes.allWindows(), 8 * 5 * 3);

  Mma90Image lines{2, 5, 6, {5, 6, 2}, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {0, 0, 0}, {1, 1, 1}, 4, true};
  lines.flatten();
  EXPECT_FALSE(lines.isDeep);
  EXPECT_EQ(lines.height, 4);
  EXPECT_EQ(lines.width, 30);
  EXPECT_EQ(lines.taps[0], 3);
  EXPECT_EQ(lines.stride[0], 2);
  EXPECT_EQ(lines.allWindows(), 2 * 2 * 30);

  Mma90Image one{2, 5, 6, {5, 6, 1}, {3, 1, 3}, {1, 1, 1}, {1, 0, 1}, {1, 0, 1}, {1, 1, 1}, 1, true};
  one.flatten();
  EXPECT_TRUE(one.isDeep);  // one plane, whose neighbours are padding
  EXPECT_EQ(one.allTaps(), 9);
}

// What the copy engine reads of volumes is less far than of images.
TEST(Mma90, RefusesWindowsThatReachTooFarInVolumes) {
  const auto image = [](int64_t dilation, int64_t padding) {
    return Mma90Image{1,
                      64,
                      64,
                      {64, 64, 64},
                      {3, 3, 3},
                      {1, 1, 1},
                      {padding, padding, padding},
                      {15, 15, 15},
                      {dilation, dilation, dilation},
                      64,
                      true};
  };
  EXPECT_EQ(image(15, 15).refusal(), "");
  EXPECT_NE(image(15, 16).refusal(), "");
  EXPECT_NE(image(16, 15).refusal(), "");
}

}  // namespace
}  // namespace tenon::test
