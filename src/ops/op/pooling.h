// Maximum and average over windows of 1, 2 or 3 spatial axes.
#pragma once

#include <algorithm>

#include "ops/operator.h"

namespace tenon::ops {

// The blend is (1 - blend) * max + blend * average.
enum class PoolingType : uint8_t { kMax, kAverage, kMaxAverageBlend };
constexpr std::array<std::string_view, 3> enumNames(PoolingType) { return {"max", "average", "max_average_blend"}; }

// Input: x [N,C,spatial...]. Output [N,C,spatial'...] with spatial' = round((spatial + pre + post - reach) / stride) +
// 1, rounding down, or up in ceilMode, where a last window that begins behind the input is left out; the cells of a
// window stand `dilation` apart, so that it reaches over (window - 1) * dilation + 1. Padding never wins
// a maximum. An average divides by the cells inside the input when exclusive, else by the cells inside the padded
// input. A window without a cell gives the lowest value as maximum and 0 as average.
struct Pooling {
  static constexpr std::string_view kName = "pooling";
  PoolingType type = PoolingType::kMax;
  std::vector<int64_t> window;     // per spatial axis
  std::vector<int64_t> strides;    // empty: 1
  std::vector<int64_t> dilations;  // empty: 1
  Shape prePadding;                // empty: 0
  Shape postPadding;               // empty: 0
  double blend = 0;
  bool exclusive = true;
  bool ceilMode = false;
  static constexpr auto fields = std::tuple{field("type", &Pooling::type),
                                            field("window", &Pooling::window),
                                            field("strides", &Pooling::strides),
                                            field("prePadding", &Pooling::prePadding),
                                            field("postPadding", &Pooling::postPadding),
                                            field("blend", &Pooling::blend),
                                            field("exclusive", &Pooling::exclusive),
                                            field("ceilMode", &Pooling::ceilMode),
                                            field("dilations", &Pooling::dilations)};

  bool isDilated() const {
    return std::any_of(dilations.begin(), dilations.end(), [](int64_t step) { return step != 1; });
  }
  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
