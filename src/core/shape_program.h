// A small program that computes sizes on the host: what the algebra of extents cannot express (floating point, gathers
// by computed indices, functions without an extent of their own), by the operators' references on small tensors. Plain
// data, shared by graphs and plans; ops/shape_binder.h evaluates it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dims.h"
#include "core/dtype.h"
#include "core/extent.h"

namespace tenon {

// One step adds values behind those of the steps in front of it. It is an operator over earlier values, whose types and
// extents follow from them, or one value that is written down.
struct ShapeStep {
  std::string layer;            // whose result it is, for messages
  std::string op;               // text of the operator; empty: the value stands below
  std::vector<int32_t> inputs;  // earlier values
  int32_t outputs = 1;          // how many values it adds
  DataType dtype = DataType::kI64;
  Dims dims;
  std::vector<Extent> extents;  // elements of an integer type, over symbols that are bound before
  std::vector<double> numbers;  // elements of a floating type
  bool operator==(const ShapeStep&) const = default;
};

// A symbol that stands for an element of an integer value. In the order of the list: one is bound as soon as its value
// and the symbols in front of it are there.
struct ShapeSymbol {
  std::string name;
  int32_t value = 0;
  int32_t element = 0;
  bool operator==(const ShapeSymbol&) const = default;
};

struct ShapeProgram {
  std::vector<ShapeStep> steps;
  std::vector<ShapeSymbol> symbols;

  bool empty() const noexcept { return steps.empty() && symbols.empty(); }
  bool operator==(const ShapeProgram&) const = default;
};

}  // namespace tenon
