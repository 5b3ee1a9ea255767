// Convolution of quantized tensors: shape rule and reference in 64-bit integers.
#include "ops/op/byte_convolution.h"

#include <cmath>

#include "ops/contraction.h"
#include "ops/spatial.h"

namespace tenon::ops {
namespace {

bool isByte(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }

void checkParameter(const InferContext& context, size_t input, std::string_view role, DataType type,
                    const Extent* channels) {
  const auto& parameter = context.input(input);
  context.check(parameter.dtype == type, "{} of type {}, expected {}", role, name(parameter.dtype), name(type));
  context.check(parameter.rank() <= 1, "{} has shape {}, expected one element{}", role, text(parameter.shape),
                channels != nullptr ? " or one for each output channel" : "");
  if (parameter.rank() == 0 || parameter.shape[0].isConstant(1)) return;
  context.check(channels != nullptr, "{} has shape {}, expected one element", role, text(parameter.shape));
  context.merge(parameter.shape[0], *channels, role);
}

std::vector<int64_t> integersOf(const TensorView& tensor) {
  std::vector<int64_t> result(static_cast<size_t>(tensor.dims.count()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = tensor.loadInt(static_cast<int64_t>(i));
  return result;
}

}  // namespace

Facts ByteConvolution::facts() const { return {}; }

void ByteConvolution::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& w = context.input(1);
  const int axes = x.rank() - 2;
  const auto attributes = spatialAttributes(*this, static_cast<size_t>(std::max(axes, 0)));
  checkSpatial(context, attributes, axes);
  context.check(isByte(x.dtype) && isByte(w.dtype), "operands of types {} and {}, expected i8 or u8", name(x.dtype),
                name(w.dtype));
  context.check(isQuantized() || type == DataType::kI32 || type == DataType::kF32,
                "output type {}, expected i32, f32, i8 or u8", name(type));
  context.check(!relu || isQuantized(), "relu with output type {}, expected i8 or u8", name(type));
  context.check(w.rank() == x.rank(), "weights have shape {}, expected rank {} as the input {}", text(w.shape),
                x.rank(), text(x.shape));
  checkGroups(context, groups, x.shape[1], "input channels");
  checkGroups(context, groups, w.shape[0], "output channels");
  context.merge(x.shape[1], w.shape[1] * Extent(groups), "input channels and weights");
  checkParameter(context, 2, "the zero point of the input", x.dtype, nullptr);
  checkParameter(context, 3, "the zero point of the weights", w.dtype, &w.shape[0]);
  if (hasBias) {
    checkBias(context, 4, w.shape[0]);
    const DataType bias = context.input(4).dtype;
    context.check(bias == DataType::kI32 || (bias == DataType::kF32 && type != DataType::kI32),
                  "bias of type {} with output type {}, expected i32, or f32 where the output is not i32", name(bias),
                  name(type));
  }
  if (type != DataType::kI32) checkParameter(context, scaleInput(), "the scale", DataType::kF32, &w.shape[0]);
  if (isQuantized()) checkParameter(context, zeroInput(), "the zero point of the result", type, nullptr);
  Shape shape{x.shape[0], w.shape[0]};
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i)
    shape.push_back(windowedExtent(context, attributes, i, x.shape[i + 2], w.shape[i + 2], false));
  context.output(type, std::move(shape));
}

void ByteConvolution::evaluate(const EvalContext& context) const {
  const Dims& xDims = context.inputs[0].dims;
  const Dims& wDims = context.inputs[1].dims;
  const auto& out = context.outputs[0];
  const auto axes = static_cast<size_t>(xDims.rank - 2);
  const auto windows =
      makeWindows(context, spatialAttributes(*this, axes), out.dims, xDims, {wDims.begin() + 2, wDims.end()});
  const auto x = integersOf(context.inputs[0]);
  const auto w = integersOf(context.inputs[1]);
  const int64_t xZero = context.inputs[2].loadInt(0);
  const auto wZeros = integersOf(context.inputs[3]);
  const bool isReal = hasBias && context.inputs[4].dtype == DataType::kF32;  // the bias
  const auto biases = hasBias && !isReal ? integersOf(context.inputs[4]) : std::vector<int64_t>();
  const auto scaleOf = [&](int64_t k) {
    const auto& scale = context.inputs[scaleInput()];
    return static_cast<float>(scale.loadDouble(scale.dims.count() == 1 ? 0 : k));
  };
  const int64_t yZero = isQuantized() ? context.inputs[zeroInput()].loadInt(0) : 0;
  const auto low = static_cast<double>(relu ? yZero : type == DataType::kU8 ? 0 : -128);
  const int64_t plane = smallCount(windows);
  const int64_t inputPlane = largeCount(windows);
  const int64_t taps = kernelCount(windows);
  const int64_t groupInputs = wDims[1];
  const int64_t groupOutputs = std::max<int64_t>(out.dims[1] / groups, 1);
  const int64_t step = windows[2].stride;
  std::vector<int64_t> sums(static_cast<size_t>(plane));
  for (int64_t n = 0; n < out.dims[0]; ++n) {
    for (int64_t k = 0; k < out.dims[1]; ++k) {
      std::fill(sums.begin(), sums.end(), biases.empty() ? 0 : biases[static_cast<size_t>(k)]);
      const int64_t wZero = wZeros[wZeros.size() == 1 ? 0 : static_cast<size_t>(k)];
      for (int64_t c = 0; c < groupInputs; ++c) {
        const int64_t* const source = x.data() + (n * xDims[1] + k / groupOutputs * groupInputs + c) * inputPlane;
        const int64_t* const weights = w.data() + (k * groupInputs + c) * taps;
        eachRun(windows, [&](int64_t tap, int64_t small, int64_t large, int64_t count) {
          for (int64_t j = 0; j < count; ++j)
            sums[static_cast<size_t>(small + j)] += (weights[tap] - wZero) * (source[large + j * step] - xZero);
        });
      }
      const float scale = type == DataType::kI32 ? 1 : scaleOf(k);
      const float bias = isReal ? static_cast<float>(context.inputs[4].loadDouble(k)) : 0;
      for (int64_t i = 0; i < plane; ++i) {
        const int64_t at = (n * out.dims[1] + k) * plane + i;
        const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[static_cast<size_t>(i)]));
        const float real = std::fma(static_cast<float>(sum), scale, bias);
        if (type == DataType::kI32) {
          out.storeInt(at, sum);
        } else if (type == DataType::kF32) {
          out.storeDouble(at, static_cast<double>(real));
        } else {
          out.storeDouble(at, std::max(static_cast<double>(std::nearbyint(real)) + static_cast<double>(yZero), low));
        }
      }
    }
  }
}

OperatorInfo operatorInfo_byte_convolution() { return describe<ByteConvolution>(); }

}  // namespace tenon::ops
