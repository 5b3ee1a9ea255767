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
constexpr int64_t kLeastPooledParts = 4;
constexpr size_t kMostSharedBytes = 48 << 10;  // without asking for more
constexpr size_t kMostPooledBytes = 64 << 10;  // of three blocks side by side

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
  if (const auto* whole = op.as<ops::Convolution>()) convolution = *whole;
  else refusal = readComposite(op);
}

std::string ImageOp::readComposite(const ops::Operator& op) {
  const std::string other = "it computes convolutions, or composites of a cast, a convolution and a maximum of windows";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() < 2 || composite->parts.size() > 3) return other;
  const auto& parts = composite->parts;
  const int32_t last = static_cast<int32_t>(parts.size()) - 1;
  const size_t at = parts[0].op.as<ops::Pointwise>() != nullptr ? 1 : 0;  // the convolution's place
  if (composite->outputs != std::vector<int32_t>{last} || parts[at].op.as<ops::Convolution>() == nullptr) return other;
  convolution = *parts[at].op.as<ops::Convolution>();
  // Operands of the composite are those of the convolution, in order.
  for (size_t i = 0; i < parts[at].inputs.size(); ++i) {
    if (parts[at].inputs[i] != (i == 0 && at == 1 ? -1 : static_cast<int32_t>(i))) return other;
  }
  if (at + 1 < parts.size()) {
    const auto* behind = parts[at + 1].op.as<ops::Pooling>();
    if (behind == nullptr || parts[at + 1].inputs != std::vector<int32_t>{-last} || at + 2 != parts.size())
      return other;
    const auto fits = [](int64_t cells) { return cells == 2 || cells == 3; };
    if (behind->type != ops::PoolingType::kMax || behind->isDilated() || behind->window.size() != 2 ||
        !fits(behind->window[0]) || !fits(behind->window[1]) ||
        behind->strides != std::vector<int64_t>{kImagePoolStride, kImagePoolStride})
      return fmt::format("windows of '{}'; maxima of 2 or 3 cells, 2 apart, are supported", parts[at + 1].op.text());
    pooling = *behind;
  }
  if (at == 0) return {};
  const auto& expr = parts[0].op.as<ops::Pointwise>()->expr;
  if (parts[0].inputs != std::vector<int32_t>{0}) return other;
  const char* function = narrowOf(expr, half_);
  if (function == nullptr) return fmt::format("'{}' is not a cast to f16 or bf16", ops::text(expr));
  narrow = function;
  return {};
}

std::string ImageOp::typesRefusal(std::span<const DataType> inputs) const {
  const DataType half = inputs[1];
  const bool isHalf = half == DataType::kF16 || half == DataType::kBF16;
  const bool fits = narrow.empty() ? inputs[0] == half : inputs[0] == DataType::kF32 && half == half_;
  return isHalf && fits
             ? ""
             : fmt::format("an input of {} and weights of {} are not supported", name(inputs[0]), name(half));
}

ImageForm::ImageForm(const ImageOp& image, const Dims& w) {
  const auto& op = image.convolution;
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
  if (image.pooling) {
    pool = {image.pooling->window[0], image.pooling->window[1]};
    // Strips that begin at an odd place would begin at an odd column of the image.
    if (stride[1] % 2 != 0) refusal = fmt::format("windows behind a stride of {}", stride[1]);
  }
  // As many channels as there are, or fewer where their weights and the image do not fit.
  const size_t most = image.pooling ? kMostPooledBytes : kMostSharedBytes;
  for (parts = 8; parts > 2 && (outputs <= 4 * parts || sharedBytes(parts) > most);) parts /= 2;
  if (refusal.empty() && sharedBytes() > most)
    refusal = fmt::format("the windows and tiles need {} bytes of shared memory, more than a block has", sharedBytes());
  if (refusal.empty() && image.pooling && parts < kLeastPooledParts)
    refusal = fmt::format("windows behind {} channels of a block", 8 * parts);
}

int64_t ImageForm::halvesOfBlock(int64_t partsOfBlock) const {
  return partsOfBlock == kImageGroupParts ? panels() * 8 * partsOfBlock * kHalvesOfRow
                                          : steps() * partsOfBlock * 32 * 4;
}

size_t ImageForm::sharedBytes(int64_t partsOfBlock) const {
  const int64_t pairs = ((kImageTileColumns - 1) * stride[1] + taps + 1) / 2;
  const int64_t words = channels * ((kImageTileRows - 1) * stride[0] + rows) * (pairs + (pairs % 2 == 0 ? 1 : 0));
  const int64_t patch = halvesOfBlock(partsOfBlock) * 2 + (stride[1] % 2 == 0 ? 1 : 2) * words * 4;
  if (pool[0] == 0) return static_cast<size_t>(patch);
  const int64_t ring = (kImageTileRows + pool[0] - 1) * kImageTileColumns * partsOfBlock * 16;
  return static_cast<size_t>((patch + 15) / 16 * 16 + ring);
}

std::vector<uint16_t> ImageForm::pack(const TensorView& w) const {
  checkInternal(bits(w.dtype) == 16, "weights of {} for a convolution in f16 or bf16", name(w.dtype));
  std::vector<uint16_t> result;
  result.reserve(packedBytes() / sizeof(uint16_t));
  const auto* from = w.as<uint16_t>();
  const int64_t group = std::min<int64_t>(parts, 4);  // parts whose channels lie together
  // Of column `place` of a part: a lane of the result has columns 2 t and 2 t + 1 of each.
  const auto add = [&](int64_t block, int64_t part, int64_t place, int64_t k) {
    const int64_t output =
        block * 8 * parts + part / group * 8 * group + place / 2 * 2 * group + part % group * 2 + place % 2;
    const int64_t line = k / taps;
    const int64_t column = k % taps - lead;
    const bool exists = output < outputs && line < channels * rows && column >= 0 && column < columns;
    result.push_back(exists ? from[(output * channels * rows + line) * columns + column] : uint16_t{0});
  };
  for (int64_t block = 0; block < groups(); ++block) {
    for (int64_t i = 0; i < halvesOfBlock(parts); ++i) {
      if (parts == kImageGroupParts) {
        const int64_t row = i / kHalvesOfRow % (8 * parts);
        const int64_t piece = i % kHalvesOfRow / 8 ^ row % 8;  // as warp_group.cuh has rows
        const int64_t panel = i / kHalvesOfRow / (8 * parts);
        add(block, row / 8, row % 8, panel * kHalvesOfRow + piece * 8 + i % 8);
      } else {
        const int64_t lane = i / 4 % 32;
        const int64_t step = i / 4 / 32 / parts;
        add(block, i / 4 / 32 % parts, lane / 4, step * 16 + lane % 4 * 2 + i % 4 / 2 * 8 + i % 2);
      }
    }
  }
  return result;
}

Code imageCode(const ImageForm& form, const ImageOp& op, const Types& types) {
  auto halves = types;
  halves.inputs.at(0) = types.inputs.at(1);
  auto code = op.pooling ? directCode("image_pooling.cuh", "convolveAndPool", "ImagePoolingParameters",
                                      op.convolution.epilogue, halves, types.inputs.size())
                         : directCode("image_convolution.cuh", "convolveImage", "ImageParameters",
                                      op.convolution.epilogue, halves, types.inputs.size());
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
  if (!op.pooling) return code;
  define("POOL_H", form.pool[0]);
  define("POOL_W", form.pool[1]);
  return code;
}

}  // namespace tenon::backends::cuda
