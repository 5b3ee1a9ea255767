// Optimization profiles, and their check against a network.
#include "api/builder/optimization_profile.h"

#include <algorithm>

#include "api/common/convert.h"

namespace tenon::api {
namespace {

constexpr const char* kSelectors[] = {"min", "opt", "max"};

size_t index(nv::OptProfileSelector select) { return static_cast<size_t>(checkedEnum(select, "profile selector")); }

}  // namespace

const OptimizationProfile::Entry* OptimizationProfile::find(const char* inputName) const noexcept {
  if (inputName == nullptr) return nullptr;
  const auto found = entries_.find(std::string_view(inputName));
  return found != entries_.end() ? &found->second : nullptr;
}

bool OptimizationProfile::setDimensions(const char* inputName, nv::OptProfileSelector select,
                                        const nv::Dims& dims) noexcept {
  return guarded(reporter_, "IOptimizationProfile::setDimensions", false, [&] {
    checkUser(inputName != nullptr, "the name of the input is null");
    fromApi(dims, fmt::format("{} dimensions of input '{}'", kSelectors[index(select)], inputName), 0);
    auto& entry = entries_[inputName];
    for (const auto& other : entry.dims) {
      checkUser(!other || other->nbDims == dims.nbDims,
                "input '{}': {} dimensions {} have another rank than {}, which was set before", inputName,
                kSelectors[index(select)], text(dims), other ? text(*other) : "");
    }
    entry.dims[index(select)] = dims;
    return true;
  });
}

nv::Dims OptimizationProfile::getDimensions(const char* inputName, nv::OptProfileSelector select) const noexcept {
  return guarded(reporter_, "IOptimizationProfile::getDimensions", invalidDims(), [&] {
    const Entry* entry = find(inputName);
    return entry != nullptr ? entry->dims[index(select)].value_or(invalidDims()) : invalidDims();
  });
}

bool OptimizationProfile::setShapeValues(const char* inputName, nv::OptProfileSelector select, const int32_t* values,
                                         int32_t nbValues) noexcept {
  return guarded(reporter_, "IOptimizationProfile::setShapeValues", false, [&] {
    checkUser(values != nullptr && nbValues >= 0, "input '{}': {} shape values are given at a null address",
              orEmpty(inputName), nbValues);
    const std::vector<int64_t> wide(values, values + nbValues);
    return setShapeValuesV2(inputName, select, wide.data(), nbValues);
  });
}

bool OptimizationProfile::setShapeValuesV2(const char* inputName, nv::OptProfileSelector select, const int64_t* values,
                                           int32_t nbValues) noexcept {
  return guarded(reporter_, "IOptimizationProfile::setShapeValuesV2", false, [&] {
    checkUser(inputName != nullptr, "the name of the input is null");
    checkUser(values != nullptr && nbValues >= 0, "input '{}': {} shape values are given at a null address", inputName,
              nbValues);
    auto& entry = entries_[inputName];
    entry.values[index(select)].assign(values, values + nbValues);
    entry.narrow[index(select)].assign(values, values + nbValues);
    return true;
  });
}

int32_t OptimizationProfile::getNbShapeValues(const char* inputName) const noexcept {
  const Entry* entry = find(inputName);
  if (entry == nullptr) return -1;
  const auto largest = std::max_element(entry->values.begin(), entry->values.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return largest->empty() ? -1 : static_cast<int32_t>(largest->size());
}

const int32_t* OptimizationProfile::getShapeValues(const char* inputName,
                                                   nv::OptProfileSelector select) const noexcept {
  return guarded(reporter_, "IOptimizationProfile::getShapeValues", static_cast<const int32_t*>(nullptr), [&] {
    const Entry* entry = find(inputName);
    return entry == nullptr || entry->narrow[index(select)].empty() ? nullptr : entry->narrow[index(select)].data();
  });
}

const int64_t* OptimizationProfile::getShapeValuesV2(const char* inputName,
                                                     nv::OptProfileSelector select) const noexcept {
  return guarded(reporter_, "IOptimizationProfile::getShapeValuesV2", static_cast<const int64_t*>(nullptr), [&] {
    const Entry* entry = find(inputName);
    return entry == nullptr || entry->values[index(select)].empty() ? nullptr : entry->values[index(select)].data();
  });
}

bool OptimizationProfile::setExtraMemoryTarget(float target) noexcept {
  if (!(target >= 0 && target <= 1)) return false;
  extraMemoryTarget_ = target;
  return true;
}

bool OptimizationProfile::isValid() const noexcept {
  for (const auto& [name, entry] : entries_) {
    const auto& [min, opt, max] = entry.dims;
    const int given = (min ? 1 : 0) + (opt ? 1 : 0) + (max ? 1 : 0);
    if (given != 0 && given != 3) return false;
    for (int axis = 0; given == 3 && axis < min->nbDims; ++axis) {
      if (min->d[axis] > opt->d[axis] || opt->d[axis] > max->d[axis]) return false;
    }
    const auto& [low, best, high] = entry.values;
    if (low.size() != best.size() || best.size() != high.size()) return false;
    for (size_t i = 0; i < low.size(); ++i) {
      if (low[i] > best[i] || best[i] > high[i]) return false;
    }
  }
  return true;
}

namespace {

// An input of a network in one profile, for messages.
struct Place {
  int profile;
  const Tensor& input;

  [[noreturn]] void fail(const std::string& what) const {
    throw CodedError(nv::ErrorCode::kINVALID_CONFIG, "optimization profile {}, input '{}' {}: {}", profile,
                     input.name(), text(input.getDimensions()), what);
  }
};

void checkExtents(const Place& place, const plan::InputRange& range, const Shape& shape) {
  const auto all = fmt::format("min {}, opt {}, max {}", range.min.text(), range.opt.text(), range.max.text());
  if (range.min.rank != static_cast<int>(shape.size())) place.fail(all + " differ in the number of dimensions");
  for (int axis = 0; axis < range.min.rank; ++axis) {
    const Extent& extent = shape[static_cast<size_t>(axis)];
    if (range.min[axis] > range.opt[axis] || range.opt[axis] > range.max[axis]) {
      place.fail(fmt::format("{}: axis {} must have min <= opt <= max", all, axis));
    }
    if (!extent.isConstant()) continue;
    if (range.min[axis] != extent.constant() || range.max[axis] != extent.constant()) {
      place.fail(fmt::format("{}: the network fixes axis {} to {}", all, axis, extent.constant()));
    }
  }
}

void checkValues(const Place& place, const std::array<std::vector<int64_t>, 3>& values, size_t count) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() == count) continue;
    place.fail(fmt::format("the input is a shape tensor; its {} values must be set by setShapeValuesV2, got {} of {}",
                           kSelectors[i], values[i].size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (values[0][i] <= values[1][i] && values[1][i] <= values[2][i]) continue;
    place.fail(fmt::format("value {}: min {}, opt {}, max {} must satisfy min <= opt <= max", i, values[0][i],
                           values[1][i], values[2][i]));
  }
}

}  // namespace

// What a profile names that is no input of the network: most likely one that is written otherwise there.
std::string OptimizationProfile::strangers(const Network& network) const {
  std::string result;
  for (const auto& entry : entries_) {
    const auto& name = entry.first;
    const auto& inputs = network.inputs();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input->name() == name; })) continue;
    result +=
        fmt::format("{}'{}'", result.empty() ? "; the profile names what is no input of the network: " : ", ", name);
  }
  return result;
}

std::map<std::string, plan::InputRange> OptimizationProfile::resolve(const Network& network, int index) const {
  std::map<std::string, plan::InputRange> ranges;
  for (const auto& input : network.inputs()) {
    const auto type = input->inputType();
    const bool dynamic = !isConstant(type.shape);
    const bool shapeValues = network.isShapeTensor(*input) && type.contents.has_value();
    if (!dynamic && !shapeValues) continue;
    static const Entry kNothing;
    const Entry* found = find(input->name().c_str());
    const Entry& entry = found != nullptr ? *found : kNothing;
    const Place place{index, *input};
    plan::InputRange range;
    if (dynamic) {
      const auto& [min, opt, max] = entry.dims;
      if (!min || !opt || !max)
        place.fail("the input is dynamic; its min, opt and max dimensions must be set" + strangers(network));
      range.min = fromApi(*min, "min dimensions", 0);
      range.opt = fromApi(*opt, "opt dimensions", 0);
      range.max = fromApi(*max, "max dimensions", 0);
      checkExtents(place, range, type.shape);
    }
    if (shapeValues) {
      checkValues(place, entry.values, type.contents->size());
      range.minValues = entry.values[0];
      range.optValues = entry.values[1];
      range.maxValues = entry.values[2];
    }
    ranges.emplace(input->name(), std::move(range));
  }
  return ranges;
}

namespace {

// What each symbol may be in one profile: what all inputs that hold it allow.
SymbolIntervals symbolRanges(const Network& network, const std::map<std::string, plan::InputRange>& profile) {
  SymbolIntervals result;
  const auto allow = [&](const std::string& symbol, int64_t low, int64_t high) {
    const auto [entry, fresh] = result.try_emplace(symbol, Interval{low, high});
    if (!fresh) entry->second = {std::max(entry->second.low, low), std::min(entry->second.high, high)};
  };
  for (const auto& input : network.inputs()) {
    const auto found = profile.find(input->name());
    if (found == profile.end()) continue;
    const plan::InputRange& range = found->second;
    const Shape shape = input->inputType().shape;
    for (int axis = 0; axis < range.min.rank; ++axis) {
      if (!shape.at(static_cast<size_t>(axis)).isConstant())
        allow(input->axisSymbol(axis), range.min[axis], range.max[axis]);
    }
    for (size_t i = 0; i < range.minValues.size(); ++i) {
      allow(input->valueSymbol(static_cast<int>(i)), range.minValues[i], range.maxValues[i]);
    }
  }
  return result;
}

void narrow(const Network& network, const FixedSymbols& fixed, std::map<std::string, plan::InputRange>& profile) {
  for (const auto& input : network.inputs()) {
    const auto found = profile.find(input->name());
    if (found == profile.end()) continue;
    plan::InputRange& range = found->second;
    const Shape shape = input->inputType().shape;
    for (int axis = 0; axis < range.min.rank; ++axis) {
      const auto symbol = fixed.find(input->axisSymbol(axis));
      if (shape.at(static_cast<size_t>(axis)).isConstant() || symbol == fixed.end()) continue;
      range.min[axis] = range.opt[axis] = range.max[axis] = symbol->second.constant();
    }
  }
}

}  // namespace

FixedSymbols fixSymbols(const Network& network, std::vector<std::map<std::string, plan::InputRange>>& profiles) {
  FixedSymbols result;
  if (profiles.empty()) return result;
  for (const auto& [symbol, range] : symbolRanges(network, profiles[0])) {
    if (range.low == range.high) result.emplace(symbol, range.low);
  }
  for (const auto& profile : profiles) {
    const auto ranges = symbolRanges(network, profile);
    std::erase_if(result, [&](const auto& entry) {
      const auto range = ranges.find(entry.first);
      return range == ranges.end() || !entry.second.isConstant(range->second.low) ||
             range->second.low != range->second.high;
    });
  }
  for (auto& profile : profiles) narrow(network, result, profile);
  return result;
}

}  // namespace tenon::api
