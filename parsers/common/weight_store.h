// Owns the bytes of constants while a model is imported and the engine is built.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "parsed_value.h"

namespace tenon::parsers {

// Owns computed and converted bytes. The network holds pointers into it, so it lives as long as the parser does.
class WeightStore {
 public:
  static constexpr int64_t kComputedLimit = int64_t{1} << 29;
  static constexpr int64_t kAlwaysComputed = 4096;
  // Fails with kOutOfMemory. Aligned to 64 bytes.
  std::byte* allocate(int64_t bytes);
  const WeightBytes& add(DataType type, Dimensions shape, const void* data, std::string name = {});
  // Takes integers or reals and stores them as `type`.
  const WeightBytes& ofInts(DataType type, Dimensions shape, const std::vector<int64_t>& values);
  const WeightBytes& ofReals(DataType type, Dimensions shape, const std::vector<double>& values);
  // Whether a constant of that size may be computed while parsing. A few nodes can ask for any number of them: what is
  // beyond kComputedLimit and four times the model's own weights in all is left to the builder, except for lists as
  // shape arithmetic needs them.
  bool allows(int64_t bytes);
  void countModelWeights(int64_t bytes) { computable_ += 4 * bytes; }
  // One value everywhere. Constants of one value share the bytes of the largest.
  const WeightBytes& uniform(DataType type, const Dimensions& shape, double value);

 private:
  struct Uniform {
    DataType type;
    double value;
    int64_t count;
    const std::byte* bytes;
  };
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  std::deque<WeightBytes> constants_;
  std::vector<Uniform> uniform_;
  int64_t computable_ = kComputedLimit;
};

// Elements of a constant as numbers; fails for a type without a numeric reading (FP8, INT4).
std::vector<int64_t> toInts(const WeightBytes& constant);
std::vector<double> toReals(const WeightBytes& constant);

}  // namespace tenon::parsers
