// Convolutions of row-major images, line by line and by turned images, against the reference: every stride, dilation,
// padding and number of axes that they tell apart.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

struct Shape {
  std::vector<int64_t> in, window, strides, dilations, before, after;
  int64_t batch, channels, outChannels, groups;
};

std::string list(const std::vector<int64_t>& values) {
  std::string result;
  for (const int64_t value : values) result += fmt::format("{}{}", result.empty() ? "" : ",", value);
  return "[" + result + "]";
}

struct Operands {
  Dims x, w, y;
};

Operands operandsOf(const Shape& c) {
  std::vector<int64_t> x{c.batch, c.channels}, w{c.outChannels, c.channels / c.groups}, y{c.batch, c.outChannels};
  for (size_t i = 0; i < c.in.size(); ++i) {
    x.push_back(c.in[i]);
    w.push_back(c.window[i]);
    y.push_back((c.in[i] + c.before[i] + c.after[i] - c.dilations[i] * (c.window[i] - 1) - 1) / c.strides[i] + 1);
  }
  return {Dims::of(x), Dims::of(w), Dims::of(y)};
}

std::string lineOf(const Shape& c, bool hasBias, const char* epilogue, const char* operands) {
  return fmt::format(
      "  %y : f32{} = convolution{{strides={} dilations={} prePadding={} postPadding={} groups={} hasBias={} epilogue=\"{}\"}}({}) \"op\"\n",
      shapeText(operandsOf(c).y), list(c.strides), list(c.dilations), list(c.before), list(c.after), c.groups, hasBias,
      epilogue, operands);
}

// Terms of about 4 are added; a sum of many may cancel.
double toleranceOf(const Dims& w) { return 2e-6 * (4 + std::sqrt(static_cast<double>(w.count(1, w.rank)))); }

void check(const Shape& c, bool hasBias, const char* epilogue) {
  const auto [x, w, y] = operandsOf(c);
  auto inputs = listOf(variedTensor(DataType::kF32, x, 1), variedTensor(DataType::kF32, w, 2));
  if (hasBias) inputs.push_back(variedTensor(DataType::kF32, Dims{c.outChannels}, 3));
  expectKernelMatches(lineOf(c, hasBias, epilogue, hasBias ? "%a, %b, %c" : "%a, %b"), inputs, "convolution",
                      "cpu.row_convolution", toleranceOf(w));
}

// Weights and bias are constants; an operand of the epilogue is as large as the result.
void checkPlanar(const Shape& c, bool hasBias, const char* epilogue, bool hasOperand) {
  const auto [x, w, y] = operandsOf(c);
  auto inputs = listOf(variedTensor(DataType::kF32, x, 1));
  if (hasOperand) inputs.push_back(variedTensor(DataType::kF32, y, 2));
  const auto operands = fmt::format("%a, %w{}{}", hasBias ? ", %bias" : "", hasOperand ? ", %b" : "");
  const auto constants =
      fmt::format("  const %w : f32{} = random(7)\n  const %bias : f32[{}] = random(8)\n", shapeText(w), c.outChannels);
  expectKernelMatches(constants + lineOf(c, hasBias, epilogue, operands.c_str()), inputs, "convolution",
                      "cpu.planar_convolution", toleranceOf(w));
}

TEST(RowConvolution, OfOneToThreeAxes) {
  const std::vector<Shape> shapes{
      {{9, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, 5, 5, 5},
      {{9, 7}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, 1, 4, 8, 4},
      {{20, 33}, {5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}, 1, 8, 1, 1},
      {{20, 33}, {3, 4}, {1, 3}, {2, 2}, {0, 3}, {4, 5}, 3, 3, 7, 1},
      {{6, 131}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 64, 3, 1},
      {{6, 131}, {7, 7}, {3, 3}, {1, 1}, {3, 3}, {3, 3}, 1, 2, 4, 2},
      {{1, 5000}, {1, 256}, {1, 2}, {1, 1}, {0, 0}, {0, 0}, 1, 1, 1, 1},
      {{1, 700}, {1, 200}, {1, 160}, {1, 1}, {0, 40}, {0, 90}, 1, 1, 6, 1},
      {{4, 4}, {9, 9}, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 1, 3, 3, 3},
      {{3, 3}, {2, 2}, {1, 1}, {3, 3}, {5, 6}, {7, 4}, 1, 1, 2, 1},
      {{300}, {31}, {1}, {1}, {15}, {15}, 2, 6, 6, 6},
      {{300}, {4}, {1}, {1}, {3}, {0}, 1, 6, 12, 6},
      {{5, 6, 19}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1, 4, 6, 2},
      {{5, 6, 19}, {3, 2, 3}, {2, 2, 2}, {1, 2, 1}, {1, 0, 1}, {1, 3, 1}, 2, 3, 5, 1},
      {{8, 9}, {3, 3}, {1, 1}, {1, 1}, {-1, -2}, {-1, 0}, 1, 2, 2, 1},
      {{8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 0, 2, 2, 1},
  };
  for (const auto& shape : shapes) {
    check(shape, true, "");
    check(shape, false, "relu(x0)");
    if (HasFailure()) return;
  }
}

TEST(PlanarConvolution, OfOneToThreeAxes) {
  const std::vector<Shape> shapes{
      {{640, 1}, {256, 1}, {128, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 1, 258, 1},
      {{640}, {256}, {128}, {1}, {3}, {7}, 2, 1, 33, 1},
      {{4, 1}, {3, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, 1, 129, 128, 1},
      {{1, 4}, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, 3, 17, 64, 1},
      {{1}, {1}, {1}, {1}, {0}, {0}, 1, 128, 31, 1},
      {{9, 7}, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2}, 1, 4, 8, 2},
      {{20, 33}, {3, 4}, {1, 3}, {2, 2}, {0, 3}, {4, 5}, 3, 3, 7, 1},
      {{6, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, 64, 40, 1},
      {{3, 3}, {2, 2}, {1, 1}, {3, 3}, {5, 6}, {7, 4}, 1, 1, 4, 1},
      {{5, 6, 19}, {3, 2, 3}, {2, 2, 2}, {1, 2, 1}, {1, 0, 1}, {1, 3, 1}, 2, 4, 8, 2},
      {{8, 9}, {3, 3}, {1, 1}, {1, 1}, {-1, -2}, {-1, 0}, 1, 2, 5, 1},
      {{8, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 0, 2, 4, 1},
      {{64, 64}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1, 1, 4, 1},
  };
  for (const auto& shape : shapes) {
    checkPlanar(shape, true, "", false);
    checkPlanar(shape, false, "relu(x0)", false);
    checkPlanar(shape, true, "sigmoid(x0)", false);
    checkPlanar(shape, true, "add(x0,x1);relu(t0)", true);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenon::test
