// What plans say of products by warpgroups, and the code for it.
#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kPackBytes = 16;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Units of a thread whose inputs, so many words each, come ahead of the products into registers that nobody needs.
int64_t unitsHeld(const Mma90Shape& shape, int64_t resident, int64_t words) {
  constexpr int64_t kMostOfThread = 255, kMostHeld = 4;
  const int64_t warps = divided(shape.threads(), 32);
  const int64_t given = std::min(kMostOfThread, registersOfMultiprocessor() / (resident * warps * 32) / 8 * 8);
  const int64_t needed = shape.rows / 2 + (shape.normalizes ? 48 : 36);
  return words == 0 ? kMostHeld : std::clamp<int64_t>((given - needed) / words, 1, kMostHeld);
}

}  // namespace

std::string mma90Kinds(const runtime::Shapes& shapes) {
  const auto& y = shapes.outputs[0].dims;
  std::string kinds;
  for (const auto& extra : shapes.inputs.subspan(2)) {
    const int64_t count = extra.dims.count();
    kinds += count == 1 && y.count() != 1 ? 's' : count == y.count() && count != y[y.rank - 1] ? 'w' : 'c';
  }
  return kinds;
}

Mma90Record::Mma90Record(ops::MatMul product, const plan::KernelRecord& record, bool isSum) : op(std::move(product)) {
  const std::string_view params = record.params;
  const auto first = params.find(';');
  const auto second = params.find(';', first + 1);
  const auto space = params.find(' ', second);
  if (first == params.npos || second == params.npos || space == params.npos)
    throw UserError("parameters of a kernel of backend cuda: '{}' are not those of a product by warpgroups", params);
  TextReader in(params.substr(0, first), "parameters of a kernel of backend cuda");
  weights.columns = in.integer();
  in.expect(",");
  weights.inner = in.integer();
  in.expect(",");
  weights.taps = in.integer();
  weights.isDeep = in.accept("d");
  if (in.accept(",")) weights.groups = in.integer();
  if (in.accept("+")) {
    more.emplace(Mma90Weights{weights.columns, in.integer()});
    in.expect(",");
    more->taps = in.integer();
    more->transposed = true;
  }
  if (in.accept("^")) weights.subpixels = Mma90Cells::read(in);
  weights.transposed = op.transposeB;
  shape = Mma90Shape::parse(params.substr(first + 1, second - first - 1));
  kinds = params.substr(second + 1, space - second - 1);
  auto rest = record;
  rest.params = params.substr(space + 1);
  types = Types::read(rest);
  const auto inRange = [&](int64_t v, int64_t least) { return v >= least && v < kMma90MostExtent; };
  const auto isAddable = [&](const Mma90Weights& other) {
    return inRange(other.inner, 1) && inRange(other.taps, 0) && weights.groups == 1 && bits(types.inputs[0]) == 16 &&
           other.inner * 2 % kPackBytes == 0;
  };
  if (types.outputs.size() != 1 || types.inputs.size() != 2 + kinds.size() ||
      kinds.find_first_not_of("wcs") != std::string::npos || !inRange(weights.columns, 1) ||
      !inRange(weights.inner, 1) || !inRange(weights.taps, 0) || !inRange(weights.groups, 1) ||
      weights.columns % weights.groups != 0 || (shape.omits && (weights.taps == 0 || weights.isDeep || more)) ||
      (weights.isDeep && (weights.taps == 0 || more)) ||
      (weights.subpixels && (!weights.subpixels->fits(weights) || shape.isPersistent() || more)) ||
      more.has_value() != isSum || (more && !isAddable(*more)) ||
      (weights.groups > 1 && (weights.taps == 0 || shape.columnGroups > 1 || shape.isPersistent())) ||
      weights.inner * weights.groups * bits(types.inputs[0]) / 8 % kPackBytes != 0)
    throw UserError("parameters of a kernel of backend cuda: '{}' are not those of a product by warpgroups", params);
  weights.bytes = bits(types.inputs[0]) / 8;
  if (weights.bytes != 2 && weights.bytes != 4)
    throw Unsupported("product by warpgroups: operands of {}", name(types.inputs[0]));
  weights.isExact = shape.isExact;
  if (shape.isExact && (weights.bytes != 4 || more))
    throw Unsupported("product by warpgroups: parts of {}", name(types.inputs[0]));
  if (more) weights.add(*more);
  auto refusal = shape.refusal(weights.steps());
  if (refusal.empty() && !weights.allowsDepth(shape.depth))
    refusal = fmt::format("stages of {} steps; rows of {} elements are no whole steps", shape.depth, weights.inner);
  if (!refusal.empty()) throw Unsupported("product by warpgroups: {}", refusal);
}

std::string Mma90Record::params(const runtime::Shapes& shapes, const Mma90Weights& weights, const Mma90Shape& shape,
                                const Mma90Weights* more) {
  Types types;
  for (const auto& input : shapes.inputs) types.inputs.push_back(input.dtype);
  types.outputs.push_back(shapes.outputs[0].dtype);
  auto groups = weights.groups == 1 ? "" : fmt::format(",{}", weights.groups);
  if (more != nullptr) groups += fmt::format("+{},{}", more->inner, more->taps);
  if (weights.subpixels) groups += weights.subpixels->text();
  return fmt::format("{},{},{}{}{};{};{} {}", weights.columns, weights.inner, weights.taps, weights.isDeep ? "d" : "",
                     groups, shape.text(), mma90Kinds(shapes), types.text());
}

Code Mma90Record::code() const {
  if (shape.isPersistent() || shape.hasWholeRows()) return persistentCode();
  std::vector<DataType> inputs{ops::accumulatorType(types.inputs[0])};
  inputs.insert(inputs.end(), types.inputs.begin() + 2, types.inputs.end());
  std::string members, columnMembers, loads, columnLoads, values;
  int64_t words = 0;  // of a unit's inputs
  for (size_t k = 1; k < inputs.size(); ++k) {
    const auto type = cudaName(inputs[k]);
    const char kind = kinds[k - 1];
    auto& member = kind == 'w' ? members : columnMembers;
    auto& load = kind == 'w' ? loads : columnLoads;
    if (kind == 'w') words += divided(bits(inputs[k]) * weights.columnsAtOnce(), 32);
    member += kind == 's' ? fmt::format(" {} x{};", type, k) : fmt::format(" Pack<{}, kWidth> x{};", type, k);
    load += kind == 's' ? fmt::format("    to.x{0} = *(const {1}*)p.data[{0}];\n", k, type)
                        : fmt::format("    to.x{0} = *(const Pack<{1}, kWidth>*)((const {1}*)p.data[{0}] + {2});\n", k,
                                      type, kind == 'w' ? "offset" : "column");
    values += fmt::format("  const auto x{0} = Scalar<{1}>::load({2}.x{0}{3});\n", k, type,
                          kind == 'w' ? "from" : "fixed", kind == 's' ? "" : ".e[i]");
  }
  std::string result;
  const auto statements = scalarStatements(op.epilogue, inputs, result);
  const std::string member = "  template <int kWidth>\n  __device__ __forceinline__ static";
  const auto type = cudaName(types.inputs[0]);
  std::string text =
      fmt::format("#include \"warp_group.cuh\"\ntypedef {} X;\ntypedef float A;\nconstexpr bool kInParts = {};\n", type,
                  shape.isExact);
  text += mma90ProductText(shape.rows, types.inputs[0]) + "#include \"mma90.cuh\"\n\n";
  text += fmt::format(
      "typedef {} Y;\nstruct Finish {{\n  template <int kWidth>\n  struct Inputs {{{} }};\n"
      "  template <int kWidth>\n  struct ColumnInputs {{{} }};\n",
      cudaName(types.outputs[0]), members, columnMembers);
  text += member + " void load(const Mma90Parameters& p, i64 offset, Inputs<kWidth>& to) {\n" + loads + "  }\n";
  text += member + " void loadColumns(const Mma90Parameters& p, int column, ColumnInputs<kWidth>& to) {\n" +
          columnLoads + "  }\n";
  text +=
      "  template <typename From, typename Fixed>\n  __device__ __forceinline__ static float compute("
      "float x0, const From& from, const Fixed& fixed, int i) {\n";
  text += fmt::format("{}{}  return as<float>({});\n  }}\n}};\n\n", values, statements, result);
  const int64_t threads = shape.threads();
  const int64_t two =
      shape.isExact ? divided(2 * threads, 128) * 128 : 2 * threads;  // warps of a quarter share registers
  const int64_t resident = shape.registers() * two <= registersOfMultiprocessor() ? 2 : 1;
  const auto normalized =
      norm ? fmt::format("Normalized<{}, {}>", norm->centered, keeps) : std::string("NotNormalized");
  text += fmt::format("typedef Mma90<{}, {}, {}, {}, {}, {}, {}, {}, Y, Finish, {}, {}, {}, {}> Product;\n", shape.rows,
                      shape.columnGroups, shape.innerGroups, shape.parts, shape.depth,
                      unitsHeld(shape, resident, words), weights.columnsAtOnce(), windowAxes(), normalized, measures,
                      moreText(), weights.subpixels.has_value());
  text += fmt::format("KERNEL_WITHOUT_WAIT(__launch_bounds__({}, {}), tenon_mma90, Mma90Parameters) {{\n", threads,
                      resident);
  return {"", {}, text + "  Product::run(p);\n}\n"};
}

std::string Mma90Record::moreText() const {
  return !more ? "Mma90More::kNone" : more->taps == 0 ? "Mma90More::kMatrix" : "Mma90More::kWindows";
}

std::string Mma90Record::recipe() const {
  if (norm) return fmt::format("{} {}", weights.recipe(), name(types.inputs[0]));
  return more ? fmt::format("{} and {}", weights.recipe(), more->recipe()) : weights.recipe();
}

}  // namespace tenon::backends::cuda
