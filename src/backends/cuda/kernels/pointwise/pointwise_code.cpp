// The generator: loads by stride, one statement per instruction, one store per output.
#include "backends/cuda/kernels/pointwise/pointwise_code.h"

#include <algorithm>

#include "backends/cuda/kernels/pointwise/pointwise_form.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using ops::ScalarArgument;

// The arithmetic of an instruction, as the reference chooses it: by its operands that are no literals; the condition of
// a select does not count; f32 where there are literals only.
bool computesInFloat(const ops::ScalarInstruction& instruction, std::span<const DataType> inputs,
                     const std::vector<DataType>& results) {
  const auto& r = row(instruction.op);
  for (int i = r.result == ops::ScalarResult::kOperand1 ? 1 : 0; i < r.arity; ++i) {
    const auto& argument = instruction.arguments[static_cast<size_t>(i)];
    const auto index = static_cast<size_t>(argument.index);
    if (argument.kind == ScalarArgument::Kind::kInput) return isFloating(inputs[index]);
    if (argument.kind == ScalarArgument::Kind::kResult) return isFloating(results[index]);
  }
  return true;
}

std::string operand(const ScalarArgument& argument, bool floating) {
  switch (argument.kind) {
    case ScalarArgument::Kind::kInput: return fmt::format("as<T>(x{})", argument.index);
    case ScalarArgument::Kind::kResult: return fmt::format("as<T>(t{})", argument.index);
    default: break;
  }
  if (argument.literal != argument.literal) return floating ? "notANumber()" : "T(0)";
  if (argument.literal > 3.5e38) return floating ? "infinity()" : "T(infinity())";
  if (argument.literal < -3.5e38) return floating ? "-infinity()" : "T(-infinity())";
  return fmt::format("T({:.17e})", argument.literal);
}

// Cheaper functions (scalar.cuh) where a type of 16 bits holds the result: their error is below its precision.
std::string_view narrowForm(ops::ScalarOp op) {
  switch (op) {
    case ops::ScalarOp::k_exp: return "narrowExp(a)";
    case ops::ScalarOp::k_tanh: return "narrowTanh(a)";
    case ops::ScalarOp::k_sigmoid: return "narrowSigmoid(a)";
    case ops::ScalarOp::k_gelu_erf: return "narrowGelu(a)";
    case ops::ScalarOp::k_gelu_tanh: return "narrowGeluTanh(a)";
    default: return {};
  }
}

std::string statement(const ops::ScalarInstruction& instruction, DataType type, bool floating) {
  const auto& r = row(instruction.op);
  if (r.result == ops::ScalarResult::kCast) {
    auto from = operand(instruction.arguments[0], true);  // a cast sees the value as it is
    if (instruction.arguments[0].kind != ScalarArgument::Kind::kLiteral) from = from.substr(6, from.size() - 7);
    return fmt::format("typedef float T; r = castTo<{}>({});", cudaName(instruction.castTo), from);
  }
  constexpr std::string_view kNames = "abc";
  std::string text = fmt::format("typedef {} T; ", floating ? "float" : "Integer");
  for (int i = 0; i < r.arity; ++i) {
    text += fmt::format("const T {} = {}; ", kNames[static_cast<size_t>(i)],
                        operand(instruction.arguments[static_cast<size_t>(i)], floating));
  }
  if (type == DataType::kI32 || type == DataType::kI8 || type == DataType::kU8) {  // wraps, as ops::wrapped() does
    return text + fmt::format("r = Integer((i64)({})T({}).value);", cudaName(type), r.expression);
  }
  const bool narrow = type == DataType::kF16 || type == DataType::kBF16;
  const auto cheaper = narrow ? narrowForm(instruction.op) : std::string_view();
  return text + fmt::format("r = as<typename Scalar<{}>::Value>(T({}));", cudaName(type),
                            cheaper.empty() ? r.expression : cheaper);
}

// Loads one input of a pack: a whole pack where it steps, else one element for all. `at` is its place among the
// operands.
std::string loadPack(size_t k, size_t at, DataType type) {
  return fmt::format(
      "  Pack<{0}, kPack> in{1};\n"
      "  if (p.space.stride[{2}][p.space.axes - 1] != 0) in{1} = *(const Pack<{0}, kPack>*)((const {0}*)p.data[{2}] + at[{2}]);\n"
      "  else for (int j = 0; j < kPack; ++j) in{1}.e[j] = ((const {0}*)p.data[{2}])[at[{2}]];\n",
      cudaName(type), k, at);
}

}  // namespace

const char* cudaName(DataType type) {
  switch (type) {
    case DataType::kF32: return "f32";
    case DataType::kF16: return "f16";
    case DataType::kBF16: return "bf16";
    case DataType::kF8E4M3: return "f8e4m3";
    case DataType::kI64: return "i64";
    case DataType::kI32: return "i32";
    case DataType::kI8: return "i8";
    case DataType::kU8: return "u8";
    case DataType::kBool: return "b8";
    default: return nullptr;
  }
}

std::string pointwiseUnsupported(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output) {
  auto types = ops::instructionTypes(expr, inputs);
  types.insert(types.end(), inputs.begin(), inputs.end());
  types.push_back(output);
  for (const auto type : types) {
    if (cudaName(type) == nullptr) return fmt::format("values of {}", name(type));
  }
  if (inputs.size() > static_cast<size_t>(kMaxOperands))
    return fmt::format("{} inputs; at most {} are supported", inputs.size(), kMaxOperands);
  return {};
}

int pointwisePack(std::span<const DataType> inputs, DataType output) {
  int widest = bits(output) / 8;
  for (const auto type : inputs) widest = std::max(widest, bits(type) / 8);
  return std::min(16 / widest, 8);
}

int pointwisePack(const PointwiseForm& form) {
  int pack = pointwisePack(form.inputs, form.outputs[0]);
  for (const auto type : form.outputs) pack = std::min(pack, pointwisePack(form.inputs, type));
  return pack;
}

std::string scalarStatements(const ops::ScalarExpr& expr, std::span<const DataType> inputs, std::string& result) {
  const auto types = ops::instructionTypes(expr, inputs);
  std::string text;
  for (size_t k = 0; k < expr.instructions.size(); ++k) {
    const auto& instruction = expr.instructions[k];
    text += fmt::format("  typename Scalar<{0}>::Value t{1};\n  {{ auto& r = t{1}; {2} }}\n", cudaName(types[k]), k,
                        statement(instruction, types[k], computesInFloat(instruction, inputs, types)));
  }
  result = expr.empty() ? "x0" : fmt::format("t{}", expr.instructions.size() - 1);
  return text;
}

std::string pointwiseSource(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output) {
  return pointwiseSource({expr, {}, inputs, std::span(&output, 1)});
}

std::string pointwiseSource(const PointwiseForm& form) {
  const size_t outputs = form.outputs.size();
  const size_t operands = outputs + form.inputs.size();
  std::string source = fmt::format(
      "#include \"backends/cuda/kernels/pointwise/pointwise_parameters.h\"\n"
      "#include \"scalar.cuh\"\n"
      "constexpr int kPack = {};\n"
      "typedef PointwiseParameters<{}> Parameters;\n\n",
      pointwisePack(form), operands);
  std::string signature;
  std::string elements;
  std::string singles;
  for (size_t k = 0; k < form.inputs.size(); ++k) {
    const auto type = cudaName(form.inputs[k]);
    const size_t at = outputs + k;
    signature += fmt::format("Scalar<{}>::Value x{}, ", type, k);
    elements += fmt::format("Scalar<{}>::load(in{}.e[j]), ", type, k);
    singles += fmt::format("Scalar<{}>::load(((const {}*)p.data[{}])[at[{}]]), ", type, type, at, at);
  }
  std::string result;
  auto body = scalarStatements(form.expr, form.inputs, result);
  std::string declared;
  std::string stored;
  for (size_t k = 0; k < outputs; ++k) {
    const auto type = cudaName(form.outputs[k]);
    const auto value = form.results.empty() ? result : fmt::format("t{}", form.results[k]);
    const char* comma = k + 1 == outputs ? "" : ", ";
    body += fmt::format("  y{} = Scalar<{}>::store({});\n", k, type, value);
    signature += fmt::format("{}& y{}{}", type, k, comma);
    elements += fmt::format("out{}.e[j]{}", k, comma);
    singles += fmt::format("(({}*)p.data[{}])[at[{}]]{}", type, k, k, comma);
    declared += fmt::format("  Pack<{}, kPack> out{};\n", type, k);
    stored += fmt::format("  *(Pack<{0}, kPack>*)(({0}*)p.data[{1}] + at[{1}]) = out{1};\n", type, k);
  }
  source += fmt::format("__device__ inline void compute({}) {{\n{}}}\n\n", signature, body);
  source += fmt::format(
      "KERNEL(tenon_pointwise_packed, Parameters) {{\n  const i64 index = globalIndex();\n"
      "  i64 at[{0}];\n"
      "  if (index >= p.space.count) {{\n    if (index >= p.space.count + p.tail) return;\n"
      "    for (int k = 0; k < {0}; ++k) at[k] = (p.space.count * kPack + index - p.space.count) * (p.space.stride[k][0] / kPack);\n"
      "    compute({1});\n    return;\n  }}\n"
      "  locate(p.space, (unsigned)index, at);\n",
      operands, singles);
  for (size_t k = 0; k < form.inputs.size(); ++k) source += loadPack(k, outputs + k, form.inputs[k]);
  source += fmt::format("{}#pragma unroll\n  for (int j = 0; j < kPack; ++j) compute({});\n{}}}\n", declared, elements,
                        stored);
  for (const bool wide : {false, true}) {
    source += fmt::format(
        "KERNEL(tenon_pointwise{}, Parameters) {{\n  const i64 index = globalIndex();\n"
        "  if (index >= p.space.count) return;\n  i64 at[{}];\n  locate(p.space, {}, at);\n"
        "  compute({});\n}}\n",
        wide ? "_wide" : "", operands, wide ? "index" : "(unsigned)index", singles);
  }
  return source;
}

}  // namespace tenon::backends::cuda
