// Checks of shapes and values against the profile, and the binding of symbols.
#include "runtime/shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/lazy_text.h"
#include "ops/op/size.h"
#include "ops/shape_arithmetic.h"
#include "runtime/engine_parts.h"

namespace tenon::runtime {

void ShapeState::reset(int profile) {
  (void)engine_.program(profile);
  profile_ = profile;
  inputs_.assign(engine_.io().size(), {});
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto& x = engine_.io()[i];
    if (!x.isInput) continue;
    inputs_[i].given = isConstant(x.shape);
    if (inputs_[i].given) inputs_[i].dims = evaluate(x.shape, {});
    const auto* range = engine_.range(profile, static_cast<int>(i));
    inputs_[i].valuesNeeded = x.isShapeTensor && range != nullptr && !range->minValues.empty();
  }
  for (const auto& symbol : engine_.plan().symbols) {
    if (symbol.fromContents) inputs_[static_cast<size_t>(symbol.io)].valuesNeeded = true;
  }
  dirty_ = true;
}

void ShapeState::setShape(int index, const Dims& dims) {
  const auto& x = io(index);
  checkUser(x.isInput, "'{}' is an output, its shape follows from the inputs", x.name);
  const auto rank = static_cast<int>(x.shape.size());
  checkUser(dims.rank == rank, "input '{}': shape {} has {} dimensions, expected {} as in {}", x.name, textOf(dims),
            dims.rank, rank, textOf(engine_.ioDims(index)));
  const auto* range = engine_.range(profile_, index);
  for (int axis = 0; axis < rank; ++axis) {
    const auto& extent = x.shape[static_cast<size_t>(axis)];
    checkUser(!extent.isConstant() || extent.constant() == dims[axis],
              "input '{}': axis {} is {}, expected {} (the network or every profile fixes it)", x.name, axis,
              dims[axis], textOf(extent));
    const bool ranged = range != nullptr && range->min.rank == rank;
    checkUser(dims[axis] >= 0 && (!ranged || (dims[axis] >= range->min[axis] && dims[axis] <= range->max[axis])),
              "input '{}': axis {} is {}, profile {} allows {} to {}", x.name, axis, dims[axis], profile_,
              ranged ? range->min[axis] : 0, ranged ? range->max[axis] : INT64_MAX);
  }
  auto& input = inputs_[static_cast<size_t>(index)];
  if (input.given && input.dims == dims) return;
  input.given = true;
  input.dims = dims;
  dirty_ = true;
}

void ShapeState::checkValues(int index, std::span<const int64_t> values) const {
  const auto* range = engine_.range(profile_, index);
  if (range == nullptr || range->minValues.size() != values.size()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    checkUser(values[i] >= range->minValues[i] && values[i] <= range->maxValues[i],
              "shape tensor '{}': value {} is {}, profile {} allows {} to {}", io(index).name, i, values[i], profile_,
              range->minValues[i], range->maxValues[i]);
  }
}

void ShapeState::setValues(int index, std::span<const int64_t> values) {
  const auto& x = io(index);
  checkUser(x.isInput && x.isShapeTensor, "'{}' is not a shape tensor input", x.name);
  const int64_t count = inputs_[static_cast<size_t>(index)].dims.count();
  checkUser(static_cast<int64_t>(values.size()) == count, "shape tensor '{}': {} values are given, expected {}", x.name,
            values.size(), count);
  checkValues(index, values);
  auto& input = inputs_[static_cast<size_t>(index)];
  input.valuesSet = true;
  input.valuesKnown = true;
  input.values.assign(values.begin(), values.end());
  dirty_ = true;
}

void ShapeState::readValues(int index, const void* address) {
  auto& input = inputs_[static_cast<size_t>(index)];
  const auto count = static_cast<size_t>(input.dims.count());
  bool changed = !input.valuesKnown || input.values.size() != count;
  input.values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = loadInt(io(index).dtype, address, static_cast<int64_t>(i));
    changed |= value != input.values[i];
    input.values[i] = value;
  }
  input.valuesKnown = false;
  dirty_ |= changed;
  checkValues(index, input.values);
  input.valuesKnown = true;
}

const std::vector<std::string>& ShapeState::resolve(std::span<void* const> addresses) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    auto& input = inputs_[i];
    if (!input.valuesNeeded || input.valuesSet) continue;
    if (addresses[i] != nullptr) {
      readValues(static_cast<int>(i), addresses[i]);
    } else if (input.valuesKnown) {
      input.valuesKnown = false;
      dirty_ = true;
    }
  }
  if (dirty_) bind();
  return missing_;
}

void ShapeState::bind() {
  missing_.clear();
  symbols_.clear();
  sizesKnown_ = false;
  ++version_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto& x = engine_.io()[i];
    if (x.isInput && (!inputs_[i].given || (inputs_[i].valuesNeeded && !inputs_[i].valuesKnown)))
      missing_.push_back(x.name);
  }
  std::map<std::string_view, const plan::Symbol*> sources;
  const auto source = [&](const plan::Symbol& s) {
    return fmt::format("{} {} of '{}'", s.fromContents ? "value" : "axis", s.index, io(s.io).name);
  };
  for (const auto& symbol : engine_.plan().symbols) {
    const auto& input = inputs_[static_cast<size_t>(symbol.io)];
    if (!input.given || (symbol.fromContents && !input.valuesKnown)) continue;
    const int64_t value =
        symbol.fromContents ? input.values[static_cast<size_t>(symbol.index)] : input.dims[symbol.index];
    const auto [entry, fresh] = symbols_.emplace(symbol.name, value);
    if (fresh) sources[symbol.name] = &symbol;
    if (fresh || entry->second == value) continue;
    throw UserError("dimension '{}' is {} by {}, and {} by {}; they must be equal", symbol.name, entry->second,
                    source(*sources[symbol.name]), value, source(symbol));
  }
  for (size_t i = 0; missing_.empty() && i < inputs_.size(); ++i) {
    const auto& x = engine_.io()[i];
    if (!x.isInput) continue;
    const Dims expected = evaluate(x.shape, symbols_);
    if (expected == inputs_[i].dims) continue;
    throw UserError("input '{}' has the shape {}, expected {} = {} for the other inputs", x.name,
                    inputs_[i].dims.text(), expected.text(), text(x.shape));
  }
  if (missing_.empty()) {
    bindComputed();
    checkOutputs();
  }
  dirty_ = false;
}

void ShapeState::bindComputed() {
  const auto& shapes = engine_.parts().shapes;
  if (engine_.plan().sizes.empty()) {
    shapes.bind(symbols_);
  } else {
    shapes.bindKnown(symbols_);
  }
  shapes.check(symbols_, engine_.program(profile_).shapeBounds, fmt::format("profile {}", profile_));
}

void ShapeState::checkOutputs() const {
  for (const auto& x : engine_.io()) {
    if (x.isInput) continue;
    for (const auto& extent : x.shape) {
      if (!isKnown(extent) || extent.evaluate(symbols_) >= 0) continue;
      throw UserError("output '{}' would have the shape {} = {} for these input shapes; give the inputs other shapes",
                      x.name, known(x.shape).text(), text(x.shape));
    }
  }
}

void ShapeState::bindSizes(std::span<const std::pair<int32_t, int64_t>> sizes) {
  if (!sizesKnown_) given_ = symbols_;
  sizesKnown_ = true;
  for (const auto& [index, value] : sizes) {
    const auto& size = engine_.plan().sizes[static_cast<size_t>(index)];
    ops::Size::check(value, size.name, size.upper, symbols_, size.layer);
    symbols_.insert_or_assign(size.name, value);
  }
  bindComputed();
  checkOutputs();
}

void ShapeState::forgetSizes() {
  if (!sizesKnown_) return;
  sizesKnown_ = false;
  symbols_ = given_;
}

Dims ShapeState::most(const Shape& shape) const {
  SymbolIntervals intervals;
  for (const auto& [name, value] : sizesKnown_ ? given_ : symbols_) intervals[name] = {value, value};
  const auto& program = engine_.plan().shapes;
  const auto& bounds = engine_.program(profile_).shapeBounds;
  for (size_t i = 0; i < bounds.size(); ++i) intervals.try_emplace(program.symbols[i].name, bounds[i]);
  for (const auto& size : engine_.plan().sizes) {
    intervals[size.name] = {ops::mayBeNegative(size.name) ? INT64_MIN : 0,
                            std::max<int64_t>(0, size.upper.bounds(intervals).high)};
  }
  Dims dims;
  for (const auto& extent : shape) dims.push(std::max<int64_t>(0, extent.bounds(intervals).high));
  return dims;
}

bool ShapeState::isKnown(const Extent& extent) const {
  std::set<std::string> names;
  extent.collectSymbols(names);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return symbols_.count(name) != 0; });
}

Dims ShapeState::known(const Shape& shape) const {
  Dims dims;
  for (const auto& extent : shape) dims.push(isKnown(extent) ? extent.evaluate(symbols_) : -1);
  return dims;
}

Dims ShapeState::inputDims(int index) const {
  const auto& input = inputs_[static_cast<size_t>(index)];
  return input.given ? input.dims : engine_.ioDims(index);
}

}  // namespace tenon::runtime
