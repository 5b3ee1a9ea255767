// Epilogues of tiles: in registers where they are a sum and a clamp, else vector functions over a small buffer.
#include "backends/cpu/run/tile_epilogue.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenon::backends::cpu {
namespace {

using ops::ScalarArgument;
using ops::ScalarOp;
using Kind = ScalarArgument::Kind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

bool classifyOperand(const Dims& operand, const Dims& output, int columnAxis, TileEpilogue::Operand& result) {
  if (operand.count() == 1) {
    result = TileEpilogue::Operand::kValue;
    return true;
  }
  if (operand == output) {
    result = TileEpilogue::Operand::kMatrix;
    return true;
  }
  const int shift = output.rank - operand.rank;
  for (int axis = 0; axis < operand.rank; ++axis) {
    if (operand[axis] != (axis + shift == columnAxis ? output[columnAxis] : 1)) return false;
  }
  result = TileEpilogue::Operand::kRow;
  return shift >= 0;
}

bool TileEpilogue::clamp(const ops::ScalarInstruction& instruction, const ScalarArgument& running) {
  const auto& arguments = instruction.arguments;
  if (!(arguments[0] == running)) return false;
  if (instruction.op == ScalarOp::k_relu) {
    low_ = 0;
    return true;
  }
  if (instruction.op != ScalarOp::k_clip || arguments[1].kind != Kind::kLiteral || arguments[2].kind != Kind::kLiteral) return false;
  low_ = static_cast<float>(arguments[1].literal);
  high_ = static_cast<float>(arguments[2].literal);
  return low_ <= high_;
}

bool TileEpilogue::findDirect() {
  low_ = -kInfinity;
  high_ = kInfinity;
  addend_ = -1;
  size_t at = 0;
  auto running = ScalarArgument::input(0);
  const auto& instructions = expr_.instructions;
  if (at < instructions.size() && instructions[at].op == ScalarOp::k_add) {
    const auto& a = instructions[at].arguments;
    const auto& other = a[0] == running ? a[1] : a[0];
    if (!(a[0] == running) && !(a[1] == running)) return false;
    if (other.kind != Kind::kInput || other.index == 0 || operands_[static_cast<size_t>(other.index) - 1] != Operand::kMatrix) return false;
    addend_ = other.index - 1;
    running = ScalarArgument::result(0);
    ++at;
  }
  if (at < instructions.size() && clamp(instructions[at], running)) ++at;
  return at == instructions.size();
}

bool TileEpilogue::configure(std::vector<Operand> operands) {
  operands_ = std::move(operands);
  direct_ = findDirect();
  steps_.clear();
  literals_.clear();
  if (direct_) return true;
  for (const auto& instruction : expr_.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == Kind::kLiteral) literals_.push_back(static_cast<float>(argument.literal));
    }
  }
  const int firstLiteral = 1 + static_cast<int>(operands_.size());
  const int firstResult = firstLiteral + static_cast<int>(literals_.size());
  if (firstResult + static_cast<int>(expr_.instructions.size()) > kMaxBuffers) return false;
  int literal = firstLiteral;
  for (const auto& instruction : expr_.instructions) {
    Step step;
    step.function = vectorFunction(instruction.op);
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      auto& operand = step.operands[static_cast<size_t>(i)];
      if (argument.kind == Kind::kInput) operand = argument.index;
      if (argument.kind == Kind::kResult) operand = firstResult + argument.index;
      if (argument.kind == Kind::kLiteral) operand = literal++;
    }
    step.result = firstResult + static_cast<int>(steps_.size());
    steps_.push_back(step);
  }
  return true;
}

void TileEpilogue::run(TileFunction function, int rows, TileCall& call, float* out, void* const* extras, int64_t row, int64_t column,
                       int64_t columns) const {
  if (direct_) {
    call.out = out + row * columns + column;
    call.outStride = columns;
    call.low = low_;
    call.high = high_;
    if (addend_ >= 0) {
      call.addend = static_cast<const float*>(extras[addend_]) + row * columns + column;
      call.addendStride = columns;
    }
    function(call);
    return;
  }
  alignas(64) float buffer[kTile];
  const int64_t stride = tileGeometry().columns;
  const int64_t width = call.width;
  call.out = buffer;
  call.outStride = stride;
  function(call);
  finish(buffer, rows, stride, width, out, extras, row, column, columns);
}

void TileEpilogue::finish(float* buffer, int rows, int64_t stride, int64_t width, float* out, void* const* extras, int64_t row,
                          int64_t column, int64_t columns) const {
  alignas(64) float memory[kMaxBuffers * kTile];
  const auto count = static_cast<size_t>(rows * stride);
  const auto padded = (count + kLanes - 1) / kLanes * kLanes;
  std::array<float*, kMaxBuffers> place{};
  for (size_t i = 1; i < place.size(); ++i) place[i] = memory + static_cast<int64_t>(i) * kTile;
  place[0] = buffer;
  const auto bytes = static_cast<size_t>(width) * sizeof(float);
  for (size_t k = 0; k < operands_.size(); ++k) {
    const auto* const from = static_cast<const float*>(extras[k]);
    float* const to = place[k + 1];
    if (operands_[k] == Operand::kValue) {
      std::fill_n(to, padded, *from);
      continue;
    }
    for (int r = 0; r < rows; ++r) {
      const float* const source = operands_[k] == Operand::kRow ? from + column : from + (row + r) * columns + column;
      std::memcpy(to + r * stride, source, bytes);
      std::fill(to + r * stride + width, to + (r + 1) * stride, 0.f);
    }
    std::fill(to + count, to + padded, 0.f);
  }
  for (size_t i = 0; i < literals_.size(); ++i) std::fill_n(place[1 + operands_.size() + i], padded, literals_[i]);
  const float* result = buffer;
  for (const auto& step : steps_) {
    float* const to = place[static_cast<size_t>(step.result)];
    step.function(place[static_cast<size_t>(step.operands[0])], place[static_cast<size_t>(step.operands[1])],
                  place[static_cast<size_t>(step.operands[2])], to, padded);
    result = to;
  }
  if (!direct_) {
    for (int r = 0; r < rows; ++r) std::memcpy(out + (row + r) * columns + column, result + r * stride, bytes);
    return;
  }
  for (int r = 0; r < rows; ++r) {
    float* const to = out + (row + r) * columns + column;
    const float* const addend = addend_ < 0 ? nullptr : static_cast<const float*>(extras[addend_]) + (row + r) * columns + column;
    for (int64_t j = 0; j < width; ++j) {
      const float value = addend == nullptr ? buffer[r * stride + j] : buffer[r * stride + j] + addend[j];
      to[j] = value < low_ ? low_ : value > high_ ? high_ : value;
    }
  }
}

}  // namespace tenon::backends::cpu
