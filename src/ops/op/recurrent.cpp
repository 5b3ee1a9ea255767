// Recurrent: shape rule and reference in double.
#include "ops/op/recurrent.h"

#include <algorithm>
#include <cmath>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

size_t functionCount(Cell cell) { return cell == Cell::kLstm ? 3 : cell == Cell::kGru ? 2 : 1; }

// One direction of one row of the batch.
class Row {
 public:
  Row(const Recurrent& op, const EvalContext& context, int64_t direction, int64_t row)
      : op_(op),
        context_(context),
        places_(op.places()),
        hidden_(context.inputs[1].dims[2]),
        direction_(direction),
        row_(row),
        state_(static_cast<size_t>(hidden_), 0.0),
        cell_(state_) {
    const int64_t line = (direction * context.inputs[0].dims[1] + row) * hidden_;
    for (int64_t j = 0; j < hidden_; ++j) {
      if (op.hasFirst) at(state_, j) = input(places_.first).loadDouble(line + j);
      if (op.hasFirstCell) at(cell_, j) = input(places_.firstCell).loadDouble(line + j);
    }
  }

  void run() {
    const auto& products = context_.inputs[0].dims;
    const int64_t directions = context_.inputs[1].dims[0];
    const int64_t steps = products[0];
    const bool isReverse = direction_ == 1 || op_.reverse;
    const int64_t length = op_.hasLengths ? input(places_.lengths).loadInt(row_) : steps;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t time = isReverse ? steps - 1 - i : i;
      const int64_t line = (time * products[1] + row_) * directions + direction_;
      const bool isThere = time < length;
      if (isThere) step(op_.takesInput ? productsOf(time * products[1] + row_) : given(line));
      for (int64_t j = 0; j < hidden_; ++j)
        context_.outputs[0].storeDouble(line * hidden_ + j, isThere ? at(state_, j) : 0.0);
    }
    const int64_t last = (direction_ * products[1] + row_) * hidden_;
    for (int64_t j = 0; j < hidden_; ++j) {
      context_.outputs[1].storeDouble(last + j, at(state_, j));
      if (op_.cell == Cell::kLstm) context_.outputs[2].storeDouble(last + j, at(cell_, j));
    }
  }

 private:
  static double& at(std::vector<double>& v, int64_t i) { return v[static_cast<size_t>(i)]; }
  const TensorView& input(int place) const { return context_.inputs[static_cast<size_t>(place)]; }
  double gate(size_t function, double x) const {
    const auto f = op_.function(function);
    return evaluate(f.kind, f.a, f.b, op_.clip > 0 ? std::clamp(x, -op_.clip, op_.clip) : x);
  }
  double sum(int64_t gate, int64_t unit, const std::vector<double>& state) const {
    const int64_t row = ((direction_ * op_.gates() + gate) * hidden_ + unit) * hidden_;
    double result = 0;
    for (int64_t k = 0; k < hidden_; ++k)
      result += context_.inputs[1].loadDouble(row + k) * state[static_cast<size_t>(k)];
    return result;
  }
  double peephole(int64_t index, int64_t unit, double cell) const {
    if (!op_.hasPeepholes) return 0;
    return input(places_.peepholes).loadDouble((direction_ * 3 + index) * hidden_ + unit) * cell;
  }

  // Of all gates and units.
  std::vector<double> given(int64_t line) const {
    std::vector<double> result(static_cast<size_t>(op_.gates() * hidden_));
    for (int64_t i = 0; i < op_.gates() * hidden_; ++i)
      at(result, i) = context_.inputs[0].loadDouble(line * op_.gates() * hidden_ + i);
    return result;
  }
  std::vector<double> productsOf(int64_t line) const {
    const int64_t width = context_.inputs[0].dims[2];
    const int64_t rows = op_.gates() * hidden_;
    std::vector<double> result(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = direction_ * rows + i;
      if (op_.hasInputBias) at(result, i) = input(places_.inputBias).loadDouble(row);
      for (int64_t k = 0; k < width; ++k)
        at(result, i) +=
            input(places_.inputWeights).loadDouble(row * width + k) * context_.inputs[0].loadDouble(line * width + k);
    }
    return result;
  }

  void step(const std::vector<double>& products) {
    const auto product = [&](int64_t gate, int64_t unit) {
      return products[static_cast<size_t>(gate * hidden_ + unit)];
    };
    std::vector<double> next(state_.size());
    std::vector<double> reset = state_;
    if (op_.cell == Cell::kGru && !op_.late) {
      for (int64_t j = 0; j < hidden_; ++j) at(reset, j) *= gate(0, product(1, j) + sum(1, j, state_));
    }
    for (int64_t j = 0; j < hidden_; ++j) {
      switch (op_.cell) {
        case Cell::kRnn: at(next, j) = gate(0, product(0, j) + sum(0, j, state_)); break;
        case Cell::kGru: {
          const double z = gate(0, product(0, j) + sum(0, j, state_));
          const double inner =
              sum(2, j, reset) + (op_.hasBias ? input(places_.bias).loadDouble(direction_ * hidden_ + j) : 0);
          const double factor = op_.late ? gate(0, product(1, j) + sum(1, j, state_)) : 1;
          at(next, j) = (1 - z) * gate(1, product(2, j) + factor * inner) + z * at(state_, j);
          break;
        }
        case Cell::kLstm: {
          const double before = at(cell_, j);
          const double i = gate(0, product(0, j) + sum(0, j, state_) + peephole(0, j, before));
          const double f = op_.coupled ? 1 - i : gate(0, product(2, j) + sum(2, j, state_) + peephole(2, j, before));
          at(cell_, j) = f * before + i * gate(1, product(3, j) + sum(3, j, state_));
          const double o = gate(0, product(1, j) + sum(1, j, state_) + peephole(1, j, at(cell_, j)));
          at(next, j) = o * gate(2, at(cell_, j));
          break;
        }
      }
    }
    state_ = std::move(next);
  }

  const Recurrent& op_;
  const EvalContext& context_;
  Recurrent::Places places_;
  int64_t hidden_, direction_, row_;
  std::vector<double> state_;
  std::vector<double> cell_;
};

}  // namespace

double evaluate(GateFunction function, double a, double b, double x) {
  switch (function) {
    case GateFunction::kSigmoid: return 1 / (1 + std::exp(-x));
    case GateFunction::kTanh: return std::tanh(x);
    case GateFunction::kRelu: return x > 0 ? x : x * 0;
    case GateFunction::kAffine: return a * x + b;
    case GateFunction::kLeakyRelu: return x >= 0 ? x : a * x;
    case GateFunction::kThresholdedRelu: return x > a ? x : 0;
    case GateFunction::kScaledTanh: return a * std::tanh(b * x);
    case GateFunction::kHardSigmoid: return std::max(0.0, std::min(1.0, a * x + b));
    case GateFunction::kElu: return x >= 0 ? x : a * std::expm1(x);
    case GateFunction::kSoftsign: return x / (1 + std::abs(x));
    case GateFunction::kSoftplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  }
  return 0;
}

Recurrent::Function Recurrent::function(size_t index) const {
  if (index >= functionCount(cell)) return {};
  Function result;
  if (functions.empty()) {
    result.kind = index == 0 && cell != Cell::kRnn ? GateFunction::kSigmoid : GateFunction::kTanh;
  } else {
    result.kind = functions[index];
  }
  if (!a.empty()) result.a = a[index];
  if (!b.empty()) result.b = b[index];
  return result;
}

Recurrent::Places Recurrent::places() const {
  Places result;
  const auto place = [&](bool isThere) { return isThere ? result.count++ : -1; };
  result.bias = place(hasBias);
  result.peepholes = place(hasPeepholes);
  result.first = place(hasFirst);
  result.firstCell = place(hasFirstCell);
  result.lengths = place(hasLengths);
  result.inputWeights = place(takesInput);
  result.inputBias = place(hasInputBias);
  return result;
}

Facts Recurrent::facts() const { return {}; }

void Recurrent::infer(InferContext& context) const {
  const auto& products = context.input(0);
  const auto& weights = context.input(1);
  const size_t count = functionCount(cell);
  for (const size_t given : {functions.size(), a.size(), b.size()})
    context.check(given == 0 || given == count, "{} functions or parameters; expected {} of the cell", given, count);
  context.check(cell == Cell::kLstm || (!hasPeepholes && !hasFirstCell && !coupled),
                "peepholes, a cell and coupled gates are those of an lstm");
  context.check(cell == Cell::kGru || (!hasBias && !late), "a bias and a late reset are those of a gru");
  checkFloating(context, 0);
  checkSameType(context, 0, 1);
  context.check(takesInput || !hasInputBias, "an input's bias without its weights");
  if (takesInput) {
    context.check(products.rank() == 3 && weights.rank() == 3, "input {} and weights {}; expected 3 axes each",
                  text(products.shape), text(weights.shape));
  } else {
    context.check(products.rank() == 4 && weights.rank() == 3, "products {} and weights {}; expected 4 and 3 axes",
                  text(products.shape), text(weights.shape));
  }
  context.check(weights.shape[0].isConstant() && weights.shape[2].isConstant() && weights.shape[0].constant() >= 1 &&
                    weights.shape[0].constant() <= 2,
                "weights {}; expected 1 or 2 directions and a hidden size that are constant", text(weights.shape));
  const Extent directions =
      takesInput ? weights.shape[0] : context.merge(weights.shape[0], products.shape[2], "directions");
  const Extent hidden = weights.shape[2];
  const Extent batch = products.shape[1];
  context.check(!reverse || directions == Extent(1), "reverse with two directions");
  context.merge(weights.shape[1], hidden * Extent(gates()), "rows of the weights");
  if (!takesInput) context.merge(products.shape[3], hidden * Extent(gates()), "columns of the products");
  const auto expect = [&](int place, const Shape& shape, std::string_view role) {
    if (place < 0) return;
    const auto& input = context.input(static_cast<size_t>(place));
    checkSameType(context, 0, static_cast<size_t>(place));
    context.check(input.shape.size() == shape.size(), "{} {}; expected {}", role, text(input.shape), text(shape));
    for (size_t i = 0; i < shape.size(); ++i) context.merge(input.shape[i], shape[i], role);
  };
  const auto at = places();
  expect(at.bias, {directions, hidden}, "bias");
  expect(at.peepholes, {directions, hidden * Extent(3)}, "peepholes");
  expect(at.first, {directions, batch, hidden}, "first state");
  expect(at.firstCell, {directions, batch, hidden}, "first cell");
  if (takesInput) expect(at.inputWeights, {directions, hidden * Extent(gates()), products.shape[2]}, "input's weights");
  expect(at.inputBias, {directions, hidden * Extent(gates())}, "input's bias");
  if (at.lengths >= 0) {
    const auto& lengths = context.input(static_cast<size_t>(at.lengths));
    context.check((lengths.dtype == DataType::kI32 || lengths.dtype == DataType::kI64) && lengths.rank() == 1,
                  "lengths {} {}; expected i32 or i64 [batch]", name(lengths.dtype), text(lengths.shape));
    context.merge(lengths.shape[0], batch, "lengths");
  }
  context.output(products.dtype, {products.shape[0], batch, directions, hidden});
  context.output(products.dtype, {directions, batch, hidden});
  if (cell == Cell::kLstm) context.output(products.dtype, {directions, batch, hidden});
}

void Recurrent::evaluate(const EvalContext& context) const {
  for (int64_t direction = 0; direction < context.inputs[1].dims[0]; ++direction) {
    for (int64_t row = 0; row < context.inputs[0].dims[1]; ++row) Row(*this, context, direction, row).run();
  }
}

OperatorInfo operatorInfo_recurrent() { return describe<Recurrent>(); }

}  // namespace tenon::ops
