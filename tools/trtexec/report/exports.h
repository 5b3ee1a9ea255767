// The JSON files of the tool.
#pragma once

#include "../options/options.h"
#include "layer_profile.h"
#include "trace.h"

#include <string>
#include <vector>

namespace tenon::trtexec {

//! A tensor in host memory with where its elements are.
struct TensorView {
  std::string name;
  nvinfer1::DataType type;
  Shape shape;
  const void* data;
  //! Vector formats keep `components` elements of dimension `vectorDimension` together; -1 for none.
  int32_t vectorDimension = -1;
  int64_t components = 1;
  //! In units of such vectors, by dimension. Empty for densely packed elements.
  std::vector<int64_t> strides;

  int64_t volume() const;
  //! Where the element lies that is number `index` in row-major order.
  size_t offsetOf(int64_t index) const;
};

// Each gives the text of the file.
std::string timesJson(const std::vector<InferenceTrace>& measured);
std::string tensorsJson(const std::vector<TensorView>& tensors);
std::string profileJson(const LayerProfile& profile);

//! "1x10"; empty for a 0-D shape.
std::string dimensionsText(const Shape& shape);

}  // namespace tenon::trtexec
