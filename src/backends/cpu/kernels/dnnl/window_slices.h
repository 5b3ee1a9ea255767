// Convolutions, deconvolutions and poolings cut into slices: images, bands of rows, or groups of channels.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// A window that moves over images, at concrete extents.
struct WindowProblem {
  runtime::TensorShape x, y;
  dnnl::memory::dims window, strides, before, after;  // by spatial axis
  dnnl::memory::dims dilations;                       // counted from 0
  bool isTransposed = false;                          // the window moves over the output
  // Channels of the output that use the same channels of the input stand in so many groups.
  int64_t groups = 1;
  int64_t weightBytes = 0;
  // Channels of the output may be divided where multiples of these begin; 0: they may not.
  int64_t channelStep = 0;
  double operations = 0;  // multiply-adds or the like
};

// Where channels may be cut: between vectors' blocks, enough of them for the registers; between groups; not where
// weights that are computed stand in another order.
int64_t convolutionChannelStep(const WindowProblem& problem, bool canPart);

// How a problem is cut: into so many parts, of the images, or of each image where there are several parts of one.
struct Cut {
  enum class Along : uint8_t { kImages, kRows, kChannels };
  Along along = Along::kImages;
  int64_t parts = 1;
};

// Nanoseconds that a slice is expected to take on one thread, and what to compare for so many slices of nearly one
// size.
double slicePrice(double operations, int64_t activationBytes, int64_t weightBytes);
double priceOf(double slice, int64_t slices);
inline constexpr int64_t kPartCounts[] = {2, 3, 4, 6, 8, 12, 16};
int64_t partBegin(int64_t extent, int64_t parts, int64_t part);

// The cuts of a problem, from the one that is expected to be the fastest. They depend on nothing but the problem; one
// that leaves it whole is always among them.
std::vector<Cut> cutsOf(const WindowProblem& problem);

// A part of a problem, and where it begins in the whole.
struct WindowSlice {
  WindowProblem problem;
  int64_t image = 0;
  int64_t channel = 0;       // of the output
  int64_t inputChannel = 0;  // of the input
  int64_t row = 0;
  int64_t inputRow = 0;
};

// Empty where a part would lie in the padding alone.
std::vector<WindowSlice> slicesOf(const WindowProblem& problem, const Cut& cut);

// Whether two slices are the same problem for a library, wherever they lie.
bool isSameProblem(const WindowProblem& a, const WindowProblem& b);

// Bytes in front of the slice in a tensor of the shape `whole` (of f32).
int64_t offsetOfInput(const WindowProblem& whole, const WindowSlice& slice);
int64_t offsetOfOutput(const WindowProblem& whole, const WindowSlice& slice);

// The operands of an epilogue for a slice: tensors like the output, one value for each channel, or one in all.
struct SlicedExtras {
  std::vector<runtime::TensorShape> shapes;
  std::vector<int64_t> offsets;  // bytes
};
SlicedExtras sliceExtras(std::span<const runtime::TensorShape> extras, const WindowProblem& whole,
                         const WindowSlice& slice);

}  // namespace tenon::backends::cpu
