// Deconvolutions whose windows are whole numbers of strides, as convolutions to all pixels of a stride.
#include "check_pass.h"

namespace tenon::passes {
namespace {

std::string body(const char* x, const char* w, const char* y, const char* fields, const char* bias = "") {
  return fmt::format(
      "input %x : f32{}\nconst %w : f32{} = random(1)\nconst %b : f32[3] = random(2)\n"
      "%y : f32{} = deconvolution{}(%x, %w{}) \"y\" from(\"y\")\noutput %y\n",
      x, w, y, fields, bias);
}

void expect(const std::string& text, const char* left) {
  Options options;
  options.device = "cuda";
  expectPass("cells_to_convolution", text, left, options);
}

TEST(CellsToConvolution, WholeWindows) {
  expect(body("[2,5,7]", "[5,1,64]", "[2,1,160]", "{strides=[16]}"), "convolution reshape transpose reshape");
  expect(body("[2,5,4,3]", "[5,3,8,4]", "[2,3,20,16]", "{strides=[4,4] hasBias=true}", ", %b"),
         "convolution reshape transpose reshape reshape pointwise");
  expect(body("[1,5,4,3]", "[5,2,8,16]", "[1,2,17,27]", "{strides=[4,8] prePadding=[1,2] postPadding=[2,3]}"),
         "convolution reshape transpose reshape slice");
}

TEST(CellsToConvolution, OthersStay) {
  expect(body("[1,4,2,2,3]", "[4,2,6,2,8]", "[1,2,8,4,16]", "{strides=[2,2,4]}"), "deconvolution");
  expect(body("[2,5,7]", "[5,1,60]", "[2,1,156]", "{strides=[16]}"), "deconvolution");
  expect(body("[2,5,7]", "[5,1,16]", "[2,1,112]", "{strides=[16]}"), "deconvolution");
  expect(body("[2,5,7]", "[5,9,64]", "[2,9,160]", "{strides=[16]}"), "deconvolution");
  expect(body("[2,5,7,1]", "[5,1,4,4]", "[2,1,16,4]", "{strides=[2,2]}"), "deconvolution");
}

}  // namespace
}  // namespace tenon::passes
