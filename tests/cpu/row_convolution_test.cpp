// Convolution line by line against the reference: every stride, dilation, padding and number of axes that its lines
// tell apart.
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

void check(const Shape& c, bool hasBias, const char* epilogue) {
  std::vector<int64_t> x{c.batch, c.channels}, w{c.outChannels, c.channels / c.groups}, y{c.batch, c.outChannels};
  for (size_t i = 0; i < c.in.size(); ++i) {
    x.push_back(c.in[i]);
    w.push_back(c.window[i]);
    y.push_back((c.in[i] + c.before[i] + c.after[i] - c.dilations[i] * (c.window[i] - 1) - 1) / c.strides[i] + 1);
  }
  const auto line = fmt::format(
      "  %y : f32{} = convolution{{strides={} dilations={} prePadding={} postPadding={} groups={} hasBias={} epilogue=\"{}\"}}({}) \"op\"\n",
      list(y), list(c.strides), list(c.dilations), list(c.before), list(c.after), c.groups, hasBias, epilogue,
      hasBias ? "%a, %b, %c" : "%a, %b");
  auto inputs = listOf(variedTensor(DataType::kF32, Dims::of(x), 1), variedTensor(DataType::kF32, Dims::of(w), 2));
  if (hasBias) inputs.push_back(variedTensor(DataType::kF32, Dims{c.outChannels}, 3));
  // Terms of about 4 are added; a sum of many may cancel.
  double terms = 1;
  for (size_t i = 1; i < w.size(); ++i) terms *= static_cast<double>(w[i]);
  expectKernelMatches(line, inputs, "convolution", "cpu.row_convolution", 2e-6 * (4 + std::sqrt(terms)));
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

}  // namespace
}  // namespace tenon::test
