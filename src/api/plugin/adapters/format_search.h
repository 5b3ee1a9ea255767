// Which types and formats a plugin takes together.
#pragma once

#include <string>
#include <vector>

#include "api/plugin/adapters/adapter.h"
#include "core/layout.h"

namespace tenon::api {

struct Combinations {
  std::vector<std::vector<Layout>> found;  // a layout per operand; linear ones first
  std::string refused;                     // the first of those that the plugin refused, a line each
};

// `operands` in the types that they have, whatever their formats; inputs first. At most `limit` combinations.
// `linearOnly`: per operand, whether other formats than kLINEAR are left out; empty: none is.
Combinations findCombinations(PluginAdapter& plugin, PluginDescs operands, const std::vector<Shape>& shapes, int inputs,
                              size_t limit, const std::vector<bool>& linearOnly = {});

}  // namespace tenon::api
