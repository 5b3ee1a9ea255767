// Soundness of what all programs of a plan share: inputs and outputs, symbols, profiles, constants.
#include "plan/verify.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/storage.h"
#include "ops/shape_binder.h"
#include "plan/phases.h"
#include "plan/verify_shape.h"

namespace tenon::plan {
namespace {

constexpr int32_t kMaxShapeValues = 1 << 16;

void verifyIo(const Plan& plan) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < plan.io.size(); ++i) {
    const auto& io = plan.io[i];
    checkUser(!io.name.empty() && names.insert(io.name).second,
              "plan: input or output {} has the name '{}', which is empty or used twice", i, io.name);
    verifyShape(plan, io.shape, io.name);
    checkUser(io.dimensionNames.empty() || io.dimensionNames.size() == io.shape.size(),
              "plan: '{}' has {} names for {} dimensions", io.name, io.dimensionNames.size(), io.shape.size());
    checkUser(!io.isShapeTensor || (io.shape.size() <= 1 && isConstant(io.shape)),
              "plan: shape tensor '{}' has the shape {}, expected a scalar or one dimension of fixed extent", io.name,
              text(io.shape));
  }
}

void verifySymbols(const Plan& plan) {
  for (const auto& symbol : plan.symbols) {
    checkUser(!symbol.name.empty(), "plan: a symbol has no name");
    checkUser(symbol.io >= 0 && static_cast<size_t>(symbol.io) < plan.io.size() &&
                  plan.io[static_cast<size_t>(symbol.io)].isInput,
              "plan: symbol '{}' comes from input {}, which does not exist", symbol.name, symbol.io);
    const auto& io = plan.io[static_cast<size_t>(symbol.io)];
    checkUser(!symbol.fromContents || io.isShapeTensor,
              "plan: symbol '{}' is a value of '{}', which is not a shape tensor", symbol.name, io.name);
    const int64_t count = !symbol.fromContents ? static_cast<int64_t>(io.shape.size())
                          : io.shape.empty()   ? 1
                                               : io.shape[0].constant();
    checkUser(symbol.index >= 0 && symbol.index < count, "plan: symbol '{}' is number {} of '{}', which has {}",
              symbol.name, symbol.index, io.name, count);
  }
}

// Names that have a value before a step of the shape program is evaluated.
using Names = std::set<std::string, std::less<>>;

void verifyBound(const std::vector<Extent>& extents, const Names& bound, const std::string& where) {
  std::set<std::string> used;
  for (const auto& extent : extents) extent.collectSymbols(used);
  for (const auto& name : used)
    checkUser(bound.contains(name), "plan: {} uses the symbol '{}', which has no value there", where, name);
}

// Sizes have names of their own, and what bounds one is known before it.
void verifySizes(const Plan& plan, const ops::ShapeBinder& shapes) {
  ops::SymbolPhases phases;
  for (const auto& size : plan.sizes) {
    const bool isFirst = phases.try_emplace(size.name, ops::kNoPhase).second;
    checkUser(
        !size.name.empty() && isFirst &&
            std::none_of(plan.symbols.begin(), plan.symbols.end(), [&](const auto& s) { return s.name == size.name; }),
        "plan: the size '{}' of layer '{}' has no name, or that of another symbol", size.name, size.layer);
  }
  for (const auto& size : plan.sizes) {
    shapes.placeSymbols(phases);
    std::set<std::string> names;
    size.opt.collectSymbols(names);
    size.upper.collectSymbols(names);
    checkUser(ops::phaseOf(names, phases) != ops::kNoPhase,
              "plan: the bound {} of the size '{}' depends on a size that is known later", size.upper.text(),
              size.name);
    phases[size.name] = 0;
  }
}

// The program's own order, operators and references are checked where it is read (ops/shape_binder.h).
void verifyShapes(const Plan& plan) {
  const ops::ShapeBinder shapes(plan.shapes);
  verifySizes(plan, shapes);
  Names bound;
  for (const auto& symbol : plan.symbols) bound.insert(symbol.name);
  for (const auto& io : plan.io) {
    if (io.isInput) verifyBound(io.shape, bound, fmt::format("input '{}'", io.name));
  }
  for (const auto& size : plan.sizes) bound.insert(size.name);
  int32_t values = 0;
  size_t next = 0;
  for (size_t i = 0; i < plan.shapes.steps.size(); ++i) {
    verifyBound(plan.shapes.steps[i].extents, bound, fmt::format("step {} of the shape program", i));
    values += plan.shapes.steps[i].outputs;
    for (; next < plan.shapes.symbols.size() && plan.shapes.symbols[next].value < values; ++next) {
      const auto& name = plan.shapes.symbols[next].name;
      checkUser(bound.insert(name).second, "plan: symbol '{}' of the shape program has a value already", name);
    }
  }
  for (const auto& size : plan.sizes) verifyBound({size.opt, size.upper}, bound, fmt::format("size '{}'", size.name));
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    const auto& bounds = plan.programs[i].shapeBounds;
    checkUser(bounds.size() == plan.shapes.symbols.size(), "plan, program {}: {} bounds of computed sizes, expected {}",
              i, bounds.size(), plan.shapes.symbols.size());
  }
}

void verifyExtents(const Io& io, const InputRange& range, size_t profile) {
  const auto rank = static_cast<int>(io.shape.size());
  checkUser(range.min.rank == rank && range.opt.rank == rank && range.max.rank == rank,
            "plan: profile {} gives '{}' {}, {} and {} dimensions, expected {}", profile, io.name, range.min.rank,
            range.opt.rank, range.max.rank, rank);
  for (int axis = 0; axis < rank; ++axis) {
    const auto& extent = io.shape[static_cast<size_t>(axis)];
    checkUser(range.min[axis] >= 0 && range.min[axis] <= range.opt[axis] && range.opt[axis] <= range.max[axis],
              "plan: profile {} gives axis {} of '{}' min {}, opt {}, max {}, expected 0 <= min <= opt <= max", profile,
              axis, io.name, range.min[axis], range.opt[axis], range.max[axis]);
    checkUser(!extent.isConstant() || (range.min[axis] == extent.constant() && range.max[axis] == extent.constant()),
              "plan: profile {} gives axis {} of '{}' another extent than the fixed {}", profile, axis, io.name,
              extent.text());
  }
  checkUser(storageBytes(io.dtype, range.max, io.layout) < UINT64_MAX / 4,
            "plan: profile {} gives '{}' the size {}, which is too large", profile, io.name, range.max.text());
}

void verifyValues(const Io& io, const InputRange& range, size_t profile) {
  const size_t count = range.minValues.size();
  const int64_t expected = io.shape.empty() ? 1 : io.shape[0].constant();
  checkUser(static_cast<int64_t>(count) == expected && range.optValues.size() == count &&
                range.maxValues.size() == count && count <= kMaxShapeValues,
            "plan: profile {} gives shape tensor '{}' {}, {} and {} values, expected {}", profile, io.name, count,
            range.optValues.size(), range.maxValues.size(), expected);
  for (size_t i = 0; i < count; ++i) {
    checkUser(range.minValues[i] <= range.optValues[i] && range.optValues[i] <= range.maxValues[i],
              "plan: profile {} gives value {} of '{}' min {}, opt {}, max {}, expected min <= opt <= max", profile, i,
              io.name, range.minValues[i], range.optValues[i], range.maxValues[i]);
  }
}

void verifyProfile(const Plan& plan, size_t index) {
  const auto& profile = plan.profiles[index];
  for (const auto& [input, range] : profile) {
    const auto io = std::find_if(plan.io.begin(), plan.io.end(),
                                 [&, &name = input](const Io& x) { return x.isInput && x.name == name; });
    checkUser(io != plan.io.end(), "plan: profile {} has the input '{}', which does not exist", index, input);
    if (range.minValues.empty() && range.maxValues.empty() && range.optValues.empty()) {
      verifyExtents(*io, range, index);
    } else {
      checkUser(io->isShapeTensor, "plan: profile {} gives values of '{}', which is not a shape tensor", index, input);
      verifyValues(*io, range, index);
    }
  }
  for (const auto& io : plan.io) {
    checkUser(!io.isInput || isConstant(io.shape) || profile.count(io.name) != 0,
              "plan: profile {} lacks the input '{}' of shape {}", index, io.name, text(io.shape));
  }
}

void verifyConstants(const Plan& plan) {
  for (size_t i = 0; i < plan.constants.size(); ++i) {
    const auto& constant = plan.constants[i];
    const uint64_t bytes = storageBytes(constant.dtype, constant.dims, Layout::kLinear);
    checkUser(bytes <= constant.bytes, "plan: constant {} ({} {}) has {} bytes, expected at least {}", i,
              name(constant.dtype), constant.dims.text(), constant.bytes, bytes);
    checkUser(constant.bytes == 0 || constant.data != nullptr, "plan: constant {} has no bytes", i);
  }
}

}  // namespace

void verifyShape(const Plan& plan, const Shape& shape, const std::string& name) {
  checkUser(shape.size() <= static_cast<size_t>(kMaxRank), "plan: '{}' has {} dimensions, at most {} are possible",
            name, shape.size(), kMaxRank);
  std::set<std::string> symbols;
  for (const auto& extent : shape) {
    checkUser(!extent.isConstant() || extent.constant() >= 0, "plan: '{}' has the shape {} with a negative extent",
              name, text(shape));
    extent.collectSymbols(symbols);
  }
  for (const auto& symbol : symbols) {
    const auto isIt = [&](const auto& s) { return s.name == symbol; };
    const bool known = std::any_of(plan.symbols.begin(), plan.symbols.end(), isIt) ||
                       std::any_of(plan.sizes.begin(), plan.sizes.end(), isIt) ||
                       std::any_of(plan.shapes.symbols.begin(), plan.shapes.symbols.end(), isIt);
    checkUser(known, "plan: '{}' has the shape {}, and nothing gives the symbol '{}' a value", name, text(shape),
              symbol);
  }
}

void verify(const Plan& plan) {
  checkUser(!plan.target.device.empty(), "plan: it has no device");
  verifyIo(plan);
  verifySymbols(plan);
  verifyShapes(plan);
  for (size_t i = 0; i < plan.profiles.size(); ++i) verifyProfile(plan, i);
  verifyConstants(plan);
  const size_t expected = std::max<size_t>(1, plan.profiles.size());
  checkUser(plan.programs.size() == expected, "plan: it has {} programs, expected {}, one per profile",
            plan.programs.size(), expected);
  const ops::ShapeBinder shapes(plan.shapes);
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    verifyProgram(plan, i);
    (void)phasesOf(plan, plan.programs[i], shapes);
  }
}

}  // namespace tenon::plan
