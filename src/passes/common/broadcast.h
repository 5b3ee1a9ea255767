// Shapes that broadcast to others.
#pragma once

#include <optional>
#include <vector>

#include "core/extent.h"

namespace tenon::passes {

// What broadcasts to `before` (aligned at the right), as what broadcasts to `after`, a reshape of it: the same element
// for the same place in memory. Nothing where no shape is that.
std::optional<Shape> throughReshape(const Shape& operand, const Shape& before, const Shape& after);

// What shapes that broadcast to each other become together.
Shape broadcastShape(const std::vector<Shape>& shapes);

}  // namespace tenon::passes
