// Concatenation with a pointwise epilogue in one launch.
#include "ops/op/concat_pointwise.h"

#include "backends/cuda/kernels/concat/concat_instance.h"

namespace tenon::backends::cuda {
namespace {

// The expression on packs: an operand of more than one element has a pack at the column, or one element for its index.
std::string sourceOf(const ops::ConcatPointwise& op, DataType type) {
  const auto name = cudaName(type);
  const auto operands = static_cast<size_t>(op.expr.inputCount()) - 1;
  const std::vector<DataType> types(operands + 1, type);
  std::string result;
  const auto body = scalarStatements(op.expr, types, result);
  std::string signature;
  std::string loads;
  std::string values;
  for (size_t k = 0; k < operands; ++k) {
    signature += fmt::format(", Scalar<X>::Value x{}", k + 1);
    loads += fmt::format(
        "    Pack<X, kPack> in{0};\n"
        "    if ((p.steps >> {0} & 1) != 0 && p.eachOwn != 0) in{0} = ((const Pack<X, kPack>*)p.operand[{0}])[column];\n"
        "    else for (int j = 0; j < kPack; ++j) in{0}.e[j] = ((const X*)p.operand[{0}])[(p.steps >> {0} & 1) != 0 ? index : 0];\n",
        k);
    values += fmt::format(", Scalar<X>::load(in{}.e[j])", k);
  }
  std::string source = fmt::format(
      "#include \"scalar.cuh\"\n#include \"concat.cuh\"\n"
      "typedef {0} X;\n"
      "__device__ inline X compute(Scalar<X>::Value x0{1}) {{\n{2}  return Scalar<X>::store({3});\n}}\n"
      "template <int kPack>\nstruct Expression {{\n  const ConcatParameters& p;\n"
      "  __device__ Pack<X, kPack> operator()(Pack<X, kPack> value, i64 column) const {{\n"
      "    const unsigned index = (unsigned)column / p.inner;\n{4}"
      "#pragma unroll\n    for (int j = 0; j < kPack; ++j) value.e[j] = compute(Scalar<X>::load(value.e[j]){5});\n"
      "    return value;\n  }}\n}};\n",
      name, signature, body, result, loads, values);
  for (int bytes = bits(type) / 8; bytes <= 16; bytes *= 2) {
    source += fmt::format(
        "KERNEL(tenon_concat_{0}, ConcatParameters) {{ copyParts<Pack<X, {1}>>(p, Expression<{1}>{{p}}); }}\n", bytes,
        bytes / (bits(type) / 8));
  }
  return source;
}

class ConcatPointwiseInstance final : public ConcatInstance {
 public:
  static Code code(const ops::ConcatPointwise& op, const Types& types) {
    return {"", {}, sourceOf(op, types.inputs.at(0))};
  }
  ConcatPointwiseInstance(const ops::ConcatPointwise& op, const Types&, const Module& module)
      : ConcatInstance(op.axis, static_cast<size_t>(op.parts), module) {}
};

}  // namespace

KernelRow kernelRow_concat_pointwise() {
  return ownRow<ops::ConcatPointwise, ConcatPointwiseInstance>("concat_pointwise");
}

}  // namespace tenon::backends::cuda
