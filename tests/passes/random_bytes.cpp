// Random graphs: convolutions and products of quantized images.
#include "ops/op/byte_convolution.h"
#include "ops/op/byte_matmul.h"
#include "random_generator.h"
#include "support/build_and_run.h"

namespace tenon::passes {

// Of an image of i8 or u8, with any of what the operator has, or of its rows by a matrix; the result comes back as
// numbers.
bool Generator::byteConvolution(ValueId x) {
  if (pick(4) == 0) {
    const int64_t columns = 1 + pick(5);
    const DataType right = pick(2) == 0 ? DataType::kI8 : DataType::kU8;
    const auto zeros = pick(2) == 0 ? Dims{} : Dims{columns};
    const Dims matrix{shape(x).back().constant(), columns};
    if (!tryPut(ops::ByteMatMul{}, {x, weights(matrix, right), weights({}, type(x)), weights(zeros, right)}))
      return false;
    unaryOf("cast.f32(x0);mul(t0,0.0078125)", last_);
    return true;
  }
  ops::ByteConvolution op;
  const int64_t channels = shape(x)[1].constant();
  op.groups = pick(3) == 0 ? channels : 1;
  const int64_t out = op.groups * (1 + pick(3));
  Dims kernel{out, channels / std::max<int64_t>(op.groups, 1)};
  for (size_t i = 0; i < shape(x).size() - 2; ++i) {
    kernel.push(1 + pick(3));
    op.strides.push_back(1 + pick(2));
    op.dilations.push_back(1 + pick(2));
    op.prePadding.emplace_back(pick(4) - 1);
    op.postPadding.emplace_back(pick(4) - 1);
  }
  constexpr DataType kTypes[] = {DataType::kI32, DataType::kF32, DataType::kI8, DataType::kU8};
  op.type = kTypes[pick(4)];
  op.hasBias = pick(2) == 0;
  op.relu = op.isQuantized() && pick(2) == 0;
  const DataType filters = pick(2) == 0 ? DataType::kI8 : DataType::kU8;
  const auto perChannel = [&] { return pick(2) == 0 ? Dims{} : Dims{out}; };
  std::vector<ValueId> inputs{x, weights(kernel, filters), weights({}, type(x)), weights(perChannel(), filters)};
  if (op.hasBias)
    inputs.push_back(weights({out}, op.type != DataType::kI32 && pick(2) == 0 ? DataType::kF32 : DataType::kI32));
  if (op.type != DataType::kI32) inputs.push_back(weights(perChannel()));
  if (op.isQuantized()) inputs.push_back(weights({}, op.type));
  if (!tryPut(op, std::move(inputs))) return false;
  if (op.type != DataType::kF32) unaryOf("cast.f32(x0);mul(t0,0.0078125)", last_);
  return true;
}

// A convolution between dequantize and quantize nodes, as quantized networks are exported.
bool Generator::dequantizedConvolution(ValueId x, ValueId scale) {
  const int64_t channels = shape(x)[1].constant();
  const int64_t out = 1 + pick(4);
  const int64_t kernel = 1 + pick(2);
  if (graph_.value(scale).type.rank() != 0) return false;
  put(ops::Operator::parse("dequantize{}"), {x, scale});
  const ValueId real = last_;
  const bool isAlong = pick(2) == 0;
  put(ops::Operator::parse("dequantize{axis=0}"),
      {weights({out, channels, kernel, kernel}, DataType::kI8), isAlong ? weights({out}) : number(0.0371)});
  std::vector<ValueId> inputs{real, last_};
  const bool hasBias = pick(2) == 0;
  if (hasBias) inputs.push_back(weights({out}));
  const auto op = ops::Operator::parse(fmt::format("convolution{{prePadding=[1,1] hasBias={}}}", hasBias));
  if (!tryPut(op, std::move(inputs))) return false;
  if (pick(2) == 0) unaryOf(pick(2) == 0 ? "relu(x0)" : "clip(x0,0,6)", last_);
  if (pick(3) == 0) return true;
  const ValueId step = number(0.0213);
  put(ops::Operator::parse(pick(2) == 0 ? "quantize{type=u8}" : "quantize{type=i8}"), {last_, step});
  put(ops::Operator::parse("dequantize{}"), {last_, step});
  return true;
}

}  // namespace tenon::passes
