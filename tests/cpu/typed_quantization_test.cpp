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

// Every 8-bit float, and what lies between them, by quantization and by scalar work.
TEST(Quantization, EightBitFloats) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const auto& c : cases()) {
      for (const bool special : {false, true}) {
        const std::string names = special ? "%a, %b, %c" : "%a, %b";
        const auto fields =
            fmt::format("{} = quantize{{axis={} type=f8e4m3}}({}) \"q\"\n", shapeText(c.x), c.axis, names);
        auto inputs = listOf(variedTensor(type, c.x, 3, special), scalesOf(DataType::kF32, c.scale));
        if (special) inputs.push_back(zerosOf(DataType::kF8E4M3, c.scale));
        expectKernelMatches("  %y : f8e4m3" + fields, inputs, "quantize", "cpu.quantization", 0);
        auto back = listOf(variedTensor(DataType::kF8E4M3, c.x, 4, special), scalesOf(DataType::kF32, c.scale));
        if (special) back.push_back(zerosOf(DataType::kF8E4M3, c.scale));
        expectKernelMatches(fmt::format("  %y : {0}{1} = dequantize{{axis={2} type={0}}}({3}) \"d\"\n", name(type),
                                        shapeText(c.x), c.axis, names),
                            back, "dequantize", "cpu.quantization", type == DataType::kF32 ? 0 : 1e-2);
        if (HasFailure()) return;
      }
    }
  }
  HostTensor codes(DataType::kF8E4M3, Dims{256});
  for (int i = 0; i < 256; ++i) static_cast<uint8_t*>(codes.view().data)[i] = static_cast<uint8_t>(i);
  expectKernelMatches("  %y : f32[256] = pointwise{expr=\"cast.f32(x0);mul(t0,3)\"}(%a) \"p\"\n",
                      listOf(std::move(codes)), "pointwise", "cpu.pointwise", 0);
  HostTensor between(DataType::kF32, Dims{4099});
  for (int64_t i = 0; i < 4099; ++i) {  // halfway between codes, just beside, and beyond them
    const double exponent = std::exp2(static_cast<double>(i / 32 % 24) - 13);
    double value = (1 + static_cast<double>(i % 32) / 32) * exponent;
    if (i % 3 == 1) value = static_cast<double>(std::nextafter(static_cast<float>(value), 0.F));
    if (i % 3 == 2) value = static_cast<double>(std::nextafter(static_cast<float>(value), 1e9F));
    between.view().storeDouble(i, i % 7 == 0 ? -value : i == 11 ? NAN : i == 12 ? -INFINITY : value);
  }
  expectKernelMatches("  %y : f8e4m3[4099] = pointwise{expr=\"cast.f8e4m3(x0)\"}(%a) \"p\"\n",
                      listOf(std::move(between)), "pointwise", "cpu.pointwise", 0);
  expectKernelMatches(
      "  %y : f8e4m3[5,67] = pointwise{expr=\"add(x0,x1);max(t0,0)\"}(%a, %b) \"p\"\n",
      listOf(variedTensor(DataType::kF8E4M3, {5, 67}, 1, true), variedTensor(DataType::kF8E4M3, {5, 1}, 2)),
      "pointwise", "cpu.pointwise", 0);
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
