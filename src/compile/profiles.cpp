// Checks a profile against the network's inputs and turns it into symbol values.
#include "compile/profiles.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "core/error.h"
#include "graph/phases.h"
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
  size.opt.collectSymbols(names);
  size.upper.collectSymbols(names);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return values.contains(name); });
}

// Sizes that the device will compute: anything up to their bounds. No shapes of inputs say which are possible together,
// so that the smallest that kernels are asked for is what is expected at the smallest inputs.
void bindSizes(const graph::Graph& graph, ProfileSymbols& symbols) {
  const auto phases = graph::phasesOf(graph);
  for (const auto id : phases.sizes) {
    const auto& size = graph::sizeOf(graph, id);
    if (!isBound(size, symbols.opt)) bindShapes(graph, symbols);
    const auto bindAt = [&](SymbolValues& values, const Extent& extent) {
      values[size.symbol] = std::max<int64_t>(0, extent.evaluate(values));
    };
    bindAt(symbols.min, size.opt);
    bindAt(symbols.opt, size.opt);
    bindAt(symbols.max, size.upper);
    symbols.bounds[size.symbol] = {0, std::max<int64_t>(0, size.upper.bounds(symbols.bounds).high)};
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
  bindSizes(graph, symbols);
  bindShapes(graph, symbols);
  return symbols;
}

}  // namespace tenon::compile
