// Convolution of 8-bit integers against its reference, to the bit.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

struct Case {
  Dims x, w;
  std::string fields;
};

HostTensor scalesOf(int64_t count) {
  HostTensor result(DataType::kF32, count == 1 ? Dims{} : Dims{count});
  for (int64_t i = 0; i < count; ++i)
    result.view().storeDouble(i, 0.00037 * static_cast<double>(1 + i % 7) * (i % 5 == 4 ? -1 : 1));
  return result;
}

// Signs of both operands, types of results, one parameter or one for each channel, bias, relu in turns.
void expectMatches(const Case& c, uint64_t turn, bool isConstant) {
  const auto has = [&](uint64_t bit) { return (turn >> bit & 1U) != 0; };
  const DataType xType = has(0) ? DataType::kI8 : DataType::kU8;
  const DataType wType = has(1) ? DataType::kU8 : DataType::kI8;
  constexpr DataType kTypes[] = {DataType::kU8, DataType::kI32, DataType::kI8, DataType::kF32};
  const DataType type = kTypes[turn / 4 % 4];
  const int64_t outputs = c.w[0];
  const int64_t zeros = has(5) ? outputs : 1;
  const bool isQuantized = type == DataType::kU8 || type == DataType::kI8;
  auto inputs = listOf(variedTensor(xType, c.x, turn + 1));
  std::string weights;
  if (isConstant) {
    weights = fmt::format("  const %w : {}{} = random(7)\n", name(wType), shapeText(c.w));
  } else {
    inputs.push_back(variedTensor(wType, c.w, turn + 2));
  }
  std::string names = isConstant ? "%a, %w" : "%a, %b";
  const auto add = [&](HostTensor tensor) {
    names += fmt::format(", %{}", static_cast<char>('a' + inputs.size()));
    inputs.push_back(std::move(tensor));
  };
  add(variedTensor(xType, {1}, turn + 3));
  add(has(6) ? HostTensor(wType, {1}) : variedTensor(wType, zeros == 1 ? Dims{} : Dims{zeros}, turn + 4));
  if (has(4)) add(variedTensor(DataType::kI32, {outputs}, turn + 5));
  if (type != DataType::kI32) add(scalesOf(has(6) ? outputs : 1));
  if (isQuantized) add(variedTensor(type, {}, turn + 6));
  std::string fields = c.fields + (has(4) ? " hasBias=true" : "") +
                       (type != DataType::kI32 ? fmt::format(" type={}", name(type)) : "") +
                       (isQuantized && has(5) ? " relu=true" : "");
  const std::string text = fmt::format("byte_convolution{{{}}}", fields);
  std::vector<ops::TensorType> types;
  types.push_back({xType, toShape(c.x), {}});
  types.push_back({wType, toShape(c.w), {}});
  for (size_t i = isConstant ? 1 : 2; i < inputs.size(); ++i)
    types.push_back({inputs[i].view().dtype, toShape(inputs[i].view().dims), {}});
  const auto shape = ops::Operator::parse(text).infer("c", types)[0].shape;
  const auto line =
      fmt::format("{}  %y : {}{} = {}({}) \"c\"\n", weights, name(type), shapeText(evaluate(shape, {})), text, names);
  expectKernelMatches(line, inputs, "byte_convolution", "cpu.byte_convolution", 0);
}

const Case kCases[] = {
    {{1, 64, 9, 11}, {33, 64, 3, 3}, "prePadding=[1,1] postPadding=[1,1]"},
    {{2, 5, 8, 7}, {7, 5, 1, 1}, ""},
    {{2, 8, 9, 17}, {40, 8, 1, 1}, "strides=[2,2]"},
    {{1, 3, 23, 29}, {16, 3, 7, 7}, "strides=[2,2] prePadding=[3,3] postPadding=[3,3]"},
    {{1, 13, 12, 10}, {17, 13, 3, 2}, "dilations=[2,3] prePadding=[2,0] postPadding=[1,3]"},
    {{3, 12, 7, 7}, {8, 3, 3, 3}, "groups=4 prePadding=[1,1] postPadding=[1,1]"},
    {{1, 16, 6, 5}, {36, 8, 1, 3}, "groups=2"},
    {{1, 35, 10, 11}, {35, 1, 3, 3}, "groups=35 prePadding=[1,1] postPadding=[1,1]"},
    {{2, 300, 5, 6}, {300, 1, 2, 4}, "groups=300 strides=[2,1] postPadding=[1,2]"},
    {{1, 6, 9, 9}, {12, 1, 3, 3}, "groups=6"},
    {{2, 16, 9, 13}, {16, 1, 3, 3}, "groups=16 prePadding=[1,1] postPadding=[1,1]"},
    {{1, 7, 12, 67}, {7, 1, 3, 5}, "groups=7 strides=[2,1] prePadding=[1,2]"},
    {{1, 3, 5, 4}, {3, 1, 2, 2}, "groups=3"},
    {{1, 24, 5, 6}, {24, 1, 1, 1}, "groups=24"},
    {{67, 31, 1, 1}, {33, 31, 1, 1}, ""},
    {{2, 6, 11}, {5, 6, 4}, "strides=[3] prePadding=[2] postPadding=[1]"},
    {{1, 4, 5, 6, 7}, {18, 4, 2, 3, 3}, "strides=[1,2,1] prePadding=[1,0,1] postPadding=[0,1,1]"},
    {{1, 8, 9, 9}, {16, 8, 3, 3}, "prePadding=[-1,1] postPadding=[2,-2]"},
    {{0, 8, 9, 9}, {16, 8, 3, 3}, ""},
    {{1, 512, 3, 5}, {20, 512, 3, 3}, "prePadding=[1,1] postPadding=[1,1]"},
};

TEST(ByteConvolution, MatchesItsReference) {
  uint64_t turn = 0;
  for (const auto& c : kCases) {
    for (int variant = 0; variant < 16; ++variant, turn += 37) {
      expectMatches(c, turn, variant % 4 != 3);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tenon::test
