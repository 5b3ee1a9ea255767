// Pixels of images as rows, on GPUs.
#include "check_pass.h"

namespace tenon::passes {
namespace {

Options onCuda() {
  Options options;
  options.device = "cuda";
  return options;
}

TEST(ImageRows, ThereAndBack) {
  for (const auto& [image, pixels, symbols] :
       {std::tuple("2,3,4,5", "20", ""), std::tuple("2,3,4,5,2", "40", ""), std::tuple("n,3,4,5", "20", "n")}) {
    const std::string batch(image, 1);
    const auto there =
        expectPass("image_rows",
                   fmt::format("input %x : f32[{0}]\n%a : f32[{2},3,{1}] = reshape{{shape=[{2},3,{1}]}}(%x) \"flat\"\n"
                               "%y : f32[{2},{1},3] = transpose{{permutation=[0,2,1]}}(%a) \"rows\"\noutput %y\n",
                               image, pixels, batch),
                   "transpose reshape", onCuda());
    EXPECT_EQ(there.node(there.order()[0]).name, "rows");
    expectPass("image_rows",
               fmt::format(
                   "input %x : f32[{2},{1},3]\n%a : f32[{2},3,{1}] = transpose{{permutation=[0,2,1]}}(%x) \"columns\"\n"
                   "%y : f32[{0}] = reshape{{shape=[{0}]}}(%a) \"image\"\noutput %y\n",
                   image, pixels, batch),
               "reshape transpose", onCuda());
  }
}

TEST(ImageRows, WhatStays) {
  const auto stays = [](const std::string& in, const std::string& between, const std::string& out,
                        const Options& options) {
    expectPass("image_rows",
               fmt::format("input %x : f32[{0}]\n%a : f32[{1}] = reshape{{shape=[{1}]}}(%x) \"flat\"\n"
                           "%y : f32[{2}] = transpose{{permutation=[0,2,1]}}(%a) \"rows\"\noutput %y\n",
                           in, between, out),
               "reshape transpose", options);
  };
  stays("2,3,4,5", "2,3,20", "2,20,3", {});        // on the host
  stays("2,3,4,5", "2,12,5", "2,5,12", onCuda());  // no pixels
  stays("2,3,4,5", "6,4,5", "6,5,4", onCuda());    // pictures of one channel
  stays("2,6,10", "2,3,20", "2,20,3", onCuda());   // no image
}

}  // namespace
}  // namespace tenon::passes
