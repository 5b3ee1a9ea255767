// Small networks with broken sizes, made from bytes: what the fuzz target of builds builds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/program.h"

namespace tenon::fuzz {

// Numbers out of bytes; zeros behind their end.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return at_ >= bytes_.size(); }
  uint8_t next() { return empty() ? uint8_t{0} : bytes_[at_++]; }
  int64_t below(int64_t bound) { return next() % bound; }
  // Mostly small, now and then what breaks things: 0, negative, beyond memory, beyond 64 bits.
  int64_t size();

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

struct Network {
  graph::Graph graph{"fuzzed"};
  std::vector<std::map<std::string, plan::InputRange>> profiles;
  std::vector<std::map<std::string, Dims>> shapes;  // sets of input shapes to run with, within the profiles or not
};

// Operators that refuse their operands are left out. Throws Error where even the inputs are refused.
Network makeNetwork(Bytes& bytes);

}  // namespace tenon::fuzz
