// Which kernels of normalization.cu take a normalization: compiling all of them takes ten times as long as two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/normalization/normalization_parameters.h"
#include "ops/op/normalization.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// What is normalized, at given extents.
struct NormalizationShape {
  NormalizationShape(const ops::Normalization& op, const runtime::Shapes& shapes);

  NormalizationParameters parameters;  // without addresses
  int64_t count = 0;                   // elements; 0: the rest is not set
  int64_t packs = 0;                   // of 16 bytes, of a statistic's members
  // Kernels that can compute it, those that this chip does best first, the name of each without kNormalize: of rows and
  // planes whose tensors are aligned, which may be none, and of all. "split" takes "parts" in front of it,
  // "planes_split" "planes_parts".
  std::vector<std::string_view> packed;
  std::vector<std::string_view> any;

 private:
  void findRows(const SplitAxes& axes, int64_t pack);
  void findPlanes(const SplitAxes& axes, int64_t pack);
  void findParts();
};
constexpr std::string_view kNormalize = "tenon_normalize_";
constexpr std::string_view kSplit = "split";
std::string partsOf(std::string_view split);  // the whole name of the kernel in front of one that ends in kSplit

}  // namespace tenon::backends::cuda
