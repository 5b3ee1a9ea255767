// Depthwise convolution over channels-last images in parts: runs of pixels of the result, in the order of memory.
#pragma once

#include <vector>

#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/window.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {

// Weights of one channel a group, as panels [panel][tap][column].
class DepthwiseWeights {
 public:
  static constexpr int64_t kMostTaps = 128;

  // `w` and `b` are constants; b is null without a bias. Throws Unsupported in the name of `kernel` otherwise.
  DepthwiseWeights(std::string_view kernel, const ops::Convolution& op, const TensorView& w, const TensorView* b);
  const Dims& dims() const noexcept { return dims_; }
  int64_t taps() const { return dims_.count(2, 4); }
  const float* bias() const noexcept { return bias_.empty() ? nullptr : bias_.data(); }

  runtime::PackedForm form(size_t input) const;
  void pack(const float* from, float* to) const;
  void restore(const float* packed, float* to) const;

 private:
  Dims dims_;
  std::vector<float> bias_;  // filled up to whole panels; empty without
};

class DepthwiseSums {
 public:
  // Operands of a launch. Row r of the result that run() computes first is that of `out` and of matrices of the
  // epilogue.
  struct Call {
    const float* x;
    const float* panels;
    const float* bias;
    const TileEpilogue* epilogue;
    float* out;
    void* const* extras;
  };

  void configure(const Window& window);  // its step of the result is that of Call::out
  const Window& window() const noexcept { return window_; }
  // Results [pixel, pixel + count), to the rows from `row` on. A result does not depend on where its run begins.
  void run(const Call& call, int64_t pixel, int64_t count, int64_t row) const;

 private:
  struct Place {
    int64_t image, row, column;
  };
  Place placeOf(int64_t pixel) const;
  void pointAt(const Place& place, const float* x, const float** sources, int64_t* steps) const;
  void pointApart(int64_t pixel, int64_t count, const float* x, const float** sources) const;
  void runRows(const Call& call, const TileEpilogue::Ends& ends, int64_t pixel, int64_t count, int64_t row) const;
  void tile(TileCall& tile, const TileFunctions& functions, const Call& call, int count, int64_t row) const;

  Window window_;
  int64_t taps_ = 0;
  int64_t firstInner_ = 0, lastInner_ = 0;  // columns of a row whose windows lie within the image's
  bool isRow_ = false;                      // of windows that walk along a row
  std::vector<float> zeros_;
};

}  // namespace tenon::backends::cpu
