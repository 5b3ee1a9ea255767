// Checks and evaluation of shape programs.
#include "ops/shape_binder.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/lazy_text.h"
#include "ops/check.h"
#include "ops/op/pointwise.h"
#include "ops/op/require.h"

namespace tenon::ops {
namespace {

constexpr int32_t kMaxOutputs = 16;

void checkWritten(const ShapeStep& step, size_t index) {
  const int64_t count = step.dims.count();
  const bool floating = isFloating(step.dtype);
  const auto extents = static_cast<int64_t>(step.extents.size());
  const auto numbers = static_cast<int64_t>(step.numbers.size());
  const bool negative = std::any_of(step.dims.begin(), step.dims.end(), [](int64_t extent) { return extent < 0; });
  checkUser(!negative && count <= kMaxShapeValueElements,
            "shape program, step {} ('{}'): the value has the extents {}, expected at most {} elements", index,
            step.layer, textOf(step.dims), kMaxShapeValueElements);
  checkUser(extents == (floating ? 0 : count) && numbers == (floating ? count : 0) && step.inputs.empty() &&
                step.outputs == 1,
            "shape program, step {} ('{}'): a value of {} {} is written with {} integers and {} floating numbers, {} "
            "inputs and {} outputs",
            index, step.layer, name(step.dtype), step.dims.text(), extents, numbers, step.inputs.size(), step.outputs);
}

}  // namespace

bool ShapeBinder::accepts(const Operator& op) {
  const auto facts = op.facts();
  return !facts.contraction && facts.deterministic && !facts.sideEffects;
}

ShapeBinder::ShapeBinder(const ShapeProgram& program) {
  for (const auto& step : program.steps) addStep(step);
  for (const auto& symbol : program.symbols) addSymbol(symbol);
}

void ShapeBinder::addStep(const ShapeStep& record) {
  const size_t index = steps_.size();
  Step step{record, std::nullopt, {}};
  for (const auto& extent : record.extents) extent.collectSymbols(step.symbols);
  if (record.op.empty()) {
    checkWritten(record, index);
  } else {
    try {
      step.op = Operator::parse(record.op);
    } catch (const UserError& error) {
      throw UserError("shape program, step {} ('{}'): {}", index, record.layer, error.what());
    }
    step.op->collectSymbols(step.symbols);
    checkUser(accepts(*step.op), "shape program, step {} ('{}'): the operator {} is not for shape arithmetic", index,
              record.layer, step.op->name());
    checkUser(record.extents.empty() && record.numbers.empty(),
              "shape program, step {} ('{}'): it has an operator and elements, expected one of them", index,
              record.layer);
    checkUser(record.outputs >= 1 && record.outputs <= kMaxOutputs,
              "shape program, step {} ('{}'): {} outputs, expected 1 to {}", index, record.layer, record.outputs,
              kMaxOutputs);
    for (const int32_t input : record.inputs) {
      checkUser(input >= 0 && static_cast<size_t>(input) < producers_.size(),
                "shape program, step {} ('{}'): it reads value {} of the {} in front of it", index, record.layer, input,
                producers_.size());
    }
  }
  producers_.insert(producers_.end(), static_cast<size_t>(record.outputs), static_cast<int32_t>(index));
  steps_.push_back(std::move(step));
}

void ShapeBinder::addSymbol(const ShapeSymbol& symbol) {
  checkUser(!symbol.name.empty(), "shape program: symbol {} has no name", symbols_.size());
  checkUser(symbol.value >= 0 && static_cast<size_t>(symbol.value) < producers_.size() && symbol.element >= 0,
            "shape program: symbol '{}' is element {} of value {} of {}", symbol.name, symbol.element, symbol.value,
            producers_.size());
  symbols_.push_back(symbol);
}

// Integer division by zero gives 0 in the references, so that no kernel traps. As a size it is a mistake of the
// network.
void refuseZeroDivisors(const Operator& op, std::span<const TensorView> inputs) {
  const auto* pointwise = op.as<Pointwise>();
  if (pointwise == nullptr) return;
  for (const auto& instruction : pointwise->expr.instructions) {
    const bool divides = instruction.op == ScalarOp::k_div || instruction.op == ScalarOp::k_floor_div ||
                         instruction.op == ScalarOp::k_mod || instruction.op == ScalarOp::k_fmod;
    const auto& divisor = instruction.arguments[1];
    if (!divides || divisor.kind != ScalarArgument::Kind::kInput) continue;
    const auto& view = inputs[static_cast<size_t>(divisor.index)];
    for (int64_t i = 0; !isFloating(view.dtype) && i < view.count(); ++i)
      checkUser(view.loadInt(i) != 0, "the shape computation divides by 0 (element {})", i);
  }
}

// The values of one evaluation.
struct ShapeBinder::Run {
  const ShapeBinder& binder;
  SymbolValues& symbols;
  Purpose purpose;
  std::vector<HostTensor> values;
  std::vector<bool> known;  // by value: whether it has been evaluated
  int64_t elements = 0;
  size_t bound = 0;

  bool canEvaluate(const Step& step) const {
    const auto& inputs = step.record.inputs;
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](int32_t input) { return known[static_cast<size_t>(input)]; }) &&
           std::all_of(step.symbols.begin(), step.symbols.end(),
                       [&](const std::string& name) { return symbols.contains(name); });
  }

  void leaveOut(const Step& step) {
    for (int32_t i = 0; i < step.record.outputs; ++i) values.emplace_back();
  }

  HostTensor& add(const Step& step, DataType dtype, const Dims& dims) {
    const int64_t count = dims.count();
    const bool fits = count <= kMaxShapeValueElements && elements + count <= kMaxShapeElements;
    checkUser(fits,
              "layer '{}': a shape is computed by a tensor of {} elements ({}); at most {} are possible, and {} in all "
              "such tensors",
              step.record.layer, count, textOf(dims), kMaxShapeValueElements, kMaxShapeElements);
    elements += count;
    return values.emplace_back(dtype, dims);
  }

  void write(const Step& step) {
    const auto& record = step.record;
    const auto view = add(step, record.dtype, record.dims).view();
    for (size_t i = 0; i < record.numbers.size(); ++i) view.storeDouble(static_cast<int64_t>(i), record.numbers[i]);
    for (size_t i = 0; i < record.extents.size(); ++i) {
      const int64_t wanted = record.extents[i].evaluate(symbols);
      view.storeInt(static_cast<int64_t>(i), wanted);
      checkUser(view.loadInt(static_cast<int64_t>(i)) == wanted || record.dtype == DataType::kBool,
                "layer '{}': element {} of a shape tensor is {} = {}, which the type {} cannot hold", record.layer, i,
                wanted, textOf(record.extents[i]), name(record.dtype));
    }
  }

  void compute(const Step& step) {
    const auto& record = step.record;
    std::vector<TensorType> types;
    std::vector<TensorView> inputs;
    for (const int32_t input : record.inputs) {
      inputs.push_back(values[static_cast<size_t>(input)].view());
      types.push_back({inputs.back().dtype, toShape(inputs.back().dims), std::nullopt});
    }
    const Operator op = step.op->bind(symbols);
    const auto results = op.infer(fmt::format("layer '{}'", record.layer), types);
    checkUser(results.size() == static_cast<size_t>(record.outputs), "layer '{}': {} results in a shape, expected {}",
              record.layer, results.size(), record.outputs);
    std::vector<TensorView> outputs;
    for (const auto& type : results)
      outputs.push_back(add(step, type.dtype, evaluate(type.shape, SymbolValues{})).view());
    refuseZeroDivisors(op, inputs);
    if (const auto* require = op.as<Require>(); require != nullptr && purpose == Purpose::kExecution)
      require->check(inputs[0]);
    evaluateWhatIsThere(op, {inputs, outputs, &symbols});
  }

  void bindSymbols() {
    for (; bound < binder.symbols_.size(); ++bound) {
      const auto& symbol = binder.symbols_[bound];
      if (static_cast<size_t>(symbol.value) >= values.size()) return;
      if (!known[static_cast<size_t>(symbol.value)]) continue;
      const auto& view = values[static_cast<size_t>(symbol.value)].view();
      checkUser(!isFloating(view.dtype) && symbol.element < view.count(),
                "layer '{}': a shape reads element {} of {} {}, expected an integer type with this element",
                binder.layerOf(symbol), symbol.element, name(view.dtype), textOf(view.dims));
      symbols.insert_or_assign(symbol.name, view.loadInt(symbol.element));
    }
  }
};

const std::string& ShapeBinder::layerOf(const ShapeSymbol& symbol) const {
  const auto step = producers_[static_cast<size_t>(symbol.value)];
  return steps_[static_cast<size_t>(step)].record.layer;
}

void ShapeBinder::bind(SymbolValues& symbols, Purpose purpose) const { evaluateSteps(symbols, true, purpose); }
void ShapeBinder::bindKnown(SymbolValues& symbols, Purpose purpose) const { evaluateSteps(symbols, false, purpose); }

void ShapeBinder::evaluateSteps(SymbolValues& symbols, bool whole, Purpose purpose) const {
  Run run{*this, symbols, purpose, {}, {}, 0, 0};
  run.values.reserve(producers_.size());
  for (const auto& step : steps_) {
    const bool isKnown = whole || run.canEvaluate(step);
    try {
      if (!isKnown) {
        run.leaveOut(step);
      } else if (step.op) {
        run.compute(step);
      } else {
        run.write(step);
      }
    } catch (const UserError& error) {
      if (std::string_view(error.what()).starts_with("layer '")) throw;
      throw UserError("layer '{}': {}", step.record.layer, error.what());
    } catch (const InternalError& error) {  // a symbol that nothing has bound
      throw UserError("layer '{}': its part of the shape program cannot be evaluated: {}", step.record.layer,
                      error.what());
    }
    run.known.resize(run.values.size(), isKnown);
    run.bindSymbols();
  }
}

int32_t phaseOf(const std::set<std::string>& symbols, const SymbolPhases& phases) {
  int32_t phase = 0;
  for (const auto& symbol : symbols) {
    const auto found = phases.find(symbol);
    if (found != phases.end()) phase = laterPhase(phase, found->second);
  }
  return phase;
}

void ShapeBinder::placeSymbols(SymbolPhases& phases) const {
  std::vector<int32_t> values;
  size_t next = 0;
  for (const auto& step : steps_) {
    int32_t phase = phaseOf(step.symbols, phases);
    for (const int32_t input : step.record.inputs) phase = laterPhase(phase, values[static_cast<size_t>(input)]);
    values.insert(values.end(), static_cast<size_t>(step.record.outputs), phase);
    for (; next < symbols_.size() && static_cast<size_t>(symbols_[next].value) < values.size(); ++next) {
      const int32_t found = values[static_cast<size_t>(symbols_[next].value)];
      if (found != 0) {
        phases.insert_or_assign(symbols_[next].name, found);
      } else {
        phases.erase(symbols_[next].name);
      }
    }
  }
}

void ShapeBinder::check(const SymbolValues& symbols, std::span<const Interval> bounds, std::string_view where) const {
  checkInternal(bounds.size() == symbols_.size(), "{} bounds for {} computed sizes", bounds.size(), symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const auto found = symbols.find(symbols_[i].name);
    if (found == symbols.end()) continue;
    const int64_t value = found->second;
    checkUser(value >= bounds[i].low && value <= bounds[i].high,
              "layer '{}': element {} of the shape that it computes is {}, expected {} to {}, which the engine was "
              "built for in {}; give the inputs other shapes, or build with a profile whose min, opt and max lead "
              "there",
              layerOf(symbols_[i]), symbols_[i].element, value, bounds[i].low, bounds[i].high, where);
  }
}

}  // namespace tenon::ops
