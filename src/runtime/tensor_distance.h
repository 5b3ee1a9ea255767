// An optional capability of a device: how far two tensors in its memory lie apart, so that neither has to be copied.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace tenon::runtime {

// A tensor beside what is expected of it. A number beside a NaN or an infinity is infinitely far away.
struct TensorDistance {
  double squares = 0;     // of the finite expected elements, added up
  double difference = 0;  // the squares of all differences, added up
  double gain = 0;        // the finite differences times the expected elements, added up: the factor by which the
                          // tensor is larger as a whole, less 1, over `squares`
  double excess = 0;      // the most by which a difference exceeds `factor` times its expected element, if any does
  double worst = -1;      // the largest difference; -1: none
  int64_t at = 0;         // its element
  int64_t differing = 0;  // elements
};

// Elements that are equal or both NaN do not count, nor do those that are infinite where more is expected than
// `largest`.
struct DistanceRule {
  double factor = 0;
  double largest = 0;
  bool infinities = true;  // whether those count of which one is expected
};

// The other face of a device, asked for by dynamic_cast. Thread-safe.
class TensorDistances {
 public:
  virtual ~TensorDistances() = default;
  virtual bool measures(DataType type) const = 0;
  // Makes the code that the first distance of such tensors would wait for.
  virtual void prepare(DataType type) = 0;
  // Of tensors in linear order that nothing writes any more.
  virtual TensorDistance distance(DataType type, const void* got, const void* expected, int64_t count,
                                  const DistanceRule& rule) = 0;
};

}  // namespace tenon::runtime
