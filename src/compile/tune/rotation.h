// Copies of weights that a measurement reads in turn. In a network, all other layers' weights pass through the cache
// between two uses of a layer's own, so these come from memory; what a layer's neighbours have just written does not.
#pragma once

#include <memory>
#include <vector>

#include "compile/tactics/tactic.h"
#include "runtime/device.h"

namespace tenon::compile {

// How many copies of an input push each other out of a cache of so many bytes; 1: it is read where it is. That holds
// for what is no constant, and for what is so small that its way from memory does not count.
size_t rotatedCopies(const Problem& problem, size_t input, size_t cacheBytes);

// The copies of one operand, on the device.
class Rotation {
 public:
  // `original`: on the device, `bytes` long.
  Rotation(runtime::Device& device, const void* original, size_t bytes, size_t copies);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;
  size_t count() const { return copies_; }
  void* copy(size_t index) const { return base_ + index % copies_ * pitch_; }

 private:
  runtime::Device& device_;
  size_t copies_;
  size_t pitch_;
  std::byte* base_ = nullptr;
};

}  // namespace tenon::compile
