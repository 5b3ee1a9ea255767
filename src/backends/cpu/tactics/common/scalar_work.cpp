// Types and room of the block-wise runner.
#include "backends/cpu/tactics/common/scalar_work.h"

namespace tenon::backends::cpu {
namespace {

// What the translation of an expression makes at most.
struct Room {
  size_t buffers = 0;
  size_t bytes = 0;  // per element

  void add(size_t count, size_t size) {
    buffers += count;
    bytes += count * size;
  }
};

compile::Support isWhole(DataType type) {
  if (bits(type) < 8 || type == DataType::kE8M0)
    return compile::no("values of {}; types of whole bytes but e8m0 are supported", tenon::name(type));
  return compile::yes();
}

// A value that is computed: halves in f32 too; integers at worst in i64, with their operands.
void addValue(Room& room, DataType type) {
  constexpr size_t kWide = 8;
  constexpr size_t kMostOperands = 3;
  room.add(1, static_cast<size_t>(bits(type) / 8));
  if (isFloating(type)) return room.add(type == DataType::kF32 ? 0 : 1, sizeof(float));
  room.add(kMostOperands + 1, kWide);
}

}  // namespace

compile::Support scalarWorkSupport(const ops::ScalarExpr& expr, const compile::Problem& problem, size_t elements) {
  std::vector<DataType> types;
  Room room;
  for (const auto& input : problem.inputs) {
    if (const auto whole = isWhole(input.dtype); !whole) return whole;
    types.push_back(input.dtype);
    room.add(2, isFloating(input.dtype) ? sizeof(float) : static_cast<size_t>(bits(input.dtype) / 8));
  }
  for (const auto type : ops::instructionTypes(expr, types)) {
    if (const auto whole = isWhole(type); !whole) return whole;
    addValue(room, type);
  }
  for (const auto& instruction : expr.instructions) {
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ops::ScalarArgument::Kind::kLiteral) room.add(1, sizeof(double));
    }
  }
  for (const auto& output : problem.outputs) room.add(1, static_cast<size_t>(bits(output.dtype) / 8));
  constexpr size_t kMostInputs = 47;
  constexpr size_t kMostBuffers = 256;
  constexpr size_t kMostBytes = size_t{320} << 10;
  if (problem.inputs.size() > kMostInputs || problem.outputs.size() > kMostInputs)
    return compile::no("{} inputs and {} outputs; at most {} are supported", problem.inputs.size(),
                       problem.outputs.size(), kMostInputs);
  if (room.buffers > kMostBuffers || room.bytes * elements > kMostBytes)
    return compile::no(
        "up to {} operands, constants and results of {} bytes per element; at most {} and {} are supported",
        room.buffers, room.bytes, kMostBuffers, kMostBytes / elements);
  return compile::yes();
}

}  // namespace tenon::backends::cpu
