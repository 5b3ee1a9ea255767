// One step of some units of a recurrent network, compiled for every SIMD width.
#pragma once

#include <cstdint>

#include "ops/op/recurrent.h"

namespace tenon::backends::cpu {

constexpr int64_t kRecurrentUnits = 16;  // of a panel

struct GateFunctionOf {
  ops::GateFunction kind = ops::GateFunction::kTanh;
  float a = 0, b = 0;
};

// A panel is kRecurrentUnits units of one direction: weights [depth][gates][units], zeros behind the last unit.
// Addresses are those of the first panel's first unit; only `count` units are read and written.
struct RecurrentStep {
  ops::Cell cell = ops::Cell::kLstm;
  int64_t gates = 4;
  bool late = false, coupled = false;
  float clip = 0;
  GateFunctionOf functions[3];
  int64_t hidden = 0;                // units in all: the gates of `products` and the weights lie as far apart
  const float* bias = nullptr;       // or null
  const float* peepholes = nullptr;  // or null
  const float* products = nullptr;
  const float* before = nullptr;  // the units' state before
  float* cells = nullptr;         // of an lstm; changed
  float* state = nullptr;         // the units' state
  int64_t count = 0;
};

struct RecurrentFunctions {
  // sums[row][gate][unit] of the gates [first, last) of a panel of `gates` for the states, of `depth` units, of so many
  // rows of the batch. `next` is the panel that is likely to be asked for next, or this one. `isMany`: whether the
  // batch has many rows, for all of which it is the same, since the order of additions may be another one.
  void (*sums)(const float* panel, const float* next, const float* const* states, int64_t rows, int64_t depth,
               int64_t gates, int64_t first, int64_t last, bool isMany, float* const* sums) = nullptr;
  // From sums [panels][gates][units] to the state. Of a gru that resets early the last gate's sums are those of the
  // state that reset() gave.
  void (*step)(const RecurrentStep& step, const float* sums) = nullptr;
  // to[unit] of one panel of a gru that resets early: the state times the second gate.
  void (*reset)(const RecurrentStep& step, const float* sums, float* to) = nullptr;
};

RecurrentFunctions recurrentFunctions();

}  // namespace tenon::backends::cpu
