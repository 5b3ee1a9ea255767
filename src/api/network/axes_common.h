// What squeeze and unsqueeze layers share: constant axes from their second input.
#pragma once

#include <algorithm>

#include "api/network/lower_context.h"

namespace tenon::api {

template <typename I, typename V, nv::LayerType kLayerType>
class AxesCommon : public LayerOf<I, V, kLayerType> {
 public:
  using LayerOf<I, V, kLayerType>::LayerOf;
  int maxInputs() const final { return 2; }
  bool isShapeInput(int index) const final { return index == 1; }
  bool carriesShapes() const final { return true; }

 protected:
  // Sorted axes, each in [0, rank).
  static std::vector<int64_t> axes(const LowerContext& context, int rank) {
    std::vector<int64_t> result;
    for (const Extent& extent : context.contents(1, "axes")) {
      context.check(extent.isConstant(), "the axes (input 1) must be constants, got {}", extent.text());
      const int64_t axis = extent.constant();
      context.check(axis >= -rank && axis < rank, "axis {} is not in [{}, {})", axis, -rank, rank);
      result.push_back(axis < 0 ? axis + rank : axis);
    }
    std::sort(result.begin(), result.end());
    context.check(std::adjacent_find(result.begin(), result.end()) == result.end(), "axes [{}] name an axis twice",
                  fmt::join(result, ","));
    return result;
  }
  static graph::ValueId reshaped(LowerContext& context, Shape shape) {
    const graph::ValueId x = context.input(0);
    const graph::ValueId result = context.reshape(x, std::move(shape));
    return result != x ? result : context.add(ops::Pointwise{}, {x});
  }
};

}  // namespace tenon::api
