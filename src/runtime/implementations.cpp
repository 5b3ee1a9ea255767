// Compares the implementations that were measured with those that run.
#include "runtime/implementations.h"

#include "runtime/binding.h"
#include "runtime/chosen.h"
#include "runtime/engine_parts.h"

namespace tenon::runtime {

SymbolValues measuredSymbols(const plan::Plan& plan, const ops::ShapeBinder& shapes, size_t profile) {
  SymbolValues values;
  if (profile >= plan.profiles.size()) return values;
  for (const auto& symbol : plan.symbols) {
    const auto found = plan.profiles[profile].find(plan.io[static_cast<size_t>(symbol.io)].name);
    if (found == plan.profiles[profile].end()) continue;
    const auto& range = found->second;
    const auto at = static_cast<size_t>(symbol.index);
    if (symbol.fromContents && at < range.optValues.size()) values.emplace(symbol.name, range.optValues[at]);
    if (!symbol.fromContents && symbol.index < range.opt.rank) values.emplace(symbol.name, range.opt[symbol.index]);
  }
  shapes.bindKnown(values, ops::ShapeBinder::Purpose::kTrial);
  for (const auto& size : plan.sizes) {
    values.insert_or_assign(size.name, size.opt.evaluate(values));
    shapes.bindKnown(values, ops::ShapeBinder::Purpose::kTrial);
  }
  return values;
}

void reportImplementations(const Binding& binding, int profile, const SymbolValues& symbols, Log& log) {
  constexpr int kNamed = 3;
  const auto& parts = binding.engine().parts();
  const bool measured = symbols == measuredSymbols(parts.plan, parts.shapes, static_cast<size_t>(profile));
  const auto& steps = binding.program().steps;
  std::string named;
  int count = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* chosen = dynamic_cast<const Chosen*>(binding.instance(i));
    if (chosen == nullptr || binding.skipped(i) || chosen->implementation().empty()) continue;
    const auto got = chosen->implementation();
    const std::string& wanted = plan::recordOf(steps[i], binding.kernelOf(i)).params;
    if (!parts.told.isFirst(profile, i, measured)) continue;
    const auto line =
        fmt::format("step '{}' of {} -> {} runs '{}'", steps[i].name, binding.dims(steps[i].inputs[0]).text(),
                    binding.dims(steps[i].outputs[0]).text(), got);
    if (got.find(wanted) != std::string_view::npos) {  // older plans have a part of the name, or nothing
      log.verbose("{}, as was measured", line);
      continue;
    }
    const auto both = fmt::format("{} in place of '{}'", line, wanted);
    log.verbose("{}", both);
    if (!measured && !chosen->isPlain()) continue;
    if (count++ < kNamed) named += "\n  " + both;
  }
  if (count == 0) return;
  if (count > kNamed) named += fmt::format("\n  and {} more", count - kNamed);
  log.warning(
      "{} of the engine's steps run another implementation of their library than was measured when it was built, "
      "because that one is not available {}:{}\n  They may be slower; {}",
      count, measured ? "on this machine with these threads" : "for these shapes", named,
      measured ? "build the engine on this machine"
               : "give these shapes a profile of their own that has them as its opt shapes");
}

}  // namespace tenon::runtime
