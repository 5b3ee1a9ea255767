// The generator: loads by stride, one statement per instruction, one store.
#include "backends/cuda/run/pointwise_code.h"

#include "backends/cuda/run/libraries.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using ops::ScalarArgument;

// Functions of ops/scalar_math.h in CUDA, and the parameter struct.
constexpr const char* kPrelude = R"(
typedef float T;
struct Parameters {
  void* out; const void* in[8]; long long count; int axes;
  long long extent[8]; long long outStride[8]; long long inStride[8][8];
};
__device__ inline bool isInfinite(T a) { return isinf(a); }
__device__ inline T clampUnit(T a) { return a < T(0) ? T(0) : (a > T(1) ? T(1) : a); }
__device__ inline T divide(T a, T b) { return a / b; }
__device__ inline T floorDivide(T a, T b) { return floor(a / b); }
__device__ inline T truncatedModulo(T a, T b) { return fmod(a, b); }
__device__ inline T floorModulo(T a, T b) { T m = fmod(a, b); return m != T(0) && (m < T(0)) != (b < T(0)) ? m + b : m; }
__device__ inline T power(T a, T b) { return pow(a, b); }
)";

const char* typeName(DataType type) { return type == DataType::kBool ? "unsigned char" : "float"; }

std::string operand(const ScalarArgument& argument) {
  switch (argument.kind) {
    case ScalarArgument::Kind::kInput: return fmt::format("x{}", argument.index);
    case ScalarArgument::Kind::kResult: return fmt::format("t{}", argument.index);
    default: break;
  }
  if (argument.literal != argument.literal) return "__int_as_float(0x7fc00000)";
  if (argument.literal > 3.5e38) return "__int_as_float(0x7f800000)";
  if (argument.literal < -3.5e38) return "__int_as_float(0xff800000)";
  return fmt::format("T({:.9e})", argument.literal);
}

}  // namespace

std::string pointwiseUnsupported(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output) {
  const auto fits = [](DataType type) { return type == DataType::kF32 || type == DataType::kBool; };
  auto types = ops::instructionTypes(expr, inputs);
  types.insert(types.end(), inputs.begin(), inputs.end());
  types.push_back(output);
  for (const auto type : types) {
    if (!fits(type)) return fmt::format("values of {}; it computes f32 and bool", name(type));
  }
  if (inputs.size() > static_cast<size_t>(kMaxOperands)) return fmt::format("{} inputs; it takes {}", inputs.size(), kMaxOperands);
  return {};
}

std::string pointwiseSource(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output) {
  std::string source = kPrelude;
  source += R"(
extern "C" __global__ void tenon_pointwise(Parameters p) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < p.count; i += (long long)gridDim.x * blockDim.x) {
    long long rest = i, at = 0;
)";
  for (size_t k = 0; k < inputs.size(); ++k) source += fmt::format("    long long at{} = 0;\n", k);
  source += "    for (int axis = p.axes - 1; axis >= 0; --axis) {\n"
            "      long long index = rest % p.extent[axis];\n      rest /= p.extent[axis];\n"
            "      at += index * p.outStride[axis];\n";
  for (size_t k = 0; k < inputs.size(); ++k) source += fmt::format("      at{} += index * p.inStride[{}][axis];\n", k, k);
  source += "    }\n";
  for (size_t k = 0; k < inputs.size(); ++k) {
    source += fmt::format("    const T x{} = T(((const {}*)p.in[{}])[at{}]);\n", k, typeName(inputs[k]), k, k);
  }
  for (size_t k = 0; k < expr.instructions.size(); ++k) {
    const auto& instruction = expr.instructions[k];
    const auto& r = row(instruction.op);
    constexpr std::string_view kNames = "abc";
    source += fmt::format("    T t{};\n    {{\n", k);
    for (int i = 0; i < r.arity; ++i) {
      source += fmt::format("      const T {} = {};\n", kNames[static_cast<size_t>(i)], operand(instruction.arguments[static_cast<size_t>(i)]));
    }
    source += fmt::format("      t{} = T({});\n    }}\n", k, r.expression);
  }
  const auto result = expr.empty() ? std::string("x0") : fmt::format("t{}", expr.instructions.size() - 1);
  const auto stored = output == DataType::kBool ? fmt::format("({} != T(0) ? 1 : 0)", result) : result;
  source += fmt::format("    (({}*)p.out)[at] = {};\n  }}\n}}\n", typeName(output), stored);
  return source;
}

std::vector<std::byte> compile(const std::string& source, int capability) {
  const auto& n = nvrtc();
  if (!n.missing.empty()) throw Unsupported("NVRTC is needed to compile kernels: {}", n.missing);
  nvrtcProgram program = nullptr;
  if (n.createProgram(&program, source.c_str(), "tenon.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    throw InternalError("nvrtcCreateProgram failed");
  }
  const auto architecture = fmt::format("--gpu-architecture=sm_{}", capability);
  const char* options[] = {architecture.c_str(), "--std=c++17", "--fmad=true"};
  const auto status = n.compileProgram(program, 3, options);
  std::vector<std::byte> code;
  std::string log;
  size_t size = 0;
  if (status == NVRTC_SUCCESS && n.getCubinSize(program, &size) == NVRTC_SUCCESS) {
    code.resize(size);
    n.getCubin(program, reinterpret_cast<char*>(code.data()));
  } else if (n.getProgramLogSize(program, &size) == NVRTC_SUCCESS) {
    log.resize(size);
    n.getProgramLog(program, log.data());
  }
  n.destroyProgram(&program);
  if (code.empty()) throw Unsupported("NVRTC refuses a generated kernel for sm_{} ({}): {}", capability, n.getErrorString(status), log);
  return code;
}

}  // namespace tenon::backends::cuda
