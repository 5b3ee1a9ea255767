// Checks a profile against the network's inputs and turns it into symbol values.
#include "compile/profiles.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>

#include "core/error.h"
#include "graph/phases.h"
#include "ops/shape_arithmetic.h"
#include "ops/shape_binder.h"

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

// Shapes of a profile at which the shape program is evaluated.
class ShapePoints {
 public:
  ShapePoints(const graph::Graph& graph, const ProfileSymbols& symbols) : symbols_(symbols) {
    const std::string program = graph::shapeText(graph.shapes());
    for (const auto& [name, interval] : symbols.bounds) {
      // More than it uses does no harm: symbols are looked for by their names.
      if (interval.low < interval.high && program.find(name) != std::string::npos) names_.push_back(name);
    }
    constexpr size_t kMostWork = 1 << 20;  // steps of the program, over all shapes
    most_ = std::min<size_t>(4096, std::max<size_t>(64, kMostWork / graph.shapes().steps.size()));
  }

  void visit(const std::function<void(const SymbolValues&)>& at) const {
    auto values = symbols_.opt;
    if (count() <= most_) return visitAll(values, 0, at);
    visitCorners(at);
    visitEdges(at);
    std::mt19937_64 random(1);
    for (size_t i = 0; i < most_ / 4; ++i) {
      for (const auto& name : names_) {
        const auto& range = symbols_.bounds.at(name);
        const auto width = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low);
        values[name] = range.low + static_cast<int64_t>(width == UINT64_MAX ? random() : random() % (width + 1));
      }
      at(values);
    }
  }

 private:
  size_t count() const {
    size_t result = 1;
    for (const auto& name : names_) {
      const auto& range = symbols_.bounds.at(name);
      const auto width = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low);
      if (width >= most_) return SIZE_MAX;
      result *= width + 1;
      if (result > most_) return SIZE_MAX;
    }
    return result;
  }

  void visitAll(SymbolValues& values, size_t name, const std::function<void(const SymbolValues&)>& at) const {
    if (name == names_.size()) return at(values);
    const auto& range = symbols_.bounds.at(names_[name]);
    for (int64_t value = range.low; value <= range.high; ++value) {
      values[names_[name]] = value;
      visitAll(values, name + 1, at);
    }
  }

  void visitCorners(const std::function<void(const SymbolValues&)>& at) const {
    // The symbols beyond the first few are all at one end.
    const size_t varied = std::min<size_t>(names_.size(), 10);
    for (size_t corner = 0; corner < size_t{2} << varied; ++corner) {
      auto values = symbols_.max;
      for (size_t i = 0; i < names_.size(); ++i) {
        const auto& range = symbols_.bounds.at(names_[i]);
        values[names_[i]] = (corner >> std::min(i, varied) & 1) != 0 ? range.high : range.low;
      }
      at(values);
    }
  }

  // Each symbol through its range, the others at min, opt and max.
  void visitEdges(const std::function<void(const SymbolValues&)>& at) const {
    constexpr int64_t kPlaces = 64;
    for (const auto* base : {&symbols_.min, &symbols_.opt, &symbols_.max}) {
      for (const auto& name : names_) {
        const auto& range = symbols_.bounds.at(name);
        const auto width = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low);
        auto values = *base;
        for (uint64_t i = 0; i <= kPlaces; ++i) {
          const uint64_t step = width <= kPlaces ? std::min(i, width) : width / kPlaces * i;
          values[name] = range.low + static_cast<int64_t>(step);
          at(values);
        }
      }
    }
  }

  const ProfileSymbols& symbols_;
  std::vector<std::string> names_;
  size_t most_ = 0;
};

void bindShapes(const graph::Graph& graph, ProfileSymbols& symbols) {
  const auto& program = graph.shapes();
  if (program.empty()) return;
  const ops::ShapeBinder binder(program);
  const ShapePoints points(graph, symbols);
  std::vector<Interval> bounds(program.symbols.size(), {INT64_MAX, INT64_MIN});
  const auto widen = [&](const SymbolValues& values) {
    for (size_t i = 0; i < bounds.size(); ++i) {
      const auto found = values.find(program.symbols[i].name);
      if (found == values.end()) continue;  // it needs a size that is bound later
      bounds[i] = {std::min(bounds[i].low, found->second), std::max(bounds[i].high, found->second)};
    }
  };
  points.visit([&](const SymbolValues& inputs) {
    auto values = inputs;
    try {
      binder.bindKnown(values, ops::ShapeBinder::Purpose::kTrial);
    } catch (const UserError&) {
      return;  // inputs that do not go together; the runtime says so where somebody gives them
    }
    widen(values);
  });
  const auto bindAt = [&](SymbolValues& values, const char* point) {
    try {
      binder.bindKnown(values, ops::ShapeBinder::Purpose::kTrial);
    } catch (const UserError& error) {
      throw UserError("optimization profile: at its {} shapes: {}; change the profile, or the layer", point,
                      error.what());
    }
    widen(values);
  };
  bindAt(symbols.min, "min");
  bindAt(symbols.opt, "opt");
  bindAt(symbols.max, "max");
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i].low <= bounds[i].high) symbols.bounds[program.symbols[i].name] = bounds[i];
  }
  symbols.shapeBounds = std::move(bounds);
}

bool isBound(const ops::Size& size, const SymbolValues& values) {
  std::set<std::string> names;
  for (const auto* extent : {&size.opt, &size.upper}) extent->collectSymbols(names);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return values.contains(name); });
}

// Whether every node takes these extents.
bool fits(const graph::Graph& graph, const SymbolValues& values) {
  try {
    for (const auto id : graph.order()) {
      const auto& node = graph.node(id);
      std::vector<ops::TensorType> types;
      for (const auto input : node.inputs) {
        const auto& type = graph.value(input).type;
        types.push_back({type.dtype, toShape(evaluate(type.shape, values)), std::nullopt});
      }
      const auto results = node.op.bind(values).infer(node.name, types);
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].shape != toShape(evaluate(graph.value(node.outputs[i]).type.shape, values))) return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Sizes that the device will compute: anything up to their bounds. No shapes of inputs say which are possible together,
// so that the smallest that kernels are asked for is what is expected at the smallest inputs.
// `guess`: what sizes without a bound are taken for, where it is not what their nodes say.
void bindSizes(const graph::Graph& graph, const graph::Phases& phases, std::optional<int64_t> guess,
               ProfileSymbols& symbols) {
  for (const auto id : phases.sizes) {
    const auto& size = graph::sizeOf(graph, id);
    if (!isBound(size, symbols.opt)) bindShapes(graph, symbols);
    const bool isGuessed = !size.isBounded() && guess.has_value();
    const Extent opt = isGuessed ? Extent(*guess) : size.opt;
    const Extent upper = isGuessed ? Extent(*guess) : ops::Size::planned(size.opt, size.upper);
    const bool mayBeNegative = ops::mayBeNegative(size.symbol);
    const auto bindAt = [&](SymbolValues& values, const Extent& extent) {
      const int64_t value = extent.evaluate(values);
      values[size.symbol] = mayBeNegative ? value : std::max<int64_t>(0, value);
    };
    bindAt(symbols.min, opt);
    bindAt(symbols.opt, opt);
    bindAt(symbols.max, upper);
    const int64_t high = std::max<int64_t>(0, upper.bounds(symbols.bounds).high);
    symbols.bounds[size.symbol] = {mayBeNegative ? -high : 0, high};
  }
  bindShapes(graph, symbols);
}

// Of the largest value.
double mostBytes(const graph::Graph& graph, const SymbolValues& values) {
  double most = 0;
  for (const auto id : graph.order()) {
    for (const auto output : graph.node(id).outputs) {
      const auto& type = graph.value(output).type;
      double bytes = bits(type.dtype) / 8.0;
      for (const int64_t extent : evaluate(type.shape, values)) bytes *= static_cast<double>(extent);
      most = std::max(most, bytes);
    }
  }
  return most;
}

// Sizes without a bound may be anything; what the network does with them may allow for some values only, say because a
// reshape keeps the number of elements. The first guess that it takes is tuned and planned for, but not one by which
// several such sizes make a tensor beyond all measure: an execution that needs more gets more.
ProfileSymbols withSizes(const graph::Graph& graph, const ProfileSymbols& inputs) {
  const auto phases = graph::phasesOf(graph);
  const auto bound = [&](std::optional<int64_t> guess) {
    auto symbols = inputs;
    bindSizes(graph, phases, guess, symbols);
    return symbols;
  };
  const bool anyOpen = std::any_of(phases.sizes.begin(), phases.sizes.end(),
                                   [&](auto id) { return !graph::sizeOf(graph, id).isBounded(); });
  if (!anyOpen) return bound({});
  constexpr double kMostBytes = 256 << 20;
  std::optional<ProfileSymbols> large;
  std::vector<std::optional<int64_t>> guesses{std::nullopt, 16, 4, 1};
  for (const auto& [name, value] : inputs.opt) guesses.emplace_back(value);
  for (const auto id : graph.inputs()) {
    for (const int64_t extent : evaluate(graph.value(id).type.shape, inputs.opt)) guesses.emplace_back(extent);
  }
  guesses.emplace_back(0);
  for (const auto& guess : guesses) {
    try {
      auto symbols = bound(guess);
      if (!fits(graph, symbols.opt) || !fits(graph, symbols.max)) continue;
      if (mostBytes(graph, symbols.max) <= kMostBytes) return symbols;
      if (!large) large = std::move(symbols);
    } catch (const UserError&) {
      continue;  // shape arithmetic that cannot be done with it
    }
  }
  return large ? *large : bound({});
}

// Elements of shapes that depend on a size without a bound have none.
void openBounds(const graph::Graph& graph, ProfileSymbols& symbols) {
  ops::SymbolPhases known;
  for (const auto id : graph.order()) {
    const auto* size = graph.node(id).op.as<ops::Size>();
    if (size != nullptr && !size->isBounded()) known[size->symbol] = ops::kNoPhase;
  }
  if (known.empty() || symbols.shapeBounds.empty()) return;
  ops::ShapeBinder(graph.shapes()).placeSymbols(known);
  for (size_t i = 0; i < symbols.shapeBounds.size(); ++i) {
    const auto found = known.find(graph.shapes().symbols[i].name);
    if (found != known.end() && found->second == ops::kNoPhase) symbols.shapeBounds[i] = {INT64_MIN, INT64_MAX};
  }
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
  symbols = withSizes(graph, symbols);
  openBounds(graph, symbols);
  return symbols;
}

}  // namespace tenon::compile
