// Products with parts of a normalization: which composites, their records, their weights.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cuda/kernels/mma90/mma90.h"
#include "ops/op/composite.h"
#include "ops/op/row_moments.h"

namespace tenon::backends::cuda {

Mma90Composite::Mma90Composite(const ops::Operator& op) {
  refusal = "it computes composites of a product and what normalizes its rows, or measures those of its result";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() != 2) return;
  const auto& [first, firstInputs] = composite->parts[0];
  const auto& [second, inputs] = composite->parts[1];
  const auto inOrder = [](const std::vector<int32_t>& operands, int32_t from) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != from + static_cast<int32_t>(i)) return false;
    }
    return true;
  };
  if (const auto* matmul = first.as<ops::MatMul>()) {
    const auto* moments = second.as<ops::RowMoments>();
    const bool fits = moments != nullptr && moments->run == kMma90Columns && inOrder(firstInputs, 0) &&
                      inputs == std::vector<int32_t>{-1} && composite->outputs == std::vector<int32_t>{0, 1};
    if (!fits) return;
    product = *matmul;
    measures = true;
  } else {
    const auto* rows = first.as<ops::NormalizeRows>();
    const auto* behind = second.as<ops::MatMul>();
    const bool fits = rows != nullptr && behind != nullptr && rows->run == kMma90Columns &&
                      firstInputs == std::vector<int32_t>{0, 1, 2, 3} && !inputs.empty() && inputs[0] == -1 &&
                      inOrder({inputs.begin() + 1, inputs.end()}, static_cast<int32_t>(kNormalizedWeights));
    keeps = composite->outputs == std::vector<int32_t>{1, 0};
    if (!fits || (!keeps && composite->outputs != std::vector<int32_t>{1})) return;
    norm = *rows;
    product = *behind;
  }
  refusal.clear();
}

std::string Mma90Composite::shapesRefusal(const runtime::Shapes& shapes) const {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  if (bits(x.dtype) != 16) return fmt::format("rows of {}", name(x.dtype));
  if (measures && y.dims[y.dims.rank - 1] % 8 != 0)
    return fmt::format("{} columns; moments are computed of multiples of 8", y.dims[y.dims.rank - 1]);
  return {};
}

Mma90Composite::Product Mma90Composite::productOf(const runtime::Shapes& shapes) const {
  Product result;
  result.inputs.push_back(shapes.inputs[0]);
  result.inputs.insert(result.inputs.end(), shapes.inputs.begin() + static_cast<std::ptrdiff_t>(weights()),
                       shapes.inputs.end());
  result.outputs.push_back(shapes.outputs[0]);
  result.symbols = shapes.symbols;
  return result;
}

Mma90Weights Mma90Composite::weightsOf(const Product& product) const {
  return Mma90Weights::of(product.shapes(), 0, 1, norm.has_value());
}

Mma90Record::Mma90Record(const Mma90Composite& op, const plan::KernelRecord& record) : Mma90Record(op.product, record) {
  if (!op.refusal.empty()) throw Unsupported("a product by warpgroups: {}", op.refusal);
  if (shape.hasWholeRows() || shape.normalizes != op.norm.has_value() || shape.keeps != op.keeps || weights.taps != 0 ||
      weights.bytes != 2 || (op.measures && weights.columns % 8 != 0))
    throw UserError("parameters of a kernel of backend cuda: '{}' are not those of '{}'", record.params, record.op);
  norm = op.norm;
  keeps = op.keeps;
  measures = op.measures;
  weights.scaled = norm.has_value();
}

namespace {

// The values of all halves of a type: weights are looked up several times.
const float* valuesOf(DataType type) {
  const auto make = [](float (*convert)(uint16_t)) {
    auto* const table = new std::vector<float>(1 << 16);
    for (size_t i = 0; i < table->size(); ++i) (*table)[i] = convert(static_cast<uint16_t>(i));
    return table;
  };
  if (type == DataType::kF16) {
    static const auto* const kHalves = make([](uint16_t bits) { return halfToFloat(bits); });
    return kHalves->data();
  }
  static const auto* const kBfloats = make([](uint16_t bits) { return bfloatToFloat(bits); });
  return kBfloats->data();
}

}  // namespace

void Mma90Weights::packScaled(const void* w, const void* factors, const void* shifts, DataType type, void* to) const {
  const float* const values = valuesOf(type);
  const auto element = [values](const void* from, int64_t i) { return values[static_cast<const uint16_t*>(from)[i]]; };
  const auto rounded = [type](float v) { return type == DataType::kF16 ? floatToHalf(v) : floatToBfloat(v); };
  const auto at = [&](int64_t k, int64_t column) { return transposed ? column * inner + k : k * columns + column; };
  const int64_t padded = paddedColumns();
  std::vector<float> factor(static_cast<size_t>(inner)), shift(static_cast<size_t>(inner));
  for (int64_t k = 0; k < inner; ++k) {
    factor[static_cast<size_t>(k)] = element(factors, k);
    shift[static_cast<size_t>(k)] = element(shifts, k);
  }
  // In the order of memory, whichever it is.
  const auto forEach = [&](const auto& visit) {
    for (int64_t outer = 0; outer < (transposed ? columns : inner); ++outer) {
      for (int64_t i = 0; i < (transposed ? inner : columns); ++i)
        visit(transposed ? i : outer, transposed ? outer : i);
    }
  };
  const auto count = static_cast<size_t>(columns);
  std::vector<float> greatest(count), unit(count, 1.f);
  std::vector<double> sums(count), shifted(count);
  std::vector<float> scaledW(static_cast<size_t>(columns * inner));
  forEach([&](int64_t k, int64_t column) {
    const auto i = static_cast<size_t>(at(k, column));
    const auto c = static_cast<size_t>(column);
    const float weight = element(w, static_cast<int64_t>(i));
    scaledW[i] = weight * factor[static_cast<size_t>(k)];
    greatest[c] = std::max(greatest[c], std::abs(scaledW[i]));
    shifted[c] += static_cast<double>(weight) * shift[static_cast<size_t>(k)];
  });
  for (size_t c = 0; c < count; ++c) {
    if (greatest[c] > 0 && std::isfinite(greatest[c])) unit[c] = std::ldexp(1.f, std::ilogb(greatest[c]));
  }
  std::vector<uint16_t> packed(scaledW.size());
  forEach([&](int64_t k, int64_t column) {
    const auto i = static_cast<size_t>(at(k, column));
    const auto c = static_cast<size_t>(column);
    packed[i] = rounded(scaledW[i] / unit[c]);
    sums[c] += element(packed.data(), static_cast<int64_t>(i));
  });
  pack(packed.data(), to);
  auto* behind = reinterpret_cast<float*>(static_cast<char*>(to) + tileBytes());
  std::fill_n(behind, 3 * padded, 0.f);
  for (size_t c = 0; c < count; ++c) {
    float* const numbers = behind + c / kMma90Columns * kMma90ColumnNumbers + c % kMma90Columns;
    numbers[0] = unit[c];
    numbers[kMma90Columns] = static_cast<float>(sums[c]);
    numbers[2 * kMma90Columns] = static_cast<float>(shifted[c]);
  }
  behind += 3 * padded;
  std::copy(factor.begin(), factor.end(), behind);
  std::copy(shift.begin(), shift.end(), behind + inner);
}

}  // namespace tenon::backends::cuda
