// Block-wise evaluation of scalar expressions.
#include "backends/cpu/run/pointwise_runner.h"

#include <algorithm>
#include <cstring>

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
  joinRepeats();
  pieces_ = (space_.inner() + kBlock - 1) / kBlock;
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

// Operands per channel repeat over the pixels of a block of channels. Rows of one block would be short, so that the pixels
// join them, and such operands are repeated when they are loaded.
void PointwiseRunner::joinRepeats() {
  periods_.assign(space_.strides.size(), 0);
  const size_t axes = space_.extents.size();
  const int64_t inner = space_.inner();
  if (axes < 2 || kBlock % inner != 0) return;
  std::vector<int64_t> periods(space_.strides.size(), 0);
  for (size_t k = 0; k < space_.strides.size(); ++k) {
    const int64_t step = space_.strides[k].back();
    const int64_t next = space_.strides[k][axes - 2];
    if (next == step * inner) continue;
    if (k == 0 || next != 0 || step != 1) return;
    periods[k] = inner;
  }
  periods_ = std::move(periods);
  space_.extents.pop_back();
  space_.extents.back() *= inner;
  for (size_t k = 0; k < space_.strides.size(); ++k) {
    auto& strides = space_.strides[k];
    strides.pop_back();
    strides.back() /= periods_[k] > 0 ? 1 : inner;  // stays 0 for what repeats: a row's pieces begin with whole periods
  }
}

void PointwiseRunner::run(void* const* inputs, void* output) const {
  const int64_t total = space_.outer() * pieces_;
  const int64_t elements = std::max<int64_t>(1, std::min(kBlock, space_.inner()));
  platform::parallelFor(total, std::max<int64_t>(1, kGrainElements / elements),
                        [&](int64_t begin, int64_t end) { rows(inputs, output, begin, end); });
}

void PointwiseRunner::rows(void* const* inputs, void* output, int64_t begin, int64_t end) const {
  alignas(64) float buffers[kMaxBuffers * kBlock];
  for (size_t i = 0; i < literals_.size(); ++i) std::fill_n(buffers + (inputCount_ + i) * kBlock, kBlock, literals_[i]);
  std::array<int64_t, kMaxBuffers> offsets{};
  std::array<const char*, kMaxBuffers> in{};
  for (int64_t at = begin; at < end; ++at) {
    space_.offsets(at / pieces_, offsets.data());
    const int64_t first = at % pieces_ * kBlock;
    const int64_t count = std::min(kBlock, space_.inner() - first);
    for (size_t k = 0; k < inputCount_; ++k) {
      const int64_t offset = offsets[k + 1] + first * space_.strides[k + 1].back();
      in[k] = static_cast<const char*>(inputs[k]) + offset * (bits(inputTypes_[k]) / 8);
    }
    char* out = static_cast<char*>(output) + (offsets[0] + first * space_.strides[0].back()) * (bits(outputType_) / 8);
    block(in.data(), out, count, buffers);
  }
}

void PointwiseRunner::block(const char* const* in, char* out, int64_t count, float* buffers) const {
  const bool whole = count % static_cast<int64_t>(kLanes) == 0;
  const auto padded = (static_cast<size_t>(count) + kLanes - 1) / kLanes * kLanes;
  std::array<float*, kMaxBuffers> place{};
  for (size_t i = 0; i < bufferCount_; ++i) place[i] = buffers + i * kBlock;
  for (size_t k = 0; k < inputCount_; ++k) {
    const int64_t stride = space_.strides[k + 1].back();
    if (whole && stride == 1 && inputTypes_[k] == DataType::kF32) {
      place[k] = const_cast<float*>(reinterpret_cast<const float*>(in[k]));
      continue;
    }
    if (const int64_t period = periods_[k + 1]; period > 0) {
      load(inputTypes_[k], in[k], 1, std::min(period, count), place[k]);
      for (int64_t done = period; done < count; done *= 2) std::copy_n(place[k], std::min(done, count - done), place[k] + done);
    } else {
      load(inputTypes_[k], in[k], stride, count, place[k]);
    }
    std::fill(place[k] + count, place[k] + padded, 0.f);
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
