// Says where a kernel runs another implementation of its library than was measured when the engine was built.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <tuple>

#include "core/extent.h"
#include "core/log.h"
#include "ops/shape_binder.h"
#include "plan/program.h"

namespace tenon::runtime {

class Binding;

// What was said already, for all contexts of an engine. Thread-safe.
class ToldSteps {
 public:
  bool isFirst(int profile, size_t step, bool measured) {
    const std::lock_guard lock(mutex_);
    return told_.emplace(profile, step, measured).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::tuple<int, size_t, bool>> told_;
};

// The symbols at the profile's opt shapes, for which candidates are measured.
SymbolValues measuredSymbols(const plan::Plan& plan, const ops::ShapeBinder& shapes, size_t profile);

// After configure(symbols). A warning where the shapes are those that were measured, or where nothing but a library's
// plain code is left; a verbose line where other shapes have another fast implementation. Each step is named once.
void reportImplementations(const Binding& binding, int profile, const SymbolValues& symbols, Log& log);

}  // namespace tenon::runtime
