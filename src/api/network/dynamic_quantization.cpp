// Largest magnitudes by reshape and reduction; the rest is the operators of quantization with given scales.
#include "api/network/dynamic_quantization.h"

#include "ops/op/dequantize.h"
#include "ops/op/quantize.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

double largestOf(DataType type) {
  switch (type) {
    case DataType::kF8E4M3: return 448;
    case DataType::kF4E2M1: return 6;
    case DataType::kI8: return 127;
    default:
      throw Unsupported("dynamic quantization to {} is not supported; expected kFP8, kFP4 or kINT8", tenon::name(type));
  }
}

// One number per block, the largest magnitude in it, as f32.
Formula largestPerBlock(const Formula& x, const std::vector<int64_t>& block) {
  const LowerContext& context = x.context();
  context.check(block.size() == x.shape().size(), "the block shape has {} dimensions, the input has shape {}",
                block.size(), text(x.shape()));
  Shape split, blocks;
  std::vector<int64_t> within;
  for (size_t axis = 0; axis < block.size(); ++axis) {
    const Extent& extent = x.shape()[axis];
    context.check(block[axis] > 0 || block[axis] == -1,
                  "the block shape has {} elements along axis {}; expected 1 or more, or -1 for the whole axis",
                  block[axis], axis);
    const Extent size = block[axis] == -1 ? extent : Extent(block[axis]);
    const Extent count = block[axis] == -1 ? Extent(1) : floorDiv(extent, size);
    context.check(!extent.isConstant() || block[axis] == -1 || extent.constant() % block[axis] == 0,
                  "blocks of {} elements do not divide axis {} of the input {}", block[axis], axis, text(x.shape()));
    blocks.push_back(count);
    split.push_back(count);
    if (size.isConstant(1)) continue;
    within.push_back(static_cast<int64_t>(split.size()));
    split.push_back(size);
  }
  const Formula magnitudes = x.scalar(ScalarOp::k_abs).cast(DataType::kF32).reshape(std::move(split));
  return magnitudes.reduce(ops::ReduceOp::kMax, within, false).reshape(std::move(blocks));
}

struct Scales {
  Formula stored;
  Formula value;  // f32, what the stored ones stand for
};

Scales storeScales(const Formula& wanted, DataType type, const std::optional<Formula>& scaleOfScales) {
  LowerContext& context = wanted.context();
  if (type == DataType::kF8E4M3) {
    context.check(scaleOfScales.has_value(), "scales of kFP8 are quantized themselves; set their scale as input 1");
    context.check(product(scaleOfScales->shape()).isConstant(1) && isFloating(scaleOfScales->type()),
                  "the scale of the scales (input 1) is {} {}; expected one element of a floating type",
                  tenon::name(scaleOfScales->type()), text(scaleOfScales->shape()));
    const graph::ValueId second = scaleOfScales->cast(DataType::kF32).reshape({}).id();
    const Formula stored(context, context.add(ops::Quantize{-1, type}, {wanted.id(), second}));
    return {stored, {context, context.add(ops::Dequantize{-1, DataType::kF32}, {stored.id(), second})}};
  }
  context.check(!scaleOfScales, "input 1 is a scale for scales of kFP8; the scales have type {}", tenon::name(type));
  if (type == DataType::kE8M0) {
    const Formula nearest = wanted.cast(type).cast(DataType::kF32);
    const Formula power = where(nearest < wanted, nearest * 2.0, nearest);
    return {power.cast(type), power};
  }
  if (!isFloating(type) || bits(type) < 16) {
    throw Unsupported(
        "dynamic quantization with scales of {} is not supported; expected kFP8, kE8M0, kFLOAT, kHALF or kBF16",
        tenon::name(type));
  }
  const Formula stored = wanted.cast(type);
  return {stored, stored.cast(DataType::kF32)};
}

}  // namespace

DynamicallyQuantized quantizeDynamically(const Formula& x, const DynamicQuantization& how,
                                         const std::optional<Formula>& scaleOfScales) {
  LowerContext& context = x.context();
  context.check(isFloating(x.type()) && bits(x.type()) >= 16, "the input has type {}; expected kFLOAT, kHALF or kBF16",
                tenon::name(x.type()));
  context.check(x.rank() > 0, "the input has no dimensions; expected at least one");
  const double largest = largestOf(how.type);
  const Formula wanted = largestPerBlock(x, how.block) / largest;
  const Scales scales = storeScales(wanted, how.scaleType, scaleOfScales);
  // A block of zeros has the scale 0 and becomes zeros.
  const Formula divisor = where(scales.value > 0.0, scales.value, scales.value.number(1));
  // A list of scales would be one for each element of an axis: such data has a second axis meanwhile.
  const bool isList = x.rank() == 1;
  const Formula data = isList ? x.unsqueeze(0) : x;
  const Formula divisors = isList ? divisor.unsqueeze(0) : divisor;
  const Formula quantized(context, context.add(ops::Quantize{-1, how.type}, {data.id(), divisors.id()}));
  return {isList ? quantized.reshape(x.shape()) : quantized, scales.stored, divisor};
}

}  // namespace tenon::api
