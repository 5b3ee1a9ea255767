// Random numbers.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: none. Output: f32 of the shape, equally likely in [0, 1), multiples of 2^-24. Each evaluation draws anew
// (ops/random_draws.h): it takes the next place of the sequence in use, and element i is number i % 4 of
// uniformNumbers(key, place + stream * 2^56, i / 4) of ops/philox.h. The key is the seed where it is `seeded`, else the
// sequence's own. Operators of one seed that may be at the same place of different sequences have different streams.
struct Random {
  static constexpr std::string_view kName = "random";
  Shape shape;
  int64_t seed = 0;
  bool seeded = false;
  int64_t stream = 0;  // below 128
  static constexpr auto fields = std::tuple{field("shape", &Random::shape), field("seed", &Random::seed),
                                            field("seeded", &Random::seeded), field("stream", &Random::stream)};

  // Key and place of the next evaluation on this thread.
  std::pair<uint64_t, uint64_t> draw() const;

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
