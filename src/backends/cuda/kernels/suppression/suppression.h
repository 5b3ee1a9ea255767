// What both operators that leave overlapping boxes out launch: candidates, the best of them, their order, the kept
// ones.
#pragma once

#include "backends/cuda/kernels/common/key_sort.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/suppression/suppression_parameters.h"

namespace tenon::backends::cuda {

class Suppression {
 public:
  explicit Suppression(const Module& module);

  // `scores` is [items, boxes, classes]. Of each item the `limit` best candidates are sorted; of a group at most `keep`
  // are kept.
  void configure(const Dims& boxes, const Dims& scores, int64_t limit, bool isOneGroup, int64_t keep);
  // Working memory of so many elements for an item, behind what was placed before; `isZeroed`: zero at each launch.
  // All of those come first.
  template <typename T>
  void place(T*& pointer, int64_t elements, bool isZeroed) {
    spans_.push_back({bytes_, reinterpret_cast<void**>(&pointer)});
    bytes_ += (static_cast<size_t>(parameters.items * elements) * sizeof(T) + 255) / 256 * 256;
    if (isZeroed) zeroed_ = bytes_;
  }
  void placeAll();  // what every form needs
  size_t bytes() const { return bytes_; }

  // Keys of candidates in order.
  void launchCandidates(const runtime::LaunchArguments& arguments);
  void launchGreedy(void* stream);

  SuppressionParameters parameters;

 private:
  struct Span {
    size_t offset;
    void** pointer;
  };
  bool selects() const { return parameters.limit < parameters.pairs; }

  CUfunction digits_;
  CUfunction collect_;
  CUfunction greedy_;
  KeySort sort_;
  std::vector<Span> spans_;
  size_t bytes_ = 0;
  size_t zeroed_ = 0;
};

}  // namespace tenon::backends::cuda
