// Block-wise evaluation of scalar expressions.
#include "backends/cpu/kernels/common/pointwise_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/common/pitch.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "core/storage.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrainElements = 16384;  // a thread is worth waking for about this many

// Loads `count` elements with the given stride (0, 1 or other) as f32.
void load(DataType type, const char* from, int64_t stride, int64_t count, float* to) {
  if (type == DataType::kF32) {
    const auto* source = reinterpret_cast<const float*>(from);
    if (stride == 0) {
      std::fill_n(to, count, *source);
    } else if (stride == 1) {
      std::memcpy(to, source, static_cast<size_t>(count) * sizeof(float));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = source[i * stride];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride] != 0 ? 1.f : 0.f;
}

void store(DataType type, const float* from, char* to, int64_t stride, int64_t count) {
  if (type == DataType::kF32) {
    auto* place = reinterpret_cast<float*>(to);
    for (int64_t i = 0; i < count; ++i) place[i * stride] = from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = from[i] != 0 ? 1 : 0;
  }
}

int64_t padded(int64_t count) {
  constexpr auto kWhole = static_cast<int64_t>(kLanes);
  return (count + kWhole - 1) / kWhole * kWhole;
}

}  // namespace

PointwiseRunner::PointwiseRunner(ops::ScalarExpr expr, std::vector<int64_t> results)
    : expr_(std::move(expr)), results_(std::move(results)) {
  if (expr_.empty()) expr_ = ops::ScalarExpr::of(ops::ScalarOp::k_identity);
  if (results_.empty()) results_ = {static_cast<int64_t>(expr_.instructions.size()) - 1};
}

void PointwiseRunner::configure(std::span<const runtime::TensorShape> inputs,
                                std::span<const runtime::TensorShape> outputs) {
  inputCount_ = inputs.size();
  outputs_.clear();
  inputTypes_.clear();
  const Dims& dims = outputs[0].dims;
  const int64_t block = channelBlock(outputs[0].layout);
  std::vector<Strides> operands;
  for (const auto& output : outputs) {
    outputs_.push_back({output.dtype, 0});
    operands.push_back(pitchedWithinSplit(output, dims, block));
  }
  for (const auto& input : inputs) {
    inputTypes_.push_back(input.dtype);
    operands.push_back(pitchedWithinSplit(input, dims, block));
  }
  space_ = collapse(splitChannels(dims, block), operands);
  joinRows();
  literals_.clear();
  steps_.clear();
  for (const auto& instruction : expr_.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ops::ScalarArgument::Kind::kLiteral)
        literals_.push_back(static_cast<float>(argument.literal));
    }
  }
  const int firstLiteral = static_cast<int>(inputCount_);
  const int firstResult = firstLiteral + static_cast<int>(literals_.size());
  int literal = firstLiteral;
  for (const auto& instruction : expr_.instructions) {
    Step step;
    step.function = vectorFunction(instruction.op);
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      auto& operand = step.operands[static_cast<size_t>(i)];
      switch (argument.kind) {
        case ops::ScalarArgument::Kind::kInput: operand = argument.index; break;
        case ops::ScalarArgument::Kind::kResult: operand = firstResult + argument.index; break;
        case ops::ScalarArgument::Kind::kLiteral: operand = literal++; break;
      }
    }
    step.result = firstResult + static_cast<int>(steps_.size());
    steps_.push_back(step);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].buffer = static_cast<size_t>(firstResult + results_[i]);
  bufferCount_ = static_cast<size_t>(firstResult) + steps_.size();
  checkInternal(bufferCount_ <= kMaxBuffers, "pointwise expression with {} operands and results", bufferCount_);
}

// A block of one short row is mostly overhead: scales of channels, attention masks, small images.
void PointwiseRunner::joinRows() {
  const int64_t inner = space_.inner();
  const size_t axes = space_.extents.size();
  rows_ = outerRows_ = 1;
  bool joins = axes > 1 && inner > 0 && inner <= kBlock / 2 && space_.extents[axes - 2] > 0;
  for (size_t j = 0; joins && j < outputs_.size(); ++j) {
    joins = space_.strides[j].back() == 1 && space_.strides[j][axes - 2] == inner;
  }
  if (!joins) {
    pieces_ = (inner + kBlock - 1) / kBlock;
    return;
  }
  outerRows_ = space_.extents[axes - 2];
  rows_ = std::min(kBlock / inner, outerRows_);
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t whole = lanes / std::gcd(inner, lanes);  // rows that fill vectors
  if (rows_ > whole) rows_ -= rows_ % whole;
  pieces_ = (outerRows_ + rows_ - 1) / rows_;
}

void PointwiseRunner::run(void* const* inputs, void* const* outputs) const {
  const int64_t total = space_.outer() / outerRows_ * pieces_;
  const int64_t elements = std::max<int64_t>(1, std::min(kBlock, rows_ * space_.inner()));
  platform::parallelFor(total, std::max<int64_t>(1, kGrainElements / elements),
                        [&](int64_t begin, int64_t end) { pieces(inputs, outputs, begin, end); });
}

void PointwiseRunner::pieces(void* const* inputs, void* const* outputs, int64_t begin, int64_t end) const {
  alignas(64) float buffers[kMaxBuffers * kBlock];
  prepare(buffers);
  std::array<int64_t, kMaxBuffers> offsets{};
  Block piece;
  const size_t outputCount = outputs_.size();
  for (int64_t at = begin; at < end; ++at) {
    const bool joined = outerRows_ > 1;
    const int64_t firstRow = joined ? at % pieces_ * rows_ : 0;
    const int64_t first = joined ? 0 : at % pieces_ * kBlock;
    space_.offsets(at / pieces_ * outerRows_ + firstRow, offsets.data());
    piece.rows = joined ? std::min(rows_, outerRows_ - firstRow) : 1;
    piece.count = std::min(kBlock, space_.inner() - first);
    for (size_t k = 0; k < inputCount_; ++k) {
      const int64_t offset = offsets[outputCount + k] + first * inputStrides(k).back();
      piece.in[k] = static_cast<const char*>(inputs[k]) + offset * (bits(inputTypes_[k]) / 8);
    }
    for (size_t j = 0; j < outputCount; ++j) {
      const int64_t offset = offsets[j] + first * space_.strides[j].back();
      piece.out[j] = static_cast<char*>(outputs[j]) + offset * (bits(outputs_[j].type) / 8);
    }
    block(piece, buffers);
  }
}

void PointwiseRunner::prepare(float* scratch) const {
  for (size_t i = 0; i < literals_.size(); ++i) std::fill_n(scratch + (inputCount_ + i) * kBlock, kBlock, literals_[i]);
}

PointwiseRunner::Places PointwiseRunner::buffersAt(float* scratch) const {
  Places place{};
  for (size_t i = 0; i < bufferCount_; ++i) place[i] = scratch + i * kBlock;
  return place;
}

// The operand's rows behind each other, and zeros up to a whole vector.
void PointwiseRunner::gather(Block& block, size_t operand, float* to) const {
  const int64_t all = block.rows * block.count;
  if (block.loaded[operand] == block.in[operand] && block.loadedCount[operand] == all) return;
  block.loaded[operand] = block.in[operand];
  block.loadedCount[operand] = all;
  const auto& strides = inputStrides(operand);
  const int64_t step = block.rows > 1 ? strides[strides.size() - 2] * (bits(inputTypes_[operand]) / 8) : 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    load(inputTypes_[operand], block.in[operand] + r * step, strides.back(), block.count, to + r * block.count);
  }
  std::fill(to + all, to + padded(all), 0.f);
}

void PointwiseRunner::compute(const Places& place, size_t count) const {
  for (const auto& step : steps_) {
    step.function(place[static_cast<size_t>(step.operands[0])], place[static_cast<size_t>(step.operands[1])],
                  place[static_cast<size_t>(step.operands[2])], place[static_cast<size_t>(step.result)], count);
  }
}

const float* PointwiseRunner::values(const char* const* in, const int64_t* strides, int64_t count,
                                     float* scratch) const {
  Places place = buffersAt(scratch);
  for (size_t k = 0; k < inputCount_; ++k) {
    if (count == padded(count) && strides[k] == 1 && inputTypes_[k] == DataType::kF32) {
      place[k] = const_cast<float*>(reinterpret_cast<const float*>(in[k]));
      continue;
    }
    load(inputTypes_[k], in[k], strides[k], count, place[k]);
    std::fill(place[k] + count, place[k] + padded(count), 0.f);
  }
  compute(place, static_cast<size_t>(padded(count)));
  return place[static_cast<size_t>(steps_.back().result)];
}

void PointwiseRunner::block(Block& block, float* buffers) const {
  const int64_t count = block.rows * block.count;
  const bool whole = count == padded(count);
  Places place = buffersAt(buffers);
  for (size_t k = 0; k < inputCount_; ++k) {
    const auto& strides = inputStrides(k);
    const bool contiguous = strides.back() == 1 && (block.rows == 1 || strides[strides.size() - 2] == block.count);
    if (whole && contiguous && inputTypes_[k] == DataType::kF32) {
      place[k] = const_cast<float*>(reinterpret_cast<const float*>(block.in[k]));
    } else {
      gather(block, k, place[k]);
    }
  }
  const auto isDirect = [&](size_t j) {
    return whole && outputs_[j].type == DataType::kF32 && space_.strides[j].back() == 1;
  };
  for (size_t j = 0; j < outputs_.size(); ++j) {
    if (isDirect(j)) place[outputs_[j].buffer] = reinterpret_cast<float*>(block.out[j]);
  }
  compute(place, static_cast<size_t>(padded(count)));
  for (size_t j = 0; j < outputs_.size(); ++j) {
    if (!isDirect(j)) store(outputs_[j].type, place[outputs_[j].buffer], block.out[j], space_.strides[j].back(), count);
  }
}

}  // namespace tenon::backends::cpu
