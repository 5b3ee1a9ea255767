// The shapes of one context: what the user gave, checked against the profile, and the symbols that follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine.h"

namespace tenon::runtime {

class ShapeState {
 public:
  ShapeState(const Engine& engine, int profile) : engine_(engine) { reset(profile); }

  void reset(int profile);
  void setShape(int io, const Dims& dims);
  void setValues(int io, std::span<const int64_t> values);

  // Binds all symbols; shape tensors without set values are read from `addresses` (by io). Returns the inputs that are
  // missing. Allocates nothing when nothing changed since the last call.
  const std::vector<std::string>& resolve(std::span<void* const> addresses);
  const SymbolValues& symbols() const noexcept { return symbols_; }
  uint64_t version() const noexcept { return version_; }  // changes with the symbols that inputs give

  // Numbers that the device has computed, by index of Plan::sizes, become symbols, and with them what follows from
  // them. UserError that names the layer when one is outside of its bounds. forgetSizes(): before the next execution.
  void bindSizes(std::span<const std::pair<int32_t, int64_t>> sizes);
  void forgetSizes();
  // The most that a shape can be for the shapes given, whatever the device computes.
  Dims most(const Shape& shape) const;

  // Extents of a tensor of the program or of an io; -1 where a symbol is not bound. After resolve().
  Dims known(const Shape& shape) const;
  Dims inputDims(int io) const;

 private:
  struct Input {
    bool given = false;
    Dims dims;
    bool valuesSet = false;  // by setValues
    bool valuesKnown = false;
    bool valuesNeeded = false;
    std::vector<int64_t> values;
  };

  const plan::Io& io(int index) const { return engine_.io()[static_cast<size_t>(index)]; }
  void readValues(int index, const void* address);
  void checkValues(int index, std::span<const int64_t> values) const;
  void bind();
  void bindComputed();
  void checkOutputs() const;
  bool isKnown(const Extent& extent) const;

  const Engine& engine_;
  int profile_ = 0;
  std::vector<Input> inputs_;  // by io
  std::vector<std::string> missing_;
  SymbolValues symbols_;
  SymbolValues given_;  // those that follow from the inputs, while sizes are known too
  bool sizesKnown_ = false;
  bool dirty_ = true;
  uint64_t version_ = 0;
};

}  // namespace tenon::runtime
