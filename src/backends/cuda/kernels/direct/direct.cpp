// The code of generic contractions.
#include "backends/cuda/kernels/direct/direct.h"

namespace tenon::backends::cuda {
namespace {

std::vector<DataType> epilogueTypes(std::span<const DataType> inputs, size_t firstExtra) {
  std::vector<DataType> types{ops::accumulatorType(inputs[0])};
  types.insert(types.end(), inputs.begin() + static_cast<std::ptrdiff_t>(firstExtra), inputs.end());
  return types;
}

}  // namespace

std::string directUnsupported(const ops::ScalarExpr& epilogue, std::span<const DataType> inputs, size_t firstExtra) {
  if (inputs.size() - firstExtra >= static_cast<size_t>(kMaxDirectOperands))
    return fmt::format("an epilogue of {} operands is not supported", inputs.size() - firstExtra);
  const auto types = epilogueTypes(inputs, firstExtra);
  for (const auto type : ops::instructionTypes(epilogue, types)) {
    if (cudaName(type) == nullptr) return fmt::format("values of {} in the epilogue are not supported", name(type));
  }
  return {};
}

Code directCode(std::string_view header, std::string_view body, std::string_view parameters,
                const ops::ScalarExpr& epilogue, const Types& types, size_t firstExtra, std::span<const int> variants,
                std::string_view declaration) {
  const auto inputs = epilogueTypes(types.inputs, firstExtra);
  const bool floating = isFloating(inputs[0]);
  std::string result;
  const auto statements = scalarStatements(epilogue, inputs, result);
  std::string text = fmt::format("#include \"prelude.cuh\"\ntypedef {} X;\ntypedef {} A;\n#include \"{}\"\n\n",
                                 cudaName(types.inputs.at(0)), floating ? "float" : "i64", header);
  const auto out = cudaName(types.outputs.at(0));
  text += fmt::format(
      "typedef {} Y;\nstruct Finish {{\n  __device__ Y operator()(const {}& p, const i64* at, A value) const {{\n", out,
      parameters);
  text += floating ? "  const float x0 = value;\n" : "  const Integer x0 = Integer(value);\n";
  for (size_t k = 1; k < inputs.size(); ++k) {
    const auto type = cudaName(inputs[k]);
    text += fmt::format("  const auto x{0} = Scalar<{1}>::load(((const {1}*)p.data[{0}])[at[{0}]]);\n", k, type);
  }
  text += fmt::format("{0}  return Scalar<Y>::store({1});\n  }}\n}};\n\n", statements, result);
  if (variants.empty())
    text += fmt::format("KERNEL(tenon_direct, {}) {{ {}<{}, Y>(p, Finish()); }}\n", parameters, body, inputs.size());
  for (const int variant : variants) {
    text += fmt::format("{}tenon_direct_{}, {}) {{ {}<{}, {}, Y>(p, Finish()); }}\n", declaration, variant, parameters,
                        body, variant, inputs.size());
  }
  return {"", {}, text};
}

}  // namespace tenon::backends::cuda
