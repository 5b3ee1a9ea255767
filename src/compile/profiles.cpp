// Checks a profile against the network's inputs and turns it into symbol values.
#include "compile/profiles.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tenon::compile {
namespace {

struct Range {
  int64_t min, opt, max;
};

void bind(ProfileSymbols& symbols, const Extent& extent, const Range& range, const std::string& where) {
  checkUser(range.min <= range.opt && range.opt <= range.max,
            "optimization profile: {}: min {}, opt {} and max {} must not decrease", where, range.min, range.opt,
            range.max);
  if (extent.isConstant()) {
    checkUser(range.min == extent.constant() && range.max == extent.constant(),
              "optimization profile: {} is {} in the network, but {} to {} in the profile", where, extent.constant(),
              range.min, range.max);
    return;
  }
  std::set<std::string> names;
  extent.collectSymbols(names);
  checkInternal(names.size() == 1 && extent == Extent::symbol(*names.begin()), "{}: the extent {} is not a symbol",
                where, extent.text());
  const auto& name = *names.begin();
  const auto [place, fresh] = symbols.bounds.emplace(name, Interval{range.min, range.max});
  if (fresh) {
    symbols.opt[name] = range.opt;
  } else {
    place->second = {std::max(place->second.low, range.min), std::min(place->second.high, range.max)};
    checkUser(
        place->second.low <= place->second.high,
        "optimization profile: {}: the ranges of dimension '{}' do not overlap; inputs that share its name must share "
        "its values",
        where, name);
    symbols.opt[name] = std::clamp(symbols.opt[name], place->second.low, place->second.high);
  }
  symbols.min[name] = place->second.low;
  symbols.max[name] = place->second.high;
}

}  // namespace

ProfileSymbols bindProfile(const graph::Graph& graph, const std::map<std::string, plan::InputRange>& profile) {
  ProfileSymbols symbols;
  for (const auto id : graph.inputs()) {
    const auto& value = graph.value(id);
    const auto& shape = value.type.shape;
    const auto found = profile.find(value.name);
    if (found == profile.end()) {
      checkUser(isConstant(shape),
                "network has dynamic input '{}' {}, but the optimization profile has no shapes for it", value.name,
                text(shape));
    } else if (!found->second.max.rank && found->second.maxValues.empty()) {
      checkUser(shape.empty(), "optimization profile: input '{}' has no shapes", value.name);
    } else if (found->second.maxValues.empty()) {
      const auto& range = found->second;
      const auto rank = static_cast<int>(shape.size());
      checkUser(range.min.rank == rank && range.opt.rank == rank && range.max.rank == rank,
                "optimization profile: input '{}' has {} dimensions, the profile gives {}", value.name, rank,
                range.max.rank);
      for (int axis = 0; axis < rank; ++axis) {
        checkUser(range.min[axis] >= 0, "optimization profile: input '{}', axis {}: min {} is negative", value.name,
                  axis, range.min[axis]);
        bind(symbols, shape[static_cast<size_t>(axis)], {range.min[axis], range.opt[axis], range.max[axis]},
             fmt::format("input '{}', axis {}", value.name, axis));
      }
    }
    if (value.type.contents) {
      const size_t count = value.type.contents->size();
      checkUser(found != profile.end() && found->second.maxValues.size() == count,
                "optimization profile: shape input '{}' needs {} values", value.name, count);
      for (size_t i = 0; i < count; ++i) {
        bind(symbols, (*value.type.contents)[i],
             {found->second.minValues.at(i), found->second.optValues.at(i), found->second.maxValues[i]},
             fmt::format("shape input '{}', element {}", value.name, i));
      }
    }
  }
  return symbols;
}

}  // namespace tenon::compile
