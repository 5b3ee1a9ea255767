// Tile shapes of image convolutions.
#include "backends/cuda/kernels/image_convolution/image_convolution.h"

#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/image_convolution/image_convolution_parameters.h"
#include "ops/op/composite.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostChannels = 4;
constexpr int64_t kMostTaps = 16;
constexpr size_t kMostSharedBytes = 48 << 10;  // without asking for more

// Function of tensor_core.cuh that computes a cast to halves, with or without the range held; null: none does.
const char* narrowOf(const ops::ScalarExpr& expr, DataType& half) {
  using ops::ScalarArgument;
  using ops::ScalarOp;
  if (expr.empty() || expr.instructions.back().op != ScalarOp::k_cast) return nullptr;
  half = expr.instructions.back().castTo;
  if (expr == ops::ScalarExpr::castTo(half))
    return half == DataType::kF16 || half == DataType::kBF16 ? "packed" : nullptr;
  constexpr double kGreatest = 65504;
  auto held = ops::ScalarExpr::of(ScalarOp::k_clip, {ScalarArgument::input(0), ScalarArgument::constant(-kGreatest),
                                                     ScalarArgument::constant(kGreatest)});
  held.instructions.push_back(ops::ScalarExpr::castTo(DataType::kF16).instructions[0]);
  held.instructions.back().arguments[0] = ScalarArgument::result(0);
  return expr == held ? "packedFinite" : nullptr;
}

}  // namespace

ImageOp::ImageOp(const ops::Operator& op) {
  if (const auto* whole = op.as<ops::Convolution>()) {
    convolution = *whole;
    return;
  }
  const auto* composite = op.as<ops::Composite>();
  refusal = "it computes convolutions, or composites of a cast and a convolution";
  if (composite == nullptr || composite->parts.size() != 2 || composite->outputs != std::vector<int32_t>{1}) return;
  const auto& [cast, castInputs] = composite->parts[0];
  const auto& [second, inputs] = composite->parts[1];
  const auto* pointwise = cast.as<ops::Pointwise>();
  const auto* behind = second.as<ops::Convolution>();
  if (pointwise == nullptr || behind == nullptr || castInputs != std::vector<int32_t>{0}) return;
  // Operands of the composite are those of the convolution, in order.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != (i == 0 ? -1 : static_cast<int32_t>(i))) return;
  }
  const char* function = narrowOf(pointwise->expr, half_);
  refusal = function == nullptr ? fmt::format("'{}' is not a cast to f16 or bf16", ops::text(pointwise->expr)) : "";
  if (function == nullptr) return;
  narrow = function;
  convolution = *behind;
}

std::string ImageOp::typesRefusal(std::span<const DataType> inputs) const {
  const DataType half = inputs[1];
  const bool isHalf = half == DataType::kF16 || half == DataType::kBF16;
  const bool fits = narrow.empty() ? inputs[0] == half : inputs[0] == DataType::kF32 && half == half_;
  return isHalf && fits
             ? ""
             : fmt::format("an input of {} and weights of {} are not supported", name(inputs[0]), name(half));
}

ImageForm::ImageForm(const ops::Convolution& op, const Dims& w) {
  if (w.rank != 4) refusal = fmt::format("{} spatial dimensions; only 2 are supported", w.rank - 2);
  else if (w[1] > kMostChannels) refusal = fmt::format("{} channels; at most {} are supported", w[1], kMostChannels);
  else if (op.groups != 1) refusal = fmt::format("{} groups", op.groups);
  else if (w.count() == 0) refusal = "the weights are empty";
  else if (w[0] % 8 != 0) refusal = fmt::format("{} output channels; only multiples of 8 are supported", w[0]);
  if (!refusal.empty()) return;
  outputs = w[0];
  channels = w[1];
  rows = w[2];
  columns = w[3];
  for (size_t i = 0; i < 2; ++i) {
    if (!op.strides.empty()) stride[i] = op.strides[i];
    if (!op.dilations.empty() && op.dilations[i] != 1) refusal = "dilations";
  }
  if (!op.prePadding.empty() && !op.prePadding[1].isConstant()) refusal = "the padding depends on a dynamic extent";
  if (!refusal.empty()) return;
  const int64_t padding = op.prePadding.empty() ? 0 : op.prePadding[1].constant();
  lead = padding & 1;
  taps = (columns + lead + 1) / 2 * 2;
  if (taps > kMostTaps) refusal = fmt::format("windows of {} columns are not supported", columns);
  // As many channels as there are, or fewer where their weights and the image do not fit.
  for (parts = 8; parts > 2 && (outputs <= 4 * parts || sharedBytes(parts) > kMostSharedBytes);) parts /= 2;
  if (refusal.empty() && sharedBytes() > kMostSharedBytes)
    refusal = fmt::format("the windows and tiles need {} bytes of shared memory, more than a block has", sharedBytes());
}

size_t ImageForm::sharedBytes(int64_t partsOfBlock) const {
  const int64_t pairs = ((kImageTileColumns - 1) * stride[1] + taps + 1) / 2;
  const int64_t words = channels * ((kImageTileRows - 1) * stride[0] + rows) * (pairs + (pairs % 2 == 0 ? 1 : 0));
  return static_cast<size_t>(steps() * partsOfBlock * 32 * 8 + (stride[1] % 2 == 0 ? 1 : 2) * words * 4);
}

std::vector<uint16_t> ImageForm::pack(const TensorView& w) const {
  checkInternal(bits(w.dtype) == 16, "weights of {} for a convolution in f16 or bf16", name(w.dtype));
  std::vector<uint16_t> result;
  result.reserve(static_cast<size_t>(groups() * steps() * parts * 32 * 4));
  const auto* from = w.as<uint16_t>();
  const int64_t group = std::min<int64_t>(parts, 4);  // parts whose channels lie together
  const auto weight = [&](int64_t output, int64_t k) -> uint16_t {
    const int64_t line = k / taps;
    const int64_t column = k % taps - lead;
    if (output >= outputs || line >= channels * rows || column < 0 || column >= columns) return 0;
    return from[(output * channels * rows + line) * columns + column];
  };
  for (int64_t block = 0; block < groups(); ++block) {
    for (int64_t i = 0; i < steps() * parts * 32; ++i) {
      const int64_t lane = i % 32;
      const int64_t part = i / 32 % parts;
      const int64_t step = i / 32 / parts;
      const int64_t column = lane / 4;  // of the right operand: a lane of the result has columns 2 t and 2 t + 1
      const int64_t output =
          block * 8 * parts + part / group * 8 * group + column / 2 * 2 * group + part % group * 2 + column % 2;
      for (int64_t half = 0; half < 4; ++half)
        result.push_back(weight(output, step * 16 + lane % 4 * 2 + half / 2 * 8 + half % 2));
    }
  }
  return result;
}

Code imageCode(const ImageForm& form, const ImageOp& op, const Types& types) {
  auto halves = types;
  halves.inputs.at(0) = types.inputs.at(1);
  auto code = directCode("image_convolution.cuh", "convolveImage", "ImageParameters", op.convolution.epilogue, halves,
                         types.inputs.size());
  code.defines.push_back(typeDefine("FROM", types.inputs[0]));
  code.defines.push_back(fmt::format("NARROW={}", op.narrow.empty() ? "packed" : op.narrow));
  const auto define = [&](const char* macro, int64_t value) {
    code.defines.push_back(fmt::format("{}={}", macro, value));
  };
  define("CHANNELS", form.channels);
  define("ROWS", form.rows);
  define("TAPS", form.taps);
  define("STRIDE_H", form.stride[0]);
  define("STRIDE_W", form.stride[1]);
  define("PARTS", form.parts);
  return code;
}

}  // namespace tenon::backends::cuda
