// IEinsumLayer: diagonals, sums, products of two operands at a time from left to right, and a transposition.
#include <algorithm>

#include "api/network/einsum_equation.h"
#include "api/network/formula.h"

namespace tenon::api {
namespace {

using Labels = std::vector<EinsumLabel>;

bool holds(const Labels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Operand {
  Formula value;
  Labels labels;

  Extent extent(EinsumLabel label) const {
    return value.dim(static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin()));
  }
};

// Axes in the order of `wanted`, which has the same labels.
Operand ordered(const Operand& operand, const Labels& wanted) {
  std::vector<int64_t> permutation;
  for (const EinsumLabel label : wanted) {
    permutation.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin());
  }
  return {operand.value.transpose(std::move(permutation)), wanted};
}

// Two axes of one label become one: [.., n, n] as [.., n * n], of which every (n + 1)-th element stands on the
// diagonal.
Operand withoutRepeats(Operand operand) {
  for (size_t i = 0; i < operand.labels.size();) {
    const EinsumLabel label = operand.labels[i];
    const auto second =
        std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, operand.labels.end(), label);
    if (second == operand.labels.end()) {
      ++i;
      continue;
    }
    const auto j = second - operand.labels.begin();
    std::vector<int64_t> permutation;
    Labels rest;
    for (size_t k = 0; k < operand.labels.size(); ++k) {
      if (k == i || k == static_cast<size_t>(j)) continue;
      permutation.push_back(static_cast<int64_t>(k));
      rest.push_back(operand.labels[k]);
    }
    permutation.push_back(static_cast<int64_t>(i));
    permutation.push_back(j);
    const Formula turned = operand.value.transpose(std::move(permutation));
    LowerContext& context = turned.context();
    const Extent n = turned.dim(-1);
    context.check(turned.dim(-2) == n, "the axes of one label in an operand have the extents {} and {}; expected equal",
                  turned.dim(-2).text(), n.text());
    context.check(n.isConstant(), "the axes of one label in an operand have the extent {}; expected a constant",
                  n.text());
    Shape flat(turned.shape().begin(), turned.shape().end() - 2);
    flat.push_back(n * n);
    const auto axis = static_cast<int>(flat.size()) - 1;
    rest.push_back(label);
    operand = {turned.reshape(std::move(flat)).slice(axis, Extent(0), n, n.constant() + 1), rest};
  }
  return operand;
}

// Adds up what nobody asks for any more.
Operand summed(const Operand& operand, const Labels& kept) {
  std::vector<int64_t> axes;
  Labels rest;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (holds(kept, operand.labels[i])) {
      rest.push_back(operand.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return {operand.value.reduce(ops::ReduceOp::kSum, std::move(axes), false), rest};
}

// The axes of `all`, of extent 1 where the operand has none.
Formula aligned(const Operand& operand, const Labels& all) {
  Labels own;
  Shape shape;
  for (const EinsumLabel label : all) {
    if (holds(operand.labels, label)) own.push_back(label);
    shape.push_back(holds(operand.labels, label) ? operand.extent(label) : Extent(1));
  }
  return ordered(operand, own).value.reshape(std::move(shape));
}

Extent product(const Operand& operand, const Labels& labels) {
  Extent result(1);
  for (const EinsumLabel label : labels) result = result * operand.extent(label);
  return result;
}

// [batch.., rows, columns] of an operand, the labels of either side in one axis.
Formula matrix(const Operand& operand, const Labels& batch, const Labels& rows, const Labels& columns) {
  Labels order = batch;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  Shape shape;
  for (const EinsumLabel label : batch) shape.push_back(operand.extent(label));
  shape.push_back(product(operand, rows));
  shape.push_back(product(operand, columns));
  return ordered(operand, order).value.reshape(std::move(shape));
}

// Contracted labels must have one extent on both sides; 1 stretches.
Operand stretched(const Operand& operand, const Operand& other, const Labels& contracted) {
  Shape wanted = operand.value.shape();
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (holds(contracted, operand.labels[i]) && wanted[i].isConstant(1)) wanted[i] = other.extent(operand.labels[i]);
  }
  return {operand.value.expand(wanted), operand.labels};
}

Operand multiplied(const Operand& left, const Operand& right, const Labels& kept) {
  Labels both, contracted, leftOnly, rightOnly;
  for (const EinsumLabel label : left.labels) {
    (holds(right.labels, label) ? (holds(kept, label) ? both : contracted) : leftOnly).push_back(label);
  }
  for (const EinsumLabel label : right.labels) {
    if (!holds(left.labels, label)) rightOnly.push_back(label);
  }
  Labels all = both;
  all.insert(all.end(), leftOnly.begin(), leftOnly.end());
  all.insert(all.end(), rightOnly.begin(), rightOnly.end());
  if (contracted.empty()) return {aligned(left, all) * aligned(right, all), all};
  const Formula result = matrix(stretched(left, right, contracted), both, leftOnly, contracted)
                             .matmul(matrix(stretched(right, left, contracted), both, contracted, rightOnly));
  Shape shape(result.shape().begin(), result.shape().end() - 2);
  for (const EinsumLabel label : leftOnly) shape.push_back(left.extent(label));
  for (const EinsumLabel label : rightOnly) shape.push_back(right.extent(label));
  return {result.reshape(std::move(shape)), all};
}

class EinsumLayer final : public LayerOf<nv::IEinsumLayer, nv::apiv::VEinsumLayer, nv::LayerType::kEINSUM> {
 public:
  using LayerOf::LayerOf;

  bool setEquation(const char* equation) noexcept override {
    return guarded(reporter(), "IEinsumLayer::setEquation", false, [&] {
      checkUser(equation != nullptr, "layer '{}': the equation is null", name());
      EinsumEquation::parse(equation);
      equation_ = equation;
      changed();
      return true;
    });
  }
  const char* getEquation() const noexcept override { return equation_.c_str(); }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    std::vector<graph::ValueId> values;
    std::vector<int> ranks;
    for (size_t i = 0; i < context.inputCount(); ++i) {
      values.push_back(context.input(i));
      ranks.push_back(context.rank(values.back()));
    }
    std::vector<graph::ValueId*> pointers;
    for (auto& value : values) pointers.push_back(&value);
    context.unify(pointers);
    EinsumEquation equation;
    try {
      equation = EinsumEquation::parse(equation_).resolve(ranks);
    } catch (const UserError& error) {
      context.fail("equation '{}': {}", equation_, error.what());
    }
    // What later operands or the result still need of the operands before.
    const auto keptAfter = [&](size_t last) {
      Labels kept = equation.result;
      for (size_t i = last + 1; i < values.size(); ++i) {
        kept.insert(kept.end(), equation.operands[i].begin(), equation.operands[i].end());
      }
      return kept;
    };
    const auto operand = [&](size_t i) { return withoutRepeats({Formula(context, values[i]), equation.operands[i]}); };
    Operand result = summed(operand(0), keptAfter(0));
    for (size_t i = 1; i < values.size(); ++i) {
      const Labels kept = keptAfter(i);
      Labels needed = kept;
      needed.insert(needed.end(), result.labels.begin(), result.labels.end());
      const Operand right = summed(operand(i), needed);
      needed = kept;
      needed.insert(needed.end(), right.labels.begin(), right.labels.end());
      result = multiplied(summed(result, needed), right, kept);
    }
    return {ordered(result, equation.result).value.id()};
  }

 private:
  std::string equation_;
};

}  // namespace

LayerInfo layerInfo_einsum() { return describeLayer<EinsumLayer>(); }

}  // namespace tenon::api
