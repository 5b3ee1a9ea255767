// Epilogues of tiles: in registers where they are a sum and a clamp, else vector functions over a small buffer.
#include "backends/cpu/kernels/common/tile_epilogue.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "backends/cpu/kernels/common/gated.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

using ops::ScalarArgument;
using ops::ScalarOp;
using Kind = ScalarArgument::Kind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Nothing when an operand of these extents is neither a value nor a row nor a matrix.
std::optional<TileEpilogue::Operand> classify(const Dims& operand, const Dims& output, int columnAxis) {
  if (operand.count() == 1) return TileEpilogue::Operand::kValue;
  if (operand == output) return TileEpilogue::Operand::kMatrix;
  const int shift = output.rank - operand.rank;
  for (int axis = 0; axis < operand.rank; ++axis) {
    if (operand[axis] != (axis + shift == columnAxis ? output[columnAxis] : 1)) return std::nullopt;
  }
  return shift >= 0 ? std::optional(TileEpilogue::Operand::kRow) : std::nullopt;
}

}  // namespace

// Clamps of clamps are clamps.
bool TileEpilogue::clamp(const ops::ScalarInstruction& instruction, const ScalarArgument& running) {
  const auto bounds = boundsOf(instruction, running);
  if (!bounds) return false;
  low_ = std::clamp(low_, bounds->low, bounds->high);
  high_ = std::clamp(high_, bounds->low, bounds->high);
  return true;
}

bool TileEpilogue::bend(const ops::ScalarInstruction& instruction, const ScalarArgument& running) {
  const auto& arguments = instruction.arguments;
  if (instruction.op != ScalarOp::k_leaky_relu || !(arguments[0] == running)) return false;
  const auto& slope = arguments[1];
  if (slope.kind == Kind::kLiteral) {
    literalSlope_ = static_cast<float>(slope.literal);
  } else if (slope.kind == Kind::kInput && slope.index > 0 &&
             operands_[static_cast<size_t>(slope.index) - 1] != Operand::kMatrix) {
    slope_ = slope.index - 1;
  } else {
    return false;
  }
  bends_ = true;
  return true;
}

// x * gate(x) by the first two instructions.
bool TileEpilogue::gate() {
  const auto* gate = leadingGate(expr_);
  if (gate == nullptr) return false;
  const auto& arguments = gate->arguments;
  if (gate->op == ScalarOp::k_sigmoid) {
    gate_ = Gate::kSwish;
  } else if (gate->op == ScalarOp::k_hard_sigmoid && arguments[1].kind == Kind::kLiteral &&
             arguments[2].kind == Kind::kLiteral) {
    gate_ = Gate::kHardSwish;
    gateSlope_ = static_cast<float>(arguments[1].literal);
    gateOffset_ = static_cast<float>(arguments[2].literal);
  }
  return gate_ != Gate::kNone;
}

// Sums begin with a row that is added to them, and get a matrix when they are stored.
bool TileEpilogue::add(int operand) {
  const auto kind = operands_[static_cast<size_t>(operand)];
  int& place = kind == Operand::kRow ? bias_ : addend_;
  if (kind == Operand::kValue || place >= 0 || (kind == Operand::kRow && gate_ != Gate::kNone)) return false;
  place = operand;
  return true;
}

bool TileEpilogue::scaleBy(const ops::ScalarInstruction& instruction) {
  const auto& arguments = instruction.arguments;
  const bool isFirst = arguments[0] == ScalarArgument::input(0);
  const auto& factor = arguments[isFirst ? 1 : 0];
  if (instruction.op != ScalarOp::k_mul || !(isFirst || arguments[1] == ScalarArgument::input(0))) return false;
  if (factor.kind != Kind::kLiteral) return false;
  scale_ = static_cast<float>(factor.literal);
  return true;
}

bool TileEpilogue::findDirect() {
  low_ = -kInfinity;
  high_ = kInfinity;
  bias_ = addend_ = slope_ = -1;
  bends_ = false;
  scale_ = 1;
  gate_ = Gate::kNone;
  const auto& instructions = expr_.instructions;
  size_t at = gate() ? 2 : 0;
  auto running = at == 2 ? ScalarArgument::result(1) : ScalarArgument::input(0);
  if (at < instructions.size() && gate_ == Gate::kNone && scaleBy(instructions[at]))
    running = ScalarArgument::result(static_cast<int>(at++));
  while (at < instructions.size() && instructions[at].op == ScalarOp::k_add) {
    const int added = addedInput(instructions[at], running);
    if (added < 0 || !add(added - 1)) return false;
    running = ScalarArgument::result(static_cast<int>(at));
    ++at;
  }
  const auto result = [&] { return ScalarArgument::result(static_cast<int>(at++)); };
  if (gate_ == Gate::kNone && at < instructions.size() && bend(instructions[at], running)) running = result();
  while (at < instructions.size() && clamp(instructions[at], running)) running = result();
  return at == instructions.size();
}

void TileEpilogue::configure(std::string_view kernel, const Dims& out, std::span<const runtime::TensorShape> operands,
                             int columnAxis) {
  operands_.clear();
  for (const auto& operand : operands) {
    const auto kind = classify(operand.dims, out, columnAxis);
    if (!kind)
      throw Unsupported("{}: an epilogue operand of shape {} for a result {}", kernel, operand.dims.text(), out.text());
    operands_.push_back(*kind);
  }
  if (!fits()) throw Unsupported("{}: the epilogue {} is too long", kernel, text(expr_));
}

void TileEpilogue::setSteps(const runtime::TensorShape& out, std::span<const runtime::TensorShape> operands) {
  outStep_ = out.pitch;
  operandSteps_.clear();
  for (const auto& operand : operands) operandSteps_.push_back(operand.pitch);
}

bool TileEpilogue::fits() {
  direct_ = findDirect();
  size_t buffers = 1 + operands_.size() + expr_.instructions.size();
  for (const auto& instruction : expr_.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i)
      buffers += instruction.arguments[static_cast<size_t>(i)].kind == Kind::kLiteral;
  }
  if (buffers > kMaxBuffers) return direct_ && !bends_;
  makeSteps();
  return true;
}

void TileEpilogue::makeSteps() {
  steps_.clear();
  literals_.clear();
  const auto isLiteral = [](const ops::ScalarInstruction& instruction, int i) {
    return instruction.arguments[static_cast<size_t>(i)].kind == Kind::kLiteral;
  };
  for (const auto& instruction : expr_.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      if (isLiteral(instruction, i))
        literals_.insert(literals_.end(), kTile,
                         static_cast<float>(instruction.arguments[static_cast<size_t>(i)].literal));
    }
  }
  const int firstLiteral = 1 + static_cast<int>(operands_.size());
  const int firstResult = firstLiteral + static_cast<int>(literals_.size()) / static_cast<int>(kTile);
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
  joinGates();
}

// x * gate(x) in one pass where nothing else reads the gate. The gate's own step goes; no result moves.
void TileEpilogue::joinGates() {
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const auto* gate = gateAt(expr_, i);
    if (gate == nullptr || gatedFunction(gate->op) == nullptr) continue;
    const auto self = ScalarArgument::result(static_cast<int>(i));
    bool isRead = false;
    for (size_t k = i + 2; k < expr_.instructions.size(); ++k) {
      for (const auto& argument : expr_.instructions[k].arguments) isRead = isRead || argument == self;
    }
    if (isRead) continue;
    steps_[i + 1].function = gatedFunction(gate->op);
    steps_[i + 1].operands = steps_[i].operands;
    steps_[i].function = nullptr;
  }
  std::erase_if(steps_, [](const Step& step) { return step.function == nullptr; });
}

template <class Run>
void TileEpilogue::runDirect(const Run& run, TileCall& call, float* out, void* const* extras, int64_t row,
                             int64_t column, int64_t columns) const {
  alignas(64) float slopes[kMaxTileColumns];
  alignas(64) float biases[kMaxTileColumns];
  call.outStride = outStep_ != 0 ? outStep_ : columns;
  call.out = out + row * call.outStride + column;
  call.low = low_;
  call.high = high_;
  if (addend_ >= 0) {
    call.addendStride = operandStep(static_cast<size_t>(addend_), columns);
    call.addend = static_cast<const float*>(extras[addend_]) + row * call.addendStride + column;
  }
  if (bends_) {
    const auto* const values = slope_ < 0 ? &literalSlope_ : static_cast<const float*>(extras[slope_]);
    const bool isRow = slope_ >= 0 && operands_[static_cast<size_t>(slope_)] == Operand::kRow;
    if (!isRow) std::fill_n(slopes, kMaxTileColumns, *values);
    call.slope = isRow ? values + column : slopes;
  }
  const float* const own = call.bias;
  if (bias_ >= 0) {
    const auto* const values = static_cast<const float*>(extras[bias_]) + column;
    std::fill(std::copy_n(values, call.width, biases), biases + kMaxTileColumns, 0.f);
    for (int64_t j = 0; own != nullptr && j < call.width; ++j) biases[j] += own[j];
    call.bias = biases;
  }
  run(call);
  call.bias = own;
}

void TileEpilogue::run(TileFunction function, int rows, TileCall& call, float* out, void* const* extras, int64_t row,
                       int64_t column, int64_t columns) const {
  if (isDirect()) return runDirect(function, call, out, extras, row, column, columns);
  alignas(64) float buffer[kTile];
  prepareBuffer(call, rows, buffer);
  function(call);
  finish(buffer, rows, call.outStride, call.width, out, extras, row, column, columns);
}

void TileEpilogue::run(const EvenRows& rows, TileCall& call, float* out, void* const* extras, int64_t row,
                       int64_t column, int64_t columns) const {
  const auto strip = stripFunction();
  if (isDirect())
    return runDirect([&](const TileCall& ready) { strip(ready, rows); }, call, out, extras, row, column, columns);
  constexpr int64_t kGated = 8;  // tiles whose results stay in the first cache until the gate takes them
  alignas(64) float buffer[kGated * kTile];
  const int64_t tile = tileGeometry().rows;
  const int64_t most = isGate() ? kGated * tile : tile;
  for (int64_t done = 0; done < rows.count; done += most) {
    const int64_t count = std::min(most, rows.count - done);
    prepareBuffer(call, count, buffer);
    strip(call, {rows.from + done * rows.rowStep, rows.rowStep, rows.tapStep, count});
    finish(buffer, static_cast<int>(count), call.outStride, call.width, out, extras, row + done, column, columns);
  }
}

// Columns that do not exist would be computed with what the memory holds, denormal numbers among it, which are slow.
void TileEpilogue::prepareBuffer(TileCall& call, int64_t rows, float* buffer) {
  const int64_t half = tileGeometry().columns / 2;
  call.out = buffer;
  call.outStride = call.width <= half ? half : 2 * half;
  if (call.width < call.outStride) std::fill_n(buffer, rows * call.outStride, 0.f);
}

TileEpilogue::Plain TileEpilogue::plain(void* const* extras, int64_t row, int64_t column,
                                        int64_t columns) const noexcept {
  Plain plain{scale_, nullptr, nullptr, 0, low_, high_};
  if (bias_ >= 0) plain.bias = static_cast<const float*>(extras[bias_]) + column;
  if (addend_ >= 0) {
    plain.addendStep = operandStep(static_cast<size_t>(addend_), columns);
    plain.addend = static_cast<const float*>(extras[addend_]) + row * plain.addendStep + column;
  }
  return plain;
}

std::optional<TileEpilogue::Ends> TileEpilogue::ends(void* const* extras) const noexcept {
  if (!isDirect() || addend_ >= 0 || bias_ >= 0) return std::nullopt;
  Ends ends{low_, high_, bends_, nullptr, literalSlope_};
  if (!bends_ || slope_ < 0) return ends;
  const auto* const values = static_cast<const float*>(extras[slope_]);
  if (operands_[static_cast<size_t>(slope_)] == Operand::kRow) {
    ends.slopes = values;
  } else {
    ends.slope = *values;
  }
  return ends;
}

void TileEpilogue::clampAndStore(const float* buffer, int rows, int64_t stride, int64_t width, float* out,
                                 int64_t outStep, const float* bias, const Matrix& addend) const {
  for (int r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j) {
      float value = buffer[r * stride + j] * scale_;
      if (bias != nullptr) value += bias[j];
      if (addend.data != nullptr) value += addend.data[r * addend.step + j];
      out[r * outStep + j] = value < low_ ? low_ : value > high_ ? high_ : value;
    }
  }
}

void TileEpilogue::finishInPlace(float* results, int64_t count, void* const* extras) const {
  alignas(64) float buffer[kTile] = {};
  for (int64_t first = 0; first < count; first += kTile) {
    const int64_t some = std::min(kTile, count - first);
    std::memcpy(buffer, results + first, static_cast<size_t>(some) * sizeof(float));
    finish(buffer, 1, kTile, some, results + first, extras, 0, 0, 0);
  }
}

void TileEpilogue::finish(float* buffer, int rows, int64_t stride, int64_t width, float* out, void* const* extras,
                          int64_t row, int64_t column, int64_t columns) const {
  const int64_t outStep = outStep_ != 0 ? outStep_ : columns;
  out += row * outStep + column;
  if (direct_ && !bends_) {
    const int64_t step = addend_ < 0 ? 0 : operandStep(static_cast<size_t>(addend_), columns);
    const float* const addend =
        addend_ < 0 ? nullptr : static_cast<const float*>(extras[addend_]) + row * step + column;
    if (isGate()) {
      return gateFunction()({buffer, stride, rows, width, gate_ == Gate::kHardSwish, gateSlope_, gateOffset_, addend,
                             step, low_, high_, out, outStep});
    }
    const float* const bias = bias_ < 0 ? nullptr : static_cast<const float*>(extras[bias_]) + column;
    return clampAndStore(buffer, rows, stride, width, out, outStep, bias, {addend, step});
  }
  alignas(64) float memory[kMaxBuffers * kTile];
  const auto count = static_cast<size_t>(rows * stride);
  const auto padded = (count + kLanes - 1) / kLanes * kLanes;
  std::array<const float*, kMaxBuffers> place{};
  const auto own = [&](size_t i) { return memory + static_cast<int64_t>(i) * kTile; };
  place[0] = buffer;
  const auto bytes = static_cast<size_t>(width) * sizeof(float);
  for (size_t k = 0; k < operands_.size(); ++k) {
    const auto* const from = static_cast<const float*>(extras[k]);
    float* const to = own(k + 1);
    place[k + 1] = to;
    if (operands_[k] == Operand::kValue) {
      std::fill_n(to, padded, *from);
      continue;
    }
    const int64_t step = operandStep(k, columns);
    for (int r = 0; r < rows; ++r) {
      const float* const source = operands_[k] == Operand::kRow ? from + column : from + (row + r) * step + column;
      std::memcpy(to + r * stride, source, bytes);
      std::fill(to + r * stride + width, to + (r + 1) * stride, 0.f);
    }
    std::fill(to + count, to + padded, 0.f);
  }
  for (size_t i = 0; i * kTile < literals_.size(); ++i) place[1 + operands_.size() + i] = literals_.data() + i * kTile;
  const float* result = buffer;
  for (const auto& step : steps_) {
    float* const to = own(static_cast<size_t>(step.result));
    place[static_cast<size_t>(step.result)] = to;
    step.function(place[static_cast<size_t>(step.operands[0])], place[static_cast<size_t>(step.operands[1])],
                  place[static_cast<size_t>(step.operands[2])], to, padded);
    result = to;
  }
  for (int r = 0; r < rows; ++r) std::memcpy(out + r * outStep, result + r * stride, bytes);
}

}  // namespace tenon::backends::cpu
