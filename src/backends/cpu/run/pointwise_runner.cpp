// Block-wise evaluation of scalar expressions.
#include "backends/cpu/run/pointwise_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/run/pitch.h"
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

}  // namespace

PointwiseRunner::PointwiseRunner(ops::ScalarExpr expr) : expr_(std::move(expr)) {
  if (expr_.empty()) expr_ = ops::ScalarExpr::of(ops::ScalarOp::k_identity);
}

void PointwiseRunner::configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output) {
  inputCount_ = inputs.size();
  outputType_ = output.dtype;
  inputTypes_.clear();
  const int64_t block = channelBlock(output.format);
  std::vector<Strides> operands{pitchedWithinSplit(output, output.dims, block)};
  for (const auto& input : inputs) {
    inputTypes_.push_back(input.dtype);
    operands.push_back(pitchedWithinSplit(input, output.dims, block));
  }
  space_ = collapse(splitChannels(output.dims, block), operands);
  joinRows();
  literals_.clear();
  steps_.clear();
  for (const auto& instruction : expr_.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ops::ScalarArgument::Kind::kLiteral) literals_.push_back(static_cast<float>(argument.literal));
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
  bufferCount_ = static_cast<size_t>(firstResult) + steps_.size();
  checkInternal(bufferCount_ <= kMaxBuffers, "pointwise expression with {} operands and results", bufferCount_);
}

// A block of one short row is mostly overhead: scales of channels, attention masks, small images.
void PointwiseRunner::joinRows() {
  const int64_t inner = space_.inner();
  const size_t axes = space_.extents.size();
  rows_ = outerRows_ = 1;
  const bool joins = axes > 1 && inner > 0 && inner <= kBlock / 2 && space_.extents[axes - 2] > 0 &&
                     space_.strides[0].back() == 1 && space_.strides[0][axes - 2] == inner;
  if (!joins) {
    pieces_ = (inner + kBlock - 1) / kBlock;
    return;
  }
  outerRows_ = space_.extents[axes - 2];
  rows_ = std::min(kBlock / inner, outerRows_);
  const int64_t whole = static_cast<int64_t>(kLanes) / std::gcd(inner, static_cast<int64_t>(kLanes));  // rows that fill vectors
  if (rows_ > whole) rows_ -= rows_ % whole;
  pieces_ = (outerRows_ + rows_ - 1) / rows_;
}

void PointwiseRunner::run(void* const* inputs, void* output) const {
  const int64_t total = space_.outer() / outerRows_ * pieces_;
  const int64_t elements = std::max<int64_t>(1, std::min(kBlock, rows_ * space_.inner()));
  platform::parallelFor(total, std::max<int64_t>(1, kGrainElements / elements),
                        [&](int64_t begin, int64_t end) { pieces(inputs, output, begin, end); });
}

void PointwiseRunner::pieces(void* const* inputs, void* output, int64_t begin, int64_t end) const {
  alignas(64) float buffers[kMaxBuffers * kBlock];
  for (size_t i = 0; i < literals_.size(); ++i) std::fill_n(buffers + (inputCount_ + i) * kBlock, kBlock, literals_[i]);
  std::array<int64_t, kMaxBuffers> offsets{};
  Block piece;
  for (int64_t at = begin; at < end; ++at) {
    const bool joined = outerRows_ > 1;
    const int64_t firstRow = joined ? at % pieces_ * rows_ : 0;
    const int64_t first = joined ? 0 : at % pieces_ * kBlock;
    space_.offsets(at / pieces_ * outerRows_ + firstRow, offsets.data());
    piece.rows = joined ? std::min(rows_, outerRows_ - firstRow) : 1;
    piece.count = std::min(kBlock, space_.inner() - first);
    for (size_t k = 0; k < inputCount_; ++k) {
      const int64_t offset = offsets[k + 1] + first * space_.strides[k + 1].back();
      piece.in[k] = static_cast<const char*>(inputs[k]) + offset * (bits(inputTypes_[k]) / 8);
    }
    piece.out = static_cast<char*>(output) + (offsets[0] + first * space_.strides[0].back()) * (bits(outputType_) / 8);
    block(piece, buffers);
  }
}

// The operand's rows behind each other, and zeros up to a whole vector.
void PointwiseRunner::gather(Block& block, size_t operand, float* to) const {
  const int64_t all = block.rows * block.count;
  if (block.loaded[operand] == block.in[operand] && block.loadedCount[operand] == all) return;
  block.loaded[operand] = block.in[operand];
  block.loadedCount[operand] = all;
  const auto& strides = space_.strides[operand + 1];
  const int64_t step = block.rows > 1 ? strides[strides.size() - 2] * (bits(inputTypes_[operand]) / 8) : 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    load(inputTypes_[operand], block.in[operand] + r * step, strides.back(), block.count, to + r * block.count);
  }
  const auto lanes = static_cast<int64_t>(kLanes);
  std::fill(to + all, to + (all + lanes - 1) / lanes * lanes, 0.f);
}

void PointwiseRunner::block(Block& block, float* buffers) const {
  const int64_t count = block.rows * block.count;
  char* const out = block.out;
  const bool whole = count % static_cast<int64_t>(kLanes) == 0;
  const auto padded = (static_cast<size_t>(count) + kLanes - 1) / kLanes * kLanes;
  std::array<float*, kMaxBuffers> place{};
  for (size_t i = 0; i < bufferCount_; ++i) place[i] = buffers + i * kBlock;
  for (size_t k = 0; k < inputCount_; ++k) {
    const auto& strides = space_.strides[k + 1];
    const bool contiguous = strides.back() == 1 && (block.rows == 1 || strides[strides.size() - 2] == block.count);
    if (whole && contiguous && inputTypes_[k] == DataType::kF32) {
      place[k] = const_cast<float*>(reinterpret_cast<const float*>(block.in[k]));
    } else {
      gather(block, k, place[k]);
    }
  }
  const bool direct = whole && outputType_ == DataType::kF32 && space_.strides[0].back() == 1;
  if (direct) place[static_cast<size_t>(steps_.back().result)] = reinterpret_cast<float*>(out);
  for (const auto& step : steps_) {
    step.function(place[static_cast<size_t>(step.operands[0])], place[static_cast<size_t>(step.operands[1])],
                  place[static_cast<size_t>(step.operands[2])], place[static_cast<size_t>(step.result)], padded);
  }
  if (direct) return;
  const float* result = place[static_cast<size_t>(steps_.back().result)];
  const int64_t stride = space_.strides[0].back();
  if (outputType_ == DataType::kF32) {
    auto* to = reinterpret_cast<float*>(out);
    for (int64_t i = 0; i < count; ++i) to[i * stride] = result[i];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * stride] = result[i] != 0 ? 1 : 0;
  }
}

}  // namespace tenon::backends::cpu
