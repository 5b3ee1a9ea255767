// Quantization and its inverse with scales per tensor, axis and block, against the reference.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

HostTensor scalesOf(DataType type, const Dims& dims) {
  HostTensor tensor(type, dims);
  for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeDouble(i, 0.02 + 0.003 * static_cast<double>(i % 17));
  return tensor;
}

HostTensor zerosOf(DataType type, const Dims& dims) {
  HostTensor tensor(type, dims);
  for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeInt(i, i * 7 % 23);
  return tensor;
}

struct Scales {
  Dims x, scale;
  int axis;
};

const std::vector<Scales>& cases() {
  static const std::vector<Scales> kCases{
      {Dims{3, 5, 131}, Dims{}, -1},        {Dims{3, 5, 131}, Dims{3}, 0},     {Dims{3, 5, 131}, Dims{5}, 1},
      {Dims{3, 5, 131}, Dims{131}, 2},      {Dims{0, 5, 131}, Dims{5}, 1},     {Dims{6, 8, 64}, Dims{3, 2, 4}, 0},
      {Dims{6, 8, 5000}, Dims{6, 8, 1}, 0}, {Dims{4, 6}, Dims{4, 6}, 0},       {Dims{1, (1 << 16) + 3}, Dims{1}, 0},
      {Dims{2, 9001}, Dims{9001}, -1},      {Dims{4, 6, 1}, Dims{2, 6, 1}, 0},
  };
  return kCases;
}

TEST(Quantization, BytesFromEveryFloat) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const auto narrow : {DataType::kI8, DataType::kU8}) {
      for (const auto& c : cases()) {
        for (const bool special : {false, true}) {
          const auto line = fmt::format("  %y : {}{} = quantize{{axis={} type={}}}({}) \"q\"\n", name(narrow),
                                        shapeText(c.x), c.axis, name(narrow), special ? "%a, %b, %c" : "%a, %b");
          auto inputs = listOf(variedTensor(type, c.x, 3, special), scalesOf(DataType::kF32, c.scale));
          if (special) inputs.push_back(zerosOf(narrow, c.scale));
          expectKernelMatches(line, inputs, "quantize", "cpu.quantization", 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Near the middle between two numbers a quotient in f32 is on it where one in double is not.
TEST(Quantization, Ties) {
  HostTensor x(DataType::kF32, Dims{4096});
  for (int64_t i = 0; i < 4096; ++i) {
    const auto tie = static_cast<float>((static_cast<double>(i % 512) - 255.5) * 0.1);
    x.view().storeDouble(i, static_cast<double>(i % 3 == 0   ? tie
                                                : i % 3 == 1 ? std::nextafter(tie, 100.f)
                                                             : std::nextafter(tie, -100.f)));
  }
  HostTensor scale(DataType::kF32, Dims{});
  scale.view().storeDouble(0, static_cast<double>(0.1f));
  expectKernelMatches("  %y : i8[4096] = quantize{type=i8}(%a, %b) \"q\"\n", listOf(std::move(x), std::move(scale)),
                      "quantize", "cpu.quantization", 0);
}

TEST(Quantization, FloatsFromBytesAndI32) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const auto narrow : {DataType::kI8, DataType::kU8, DataType::kI32}) {
      for (const auto& c : cases()) {
        for (const bool hasZero : {false, true}) {
          const auto line = fmt::format("  %y : {}{} = dequantize{{axis={} type={}}}({}) \"q\"\n", name(type),
                                        shapeText(c.x), c.axis, name(type), hasZero ? "%a, %b, %c" : "%a, %b");
          auto inputs = listOf(zerosOf(narrow, c.x), scalesOf(DataType::kF32, c.scale));
          if (hasZero) inputs.push_back(zerosOf(narrow, c.scale));
          expectKernelMatches(line, inputs, "dequantize", "cpu.quantization", toleranceOf(type));
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
