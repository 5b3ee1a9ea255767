// Launches generated pointwise code over a collapsed index space.
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"

#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cuda {
namespace {

Code codeOf(const PointwiseForm& form) { return {"", {}, pointwiseSource(form)}; }

}  // namespace

GeneratedPointwise::GeneratedPointwise(const PointwiseForm& form, std::span<const std::byte> code)
    : module_(code, codeOf(form)),
      packed_(module_.function("tenon_pointwise_packed")),
      single_(module_.function("tenon_pointwise")),
      wide_(module_.function("tenon_pointwise_wide")),
      pack_(pointwisePack(form)) {}

void PointwiseLauncher::configure(std::span<const runtime::TensorShape> inputs,
                                  std::span<const runtime::TensorShape> outputs) {
  const auto& output = outputs[0];
  std::vector<Strides> operands;
  for (const auto& each : outputs) operands.push_back(stridesOf(each.dims, each.layout));
  for (const auto& input : inputs) operands.push_back(stridesWithin(input.dims, input.layout, output.dims));
  firstBytes_.clear();
  arrange(output.dims, operands, inputs, outputs);
}

// The axis becomes two, the half and the place within it; input 0 walks backward along the first of these.
void PointwiseLauncher::configureSwapped(std::span<const runtime::TensorShape> inputs,
                                         const runtime::TensorShape& output, int axis) {
  const Dims& whole = output.dims;
  const auto at = static_cast<size_t>(axis);
  const int64_t half = whole[axis] / 2;
  Dims space;
  for (int i = 0; i < whole.rank; ++i) {
    if (i == axis) space.push(2);
    space.push(i == axis ? half : whole[i]);
  }
  const auto split = [&](const Strides& strides) {
    Strides result{};
    for (size_t i = 0, to = 0; i < static_cast<size_t>(whole.rank); ++i) {
      if (i == at) result[to++] = strides[i] * half;
      result[to++] = strides[i];
    }
    return result;
  };
  std::vector<Strides> operands{split(stridesOf(whole, output.layout))};
  for (const auto& input : inputs) operands.push_back(split(stridesWithin(input.dims, input.layout, whole)));
  auto& swapped = operands[1][at];
  firstBytes_ = {swapped * bits(inputs[0].dtype) / 8};
  swapped = -swapped;
  arrange(space, operands, inputs, std::span(&output, 1));
}

void PointwiseLauncher::configureSliced(std::span<const runtime::TensorShape> inputs,
                                        std::span<const runtime::TensorShape> outputs, int axis,
                                        std::span<const int64_t> starts) {
  const auto& output = outputs[0];
  std::vector<Strides> operands;
  for (const auto& each : outputs) operands.push_back(stridesOf(each.dims, each.layout));
  firstBytes_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = inputs[i];
    const bool isSliced = starts[i] >= 0;
    operands.push_back(isSliced ? stridesOf(input.dims, input.layout)
                                : stridesWithin(input.dims, input.layout, output.dims));
    firstBytes_.push_back(isSliced ? starts[i] * operands.back()[static_cast<size_t>(axis)] * bits(input.dtype) / 8
                                   : 0);
  }
  arrange(output.dims, operands, inputs, outputs);
}

void PointwiseLauncher::arrange(const Dims& space, const std::vector<Strides>& operands,
                                std::span<const runtime::TensorShape> inputs,
                                std::span<const runtime::TensorShape> outputs) {
  space_ = collapse(space, operands);
  count_ = space.count();
  parameters_ = {};
  const int pack = code_->pack();
  // Where all of it is one line, the elements behind the last whole pack are computed singly.
  tail_ = space_.extents.size() == 1 && count_ >= pack ? count_ % pack : 0;
  packs_ = space_;
  packs_.extents.back() -= tail_;
  packable_ = packWidth(packs_, pack) == pack && count_ / pack < int64_t{1} << 31;
  packed_ = packable_;
  fillSpace();
  outputs_ = outputs.size();
  packBytes_.clear();
  for (const auto& each : outputs) packBytes_.push_back(static_cast<size_t>(pack * bits(each.dtype) / 8));
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool still = space_.strides[outputs_ + k].back() == 0;
    packBytes_.push_back(still ? 1 : static_cast<size_t>(pack * bits(inputs[k].dtype) / 8));
  }
}

void PointwiseLauncher::fillSpace() {
  setSpace(parameters_.space, packed_ ? packs_ : space_, packed_ ? code_->pack() : 1);
  parameters_.tail = packed_ ? tail_ : 0;
}

bool PointwiseLauncher::packs() const {
  if (!packable_) return false;
  for (size_t k = 0; k < packBytes_.size(); ++k) {
    if (!isAligned(parameters_.data[k], packBytes_[k])) return false;
  }
  return true;
}

void PointwiseLauncher::launch(void* const* inputs, void* const* outputs, void* stream) {
  if (count_ == 0) return;
  for (size_t k = 0; k < packBytes_.size(); ++k) parameters_.data[k] = k < outputs_ ? outputs[k] : inputs[k - outputs_];
  for (size_t k = 0; k < firstBytes_.size(); ++k)
    parameters_.data[outputs_ + k] = static_cast<std::byte*>(inputs[k]) + firstBytes_[k];
  const bool packed = packs();
  if (packed != packed_) {
    packed_ = packed;
    fillSpace();
  }
  const auto function = packed ? code_->packed() : isWide(parameters_.space) ? code_->wide() : code_->single();
  const int64_t threads = parameters_.space.count + parameters_.tail;
  launchThreads(function, threads, &parameters_, stream, blockSize(threads));
}

}  // namespace tenon::backends::cuda
