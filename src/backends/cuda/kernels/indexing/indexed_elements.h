// Gathers and scatters in mode element: each element has an index of its own along an axis of the data.
#pragma once

#include <string_view>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/indexing/indexing_parameters.h"

namespace tenon::backends::cuda {

class IndexedElements {
 public:
  // `kernel`: "tenon_gather_element", of elements of so many bytes. Both operands are linear.
  void configure(const Module& module, std::string_view kernel, int64_t axis, const Dims& data, const Dims& indices,
                 int64_t elementBytes) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + data.rank : axis);
    const auto strides = stridesOf(data, Layout::kLinear);
    Strides still = strides;
    still[at] = 0;
    setSpace(parameters_.space, collapse(indices, {stridesOf(indices, Layout::kLinear), still}));
    parameters_.extent = data[static_cast<int>(at)];
    parameters_.axisStride = strides[at];
    checkUser(!isWide(parameters_.space), "{}: {} elements are too many; it takes 2^31 - 1", kernel,
              parameters_.space.count);
    function_ = module.function(fmt::format("{}_{}", kernel, elementBytes));
  }
  void launch(void* data, const void* indices, void* elements, void* stream) {
    parameters_.data = data;
    parameters_.indices = indices;
    parameters_.elements = elements;
    launchThreads(function_, parameters_.space.count, &parameters_, stream);
  }

 private:
  CUfunction function_ = nullptr;
  IndexedElementParameters parameters_;
};

}  // namespace tenon::backends::cuda
