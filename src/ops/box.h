// Boxes and how much they overlap, for the operator that suppresses them and its kernels.
#pragma once

#include <algorithm>

namespace tenon::ops {

// In double: differences and products of floats are exact there, so that every kernel decides alike.
struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  double area = 0;
};

// Of any two opposite corners.
inline Box boxOfCorners(double xa, double ya, double xb, double yb) {
  Box box{std::min(xa, xb), std::min(ya, yb), std::max(xa, xb), std::max(ya, yb)};
  box.area = (box.x2 - box.x1) * (box.y2 - box.y1);
  return box;
}

inline Box boxOfCenter(double x, double y, double width, double height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2, width * height};
}

// Whether the intersection is more than `threshold` of the union. Boxes without an area overlap nothing.
inline bool overlap(const Box& a, const Box& b, double threshold) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double shared = width * height;
  return width > 0 && height > 0 && a.area > 0 && b.area > 0 && shared > threshold * (a.area + b.area - shared);
}

}  // namespace tenon::ops
