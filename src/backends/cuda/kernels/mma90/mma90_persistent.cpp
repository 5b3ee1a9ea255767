// Products by warpgroups whose blocks take tile after tile: which tiles, in which order, their code.
#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "ops/contraction.h"

namespace tenon::backends::cuda {
namespace {

using Schedule = Mma90Shape::Schedule;

constexpr int64_t kStepOfRows = 16;
constexpr int64_t kPack = 8;       // halves that rows of y are made of
constexpr int64_t kWarpRows = 16;  // that a warp finishes at once

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles that a product may take: tensor cores, bytes into a multiprocessor, and sums that are finished while nothing
// is multiplied.
double cyclesOf(const Mma90Shape& shape, int64_t rows, const Mma90Weights& weights) {
  constexpr double kStart = 3000, kBytesAClock = 45, kOfPass = 130, kSmallPieces = 1.5;
  const auto real = [](int64_t v) { return static_cast<double>(v); };
  const auto order = shape.order(rows, weights.tiles());
  const double waves = real(divided(order.tiles, multiprocessors() / shape.parts));
  const double tensor = real(2 * shape.tileGroups() * shape.rows);
  const double bytes = real(shape.tileGroups() * kMma90TileBytes + shape.rows * kMma90Bytes / shape.parts);
  const double loop = real(weights.steps()) * std::max(tensor * 1.1, bytes / kBytesAClock);
  const double finish = real(shape.columnGroups * shape.rows / kWarpRows) * kOfPass *
                        (shape.pieceRows() == kMma90PieceRows ? 1 : kSmallPieces);
  const bool inTurns = shape.schedule == Schedule::kInTurns;
  return kStart + waves * (inTurns ? std::max(loop, finish / 2) : loop + finish) + (inTurns ? finish : 0);
}

}  // namespace

Mma90Order Mma90Shape::order(int64_t productRows, int64_t tilesOfColumns) const {
  constexpr int64_t kBand = 16;
  Mma90Order order;
  const int64_t across = divided(divided(tilesOfColumns, tileGroups()), parts);
  const int64_t down = divided(productRows, rows);
  order.across = static_cast<int32_t>(across);
  order.down = static_cast<int32_t>(down);
  order.band = static_cast<int32_t>(std::min(down, kBand));
  order.tiles = static_cast<int32_t>(across * down);
  return order;
}

std::vector<Mma90Shape> mma90PersistentShapes(int64_t rows, const Mma90Weights& weights, size_t most, bool keeps) {
  if (weights.groups > 1 || weights.isExact || rows >= int64_t{1} << 30) return {};
  struct Form {
    Schedule schedule;
    int64_t runs, mostRows, parts;
    size_t most;  // heights of it
  };
  static constexpr Form kForms[] = {{Schedule::kInTurns, 2, 192, 1, 2},  {Schedule::kInTurns, 2, 192, 2, 1},
                                    {Schedule::kTogether, 1, 256, 1, 1}, {Schedule::kTogether, 1, 256, 2, 1},
                                    {Schedule::kInTurns, 1, 256, 1, 1},  {Schedule::kTogether, 2, 192, 2, 1}};
  struct Rated {
    double cycles;
    Mma90Shape shape;
  };
  const auto isFaster = [](const Rated& a, const Rated& b) { return a.cycles < b.cycles; };
  std::vector<Rated> rated;
  for (const auto& form : kForms) {
    std::vector<Rated> ofForm;
    for (int64_t height = 96; height <= form.mostRows; height += kStepOfRows) {
      Mma90Shape shape{height, form.runs, 1, form.parts, 1};
      shape.schedule = form.schedule;
      shape.normalizes = weights.scaled;
      shape.keeps = keeps;
      const int64_t left = kMma90MostShared - kMma90HeadBytes - kMma90EndingBytes;
      shape.stages = std::min<int64_t>(left / shape.stageBytes(), kMma90MostStages);
      if (!shape.refusal(weights.steps()).empty() || divided(rows, height) > kMma90MostTiles) continue;
      if (divided(rows, height) * divided(weights.tiles(), shape.tileGroups()) >= int64_t{1} << 30) continue;
      const auto order = shape.order(rows, weights.tiles());
      if (order.tiles * shape.parts * 10 < multiprocessors() * 9) continue;  // much of the chip would have no tile
      ofForm.push_back({cyclesOf(shape, rows, weights), shape});
    }
    std::stable_sort(ofForm.begin(), ofForm.end(), isFaster);
    ofForm.resize(std::min(ofForm.size(), form.most));
    rated.insert(rated.end(), ofForm.begin(), ofForm.end());
  }
  std::stable_sort(rated.begin(), rated.end(), isFaster);
  std::vector<Mma90Shape> result;
  for (const auto& one : rated) {
    if (result.size() < most) result.push_back(one.shape);
  }
  return result;
}

bool Mma90Record::carries() const { return (shape.isPersistent() || shape.hasWholeRows()) && mayCarry(); }

bool Mma90Record::mayCarry() const {
  const auto first = kinds.find('w');
  return bits(types.outputs[0]) == 16 && weights.columns % kPack == 0 &&
         (first == std::string::npos || (kinds.find('w', first + 1) == std::string::npos &&
                                         isFloating(types.inputs[first + 2]) && bits(types.inputs[first + 2]) == 16));
}

Code Mma90Record::persistentCode() const {
  std::vector<DataType> inputs{ops::accumulatorType(types.inputs[0])};
  inputs.insert(inputs.end(), types.inputs.begin() + 2, types.inputs.end());
  std::string members, columnMembers, loads, columnLoads, fetches, values;
  for (size_t k = 1; k < inputs.size(); ++k) {
    const auto type = cudaName(inputs[k]);
    const char kind = kinds[k - 1];
    auto& member = kind == 'w' ? members : columnMembers;
    auto& load = kind == 'w' ? loads : columnLoads;
    member += kind == 's' ? fmt::format(" {} x{};", type, k) : fmt::format(" Kept<{}, kWidth> x{};", type, k);
    load += kind == 's' ? fmt::format("    to.x{0} = *(const {1}*)p.data[{0}];\n", k, type)
                        : fmt::format("    to.x{0}.load((const {1}*)p.data[{0}] + {2});\n", k, type,
                                      kind == 'w' ? "offset" : "column");
    if (kind == 'w') fetches += fmt::format("    fetchLines((const {}*)p.data[{}] + offset);\n", type, k);
    values +=
        fmt::format("  const auto x{0} = Scalar<{1}>::load({2}.x{0}{3});\n", k, type, kind == 'w' ? "from" : "fixed",
                    kind == 's'   ? ""
                    : kind == 'w' ? ".at(i)"
                                  : ".at(j)");
  }
  if (norm) {  // the columns' numbers of rows that are normalized, but neither scaled nor shifted
    columnMembers += " Kept<float, kWidth> unit, shift;";
    columnLoads += fmt::format(
        "    const float* const numbers = p.norm.columns + column / {0} * {1} + column % {0};\n"
        "    to.unit.load(numbers);\n    to.shift.load(numbers + {2});\n",
        kMma90Columns, kMma90ColumnNumbers, 2 * kMma90Columns);
    values += "  x0 = fmaf(x0, fixed.unit.at(j), fixed.shift.at(j));\n";
  }
  std::string result;
  const auto statements = scalarStatements(op.epilogue, inputs, result);
  const std::string member = "  template <int kWidth>\n  __device__ __forceinline__ static";
  std::string text =
      fmt::format("#include \"warp_group.cuh\"\ntypedef {} X;\ntypedef float A;\nconstexpr bool kInParts = false;\n",
                  cudaName(types.inputs[0]));
  text += mma90ProductText(shape.rows, types.inputs[0]);
  text += fmt::format("#include \"mma90_{}.cuh\"\n\n", shape.hasWholeRows() ? "rows"
                                                       : carries()          ? "carried"
                                                                            : "passed");
  text += fmt::format(
      "typedef {} Y;\nstruct Finish {{\n  template <int kWidth>\n  struct Inputs {{{} }};\n"
      "  template <int kWidth>\n  struct ColumnInputs {{{} }};\n",
      cudaName(types.outputs[0]), members, columnMembers);
  text += member + " void load(const Mma90Parameters& p, i64 offset, Inputs<kWidth>& to) {\n" + loads + "  }\n";
  text += fmt::format("  static const bool kReads = {};\n", !fetches.empty());
  text +=
      "  __device__ __forceinline__ static void fetch(const Mma90Parameters& p, i64 offset) {\n" + fetches + "  }\n";
  text += member + " void loadColumns(const Mma90Parameters& p, int column, ColumnInputs<kWidth>& to) {\n" +
          columnLoads + "  }\n";
  text += fmt::format("  __device__ __forceinline__ static void setPair(Inputs<2>& to, unsigned bits) {{{}}}\n",
                      carries() && wholeInput() != 0 ? fmt::format(" to.x{}.pairs.e[0] = bits; ", wholeInput()) : "");
  text +=
      "  template <typename From, typename Fixed>\n  __device__ __forceinline__ static float compute("
      "float x0, const From& from, int i, const Fixed& fixed, int j) {\n";
  text += fmt::format("{}{}  return as<float>({});\n  }}\n}};\n\n", values, statements, result);
  if (ends) {
    text += fmt::format("typedef Mma90WholeRows<{}, {}, {}, {}, {}, Y, Finish> Product;\n", shape.rows,
                        shape.columnGroups, shape.parts, ends->centered, ends->keepSum);
  } else {
    text +=
        fmt::format("typedef Mma90Persistent<{}, {}, {}, {}, {}, {}, {}, {}, Y, Finish, {}> Product;\n", shape.rows,
                    shape.columnGroups, shape.schedule == Schedule::kInTurns, shape.parts == 2, weights.columnsAtOnce(),
                    windowAxes(), shape.omits, moreText(), carries() ? "Carried" : "Passed");
  }
  text +=
      fmt::format("KERNEL_WITHOUT_WAIT(__launch_bounds__({}, 1), tenon_mma90, Mma90Parameters) {{\n", shape.threads());
  text += "  Product::run(p);\n}\n";
  if (norm || measures) text += "#include \"mma90_apart.cuh\"\nKERNEL(tenon_mma90_apart, Mma90Parameters) {\n";
  if (norm) text += fmt::format("  Mma90Apart::normalize<{}, {}>(p);\n}}\n", norm->centered, keeps);
  if (measures) text += "  Mma90Apart::measure<Y>(p);\n}\n";
  return {"", {}, text};
}

}  // namespace tenon::backends::cuda
