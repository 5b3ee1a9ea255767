// A sum and a look at a few ranges.
#include "plan/range_kernels.h"

#include <algorithm>
#include <vector>

namespace tenon::plan {

int64_t openElements(std::span<const Shape* const> shapes, const SymbolValues& values) {
  int64_t all = 0;
  for (const auto* shape : shapes) {
    if (isConstant(*shape)) continue;
    const int64_t count = evaluate(*shape, values).count();
    all = count > INT64_MAX - all ? INT64_MAX : all + count;
  }
  return all;
}

int64_t openElements(const Program& program, const Step& step, const SymbolValues& values) {
  std::vector<const Shape*> shapes;
  for (const auto* tensors : {&step.inputs, &step.outputs}) {
    for (const int32_t tensor : *tensors) {
      if (tensor >= 0) shapes.push_back(&program.tensors[static_cast<size_t>(tensor)].shape);
    }
  }
  return openElements(shapes, values);
}

int32_t kernelFor(const Step& step, int64_t elements) {
  const auto found = std::find_if(step.others.begin(), step.others.end(), [&](const RangeKernel& other) {
    return other.elements.low <= elements && elements <= other.elements.high;
  });
  return found == step.others.end() ? kOwnKernel : static_cast<int32_t>(found - step.others.begin());
}

}  // namespace tenon::plan
