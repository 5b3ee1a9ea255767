// Emission of nodes, and the conversions that weakly typed networks imply.
#include "api/network/lower_context.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "api/network/network.h"
#include "core/storage.h"
#include "ops/op/reshape.h"
#include "ops/op/size.h"

namespace tenon::api {

using graph::ValueId;

namespace {

// Whether elements stand where the processor may load them whole. Weights are borrowed from anywhere, files included.
bool isAligned(const TensorView& view) {
  const auto elementBytes = static_cast<uintptr_t>(std::max(bits(view.dtype) / 8, 1));
  return reinterpret_cast<uintptr_t>(view.data) % elementBytes == 0;
}

HostTensor copyOf(const TensorView& view) {
  HostTensor copy(view.dtype, view.dims);
  std::memcpy(copy.view().data, view.data, view.bytes());
  return copy;
}

}  // namespace

ValueId LowerContext::input(size_t index) const {
  check(has(index), "input {} is not set", index);
  return inputs_[index];
}

const std::vector<Extent>& LowerContext::contents(size_t index, std::string_view role) const {
  const ValueId value = input(index);
  const DataType dtype = type(value).dtype;
  check(!isFloating(dtype), "the {} (input {}) has type {}, expected integers; cast it", role, index, name(dtype));
  try {
    return graph_.shapeElements(value);
  } catch (const UserError& error) {
    fail("the {} (input {}, {} {}) must be computed from constants, shapes and shape tensors: {}", role, index,
         name(dtype), text(shape(value)), error.what());
  }
}

ValueId LowerContext::add(ops::Operator op, std::vector<ValueId> inputs) {
  return graph_.add(std::move(op), layer_.name(), std::move(inputs), {layer_.name()});
}

std::vector<ValueId> LowerContext::addMany(ops::Operator op, std::vector<ValueId> inputs) {
  const auto node = graph_.addNode(std::move(op), layer_.name(), std::move(inputs), {layer_.name()});
  return graph_.node(node).outputs;
}

Extent LowerContext::size(ValueId number, const Extent& opt, const Extent& upper) {
  if (const auto known = readerOf<ops::Size>(number); known != graph::kNone)
    return Extent::symbol(node(known).op.as<ops::Size>()->symbol);
  std::string stem = layer_.name() + ".size";  // symbols that were made up hold a dot
  std::replace(stem.begin(), stem.end(), '\'', '_');
  std::string symbol = stem;
  for (int i = 1; graph_.findValue(symbol).has_value() || graph_.symbols().contains(symbol); ++i)
    symbol = fmt::format("{}_{}", stem, i);
  graph_.addNode(ops::Size{symbol, opt, upper}, layer_.name(), {number}, {layer_.name()}, {symbol});
  return Extent::symbol(symbol);
}

ValueId LowerContext::cast(ValueId value, DataType wanted) {
  if (type(value).dtype == wanted) return value;
  return add(ops::Pointwise{ops::ScalarExpr::castTo(wanted)}, {value});
}

ValueId LowerContext::reshape(ValueId value, Shape wanted) {
  if (shape(value) == wanted) return value;
  return add(ops::Reshape{std::move(wanted)}, {value});
}

ValueId LowerContext::pointwise(ops::ScalarOp op, std::vector<ValueId> inputs) {
  return add(ops::Pointwise{ops::ScalarExpr::of(op)}, std::move(inputs));
}

ValueId LowerContext::weights(const nv::Weights& weights, const Dims& dims, const char* role,
                              std::optional<DataType> type) {
  const auto number = static_cast<int32_t>(weights.type);
  check(number >= 0 && number < nv::EnumMax<nv::DataType>(),
        "{} weights: the data type {} is out of range; expected 0 to {}", role, number,
        nv::EnumMax<nv::DataType>() - 1);
  const DataType given = fromApi(weights.type);
  const DataType wanted = type.value_or(given);
  constexpr uint64_t kMost = uint64_t{1} << 46;
  check(storageBytes(given, dims, Layout::kLinear) <= kMost, "{} weights: {} of {} exceed the address space", role,
        dims.text(), tenon::name(given));
  check(weights.count == dims.count(), "{} weights: count is {}; expected {} for {}", role, weights.count, dims.count(),
        dims.text());
  check(weights.values != nullptr || weights.count == 0, "{} weights: values is null", role);
  const auto refitName = layer_.network().weightsName(weights, layer_.name(), role);
  // The view promises not to be written through; TensorView has no const form.
  const TensorView view{const_cast<void*>(weights.values), given, dims};
  auto constant =
      isAligned(view) ? graph::Constant::borrow(view, refitName) : graph::Constant::own(copyOf(view), refitName);
  if (given != wanted) {
    check(isFloating(given) && isFloating(wanted), "{} weights are {}; expected {}", role, name(given), name(wanted));
    constant = graph::Constant::recipe(ops::Pointwise{ops::ScalarExpr::castTo(wanted)}, {std::move(constant)});
  }
  return graph_.addConstant(std::move(constant), fmt::format("{}.{}", layer_.name(), role));
}

bool LowerContext::stronglyTyped() const noexcept { return layer_.network().stronglyTyped(); }

void LowerContext::unify(std::vector<ValueId*> values) {
  if (stronglyTyped() || values.empty()) return;
  const DataType first = type(*values[0]).dtype;
  bool same = true;
  for (const ValueId* value : values) {
    const DataType dtype = type(*value).dtype;
    if (dtype != DataType::kF32 && dtype != DataType::kF16 && dtype != DataType::kBF16) return;
    same = same && dtype == first;
  }
  if (same) return;
  for (ValueId* value : values) *value = cast(*value, DataType::kF32);
}

int LowerContext::singleAxis(uint32_t mask, int rank, std::string_view what) const {
  check(std::popcount(mask) == 1 && std::countr_zero(mask) < rank,
        "{} {:#x} must be a bit mask of exactly one of the {} axes of the input", what, mask, rank);
  return std::countr_zero(mask);
}

std::vector<int64_t> LowerContext::axes(uint32_t mask, int rank, std::string_view what) const {
  check(mask != 0 && mask < (1U << rank), "{} {:#x} must be a bit mask of the axes of an input with {} dimensions",
        what, mask, rank);
  std::vector<int64_t> result;
  for (int axis = 0; axis < rank; ++axis) {
    if ((mask >> axis & 1U) != 0) result.push_back(axis);
  }
  return result;
}

}  // namespace tenon::api
