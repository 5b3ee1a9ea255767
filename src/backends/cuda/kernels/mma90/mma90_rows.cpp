// Products whose rows are normalized by the clusters that compute them: which composites, which shapes of tiles.
#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kFactors = 2;  // scale and shift, behind the product's inputs

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles that it may take.
double cyclesOf(const Mma90Shape& shape, int64_t rows, const Mma90Weights& weights) {
  constexpr double kStart = 3000, kBytesAClock = 45, kEnd = 2000, kOfRow = 14;
  const auto real = [](int64_t v) { return static_cast<double>(v); };
  const double waves = real(divided(divided(rows, shape.rows), mma90Clustered(shape.parts) / shape.parts));
  const double tensor = real(2 * shape.columnGroups * shape.rows) * 1.1;
  const double bytes = real(shape.columnGroups * kMma90TileBytes + shape.rows * kMma90Bytes / shape.parts);
  return kStart +
         waves * (real(weights.steps()) * std::max(tensor, bytes / kBytesAClock) + kEnd + kOfRow * real(shape.rows));
}

}  // namespace

Mma90RowsComposite::Mma90RowsComposite(const ops::Operator& op) {
  refusal = "it computes composites of a product and the normalization of its rows";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() != 2) return;
  const auto& [first, firstInputs] = composite->parts[0];
  const auto& [second, inputs] = composite->parts[1];
  const auto* matmul = first.as<ops::MatMul>();
  const auto* normalization = second.as<ops::Normalization>();
  if (matmul == nullptr || normalization == nullptr || normalization->skip || normalization->groups != 1 ||
      normalization->axes.size() != 1)
    return;
  const auto count = static_cast<int32_t>(firstInputs.size());
  for (int32_t i = 0; i < count; ++i) {
    if (firstInputs[static_cast<size_t>(i)] != i) return;
  }
  keeps = composite->outputs == std::vector<int32_t>{1, 0};
  if (count < 2 || inputs != std::vector<int32_t>{-1, count, count + 1} ||
      (!keeps && composite->outputs != std::vector<int32_t>{1}))
    return;
  product = *matmul;
  norm = *normalization;
  norm.keepSum = keeps;
  refusal.clear();
}

Mma90Composite::Product Mma90RowsComposite::productOf(const runtime::Shapes& shapes) const {
  Mma90Composite::Product result;
  result.inputs.assign(shapes.inputs.begin(), shapes.inputs.end() - kFactors);
  result.outputs.push_back(shapes.outputs[0]);
  result.symbols = shapes.symbols;
  return result;
}

std::string Mma90RowsComposite::shapesRefusal(const runtime::Shapes& shapes) const {
  const auto& y = shapes.outputs[0];
  const int64_t columns = y.dims[y.dims.rank - 1];
  const int64_t axis = norm.axes[0];
  if (axis != -1 && axis != y.dims.rank - 1) return fmt::format("a normalization along axis {}", axis);
  if (bits(y.dtype) != 16) return fmt::format("rows of {}", name(y.dtype));
  if (columns % kMma90Columns != 0) return fmt::format("{} columns; only multiples of {}", columns, kMma90Columns);
  for (const auto& factor : shapes.inputs.last(kFactors)) {
    if (factor.dims.count() != columns || factor.dims[factor.dims.rank - 1] != columns ||
        factor.dtype != shapes.inputs[0].dtype)
      return fmt::format("factors {} of {}", factor.dims.text(), name(factor.dtype));
  }
  return {};
}

std::vector<Mma90Shape> mma90RowsShapes(int64_t rows, const Mma90Weights& weights, size_t most) {
  struct Rated {
    double cycles;
    Mma90Shape shape;
  };
  std::vector<Rated> rated;
  if (weights.columns % kMma90Columns != 0 || weights.bytes != 2) return {};
  for (int64_t groups = 1; groups <= 4; ++groups) {
    const int64_t parts = weights.columns / (kMma90Columns * groups);
    if (weights.columns % (kMma90Columns * groups) != 0) continue;
    for (int64_t height = 16; height <= kMma90MostRows; height += 16) {
      if (divided(rows, height) > kMma90MostTiles) continue;
      Mma90Shape shape{height, groups, 1, parts, kMma90MostStages};
      shape.schedule = Mma90Shape::Schedule::kWholeRows;
      while (shape.stages > 2 && shape.sharedBytes() > kMma90MostShared) --shape.stages;
      constexpr int64_t kFewStages = 3;
      if (shape.stages < kFewStages || !shape.refusal(weights.steps()).empty()) continue;
      rated.push_back({cyclesOf(shape, rows, weights), shape});
    }
  }
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.cycles < b.cycles; });
  constexpr int64_t kHeights = 2;  // of tiles that are divided alike
  std::vector<Mma90Shape> result;
  for (const auto& one : rated) {
    const auto alike =
        std::count_if(result.begin(), result.end(), [&](const auto& other) { return other.parts == one.shape.parts; });
    if (result.size() < most && alike < kHeights) result.push_back(one.shape);
  }
  return result;
}

Mma90Record::Mma90Record(const Mma90RowsComposite& op, const plan::KernelRecord& record)
    : Mma90Record(op.product, record) {
  if (!op.refusal.empty()) throw Unsupported("a product by warpgroups: {}", op.refusal);
  if (!shape.hasWholeRows() || weights.taps != 0 || weights.bytes != 2 || !mayCarry() ||
      weights.columns != shape.parts * shape.columnGroups * kMma90Columns)
    throw UserError("parameters of a kernel of backend cuda: '{}' are not those of '{}'", record.params, record.op);
  ends = op.norm;
}

}  // namespace tenon::backends::cuda
